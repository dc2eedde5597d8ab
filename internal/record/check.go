//go:build linux

package record

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/record/agent"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// try sees whether the library, with the agent if it is used, loads and writes snapshots, without a word on standard
// error: first into /bin/true, which is run, then into the program, which is only loaded (as ldd does).
func (p *Plan) try() error {
	dir, err := os.MkdirTemp("", "heaplapse-try-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, agent.Name)
	if !loadable(dir) {
		path = agentPath(dir)
	}
	if p.agent {
		if err := writeAgent(path, agent.For(p.Target.ABI().Machine)); err != nil {
			return err
		}
	}
	env := append([]string(nil), p.Env...)
	for _, s := range p.settings(filepath.Join(dir, "try"), path) {
		env = program.Setenv(env, s.Name, s.Value)
	}
	if err := p.tryLoading(env); err != nil {
		return err
	}
	return p.tryRunning(env, dir)
}

// tryLoading lets the program's own loader list what it would load.
func (p *Plan) tryLoading(env []string) error {
	if p.Target.Interpreter == "" {
		return nil
	}
	stderr, err := quickly(env, p.Target.Interpreter, "--list", p.Target.Exe)
	if err != nil || stderr != "" {
		return fmt.Errorf("%s cannot be loaded into %s: %w", p.Library.Path, p.Target.Exe, saying(err, stderr))
	}
	return nil
}

// tryRunning runs true(1). Where that uses another loader than the program, nothing is learned.
func (p *Plan) tryRunning(env []string, dir string) error {
	tool := p.plainTool()
	if tool == "" {
		return nil
	}
	stderr, err := quickly(env, tool)
	if err != nil || stderr != "" {
		return fmt.Errorf("%s does not work here: %w", p.Library.Path, saying(err, stderr))
	}
	written, err := filepath.Glob(filepath.Join(dir, "try*.heap"))
	if err == nil && len(written) == 0 {
		return fmt.Errorf("%s writes no snapshots here: it may be built without its heap profiler", p.Library.Path)
	}
	return err
}

// plainTool is true(1), "" if it is absent or uses another loader than the program.
func (p *Plan) plainTool() string {
	tool, err := exec.LookPath("true")
	if err != nil {
		return ""
	}
	f, err := elf.Open(tool)
	if err != nil {
		return ""
	}
	defer f.Close()
	if program.LoaderOf(f) != p.Target.Interpreter {
		return ""
	}
	return tool
}

// quickly runs a command and returns what it printed to standard error.
func quickly(env []string, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	return strings.TrimSpace(stderr.String()), err
}

// saying makes an error of what a command printed, its first line.
func saying(err error, stderr string) error {
	line, _, _ := strings.Cut(stderr, "\n")
	if line == "" {
		return err
	}
	return errors.New(line)
}
