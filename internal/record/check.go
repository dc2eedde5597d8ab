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
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// try checks that the library, and the adapter if it is used, can be loaded and take snapshots
// without printing to standard error. It loads them into the program without running it, as ldd
// does, and then runs true(1) with them.
func (p *Plan) try() error { return notRecorded(p.tryOnce()) }

func (p *Plan) tryOnce() error {
	dir, remove, err := atomicfile.TempDir(p.outputParent())
	if err != nil {
		return fmt.Errorf("no directory for temporary files: %w: set TMPDIR to one that you can write to", err)
	}
	defer remove()
	prefix := filepath.Join(dir, "try")
	r, err := channel.Listen(prefix)
	if err != nil {
		return err
	}
	env := withSettings(withoutLoaderTrace(p.Env), p.settings(), r)
	err = p.tryLoading(env)
	if err == nil {
		err = p.tryRunning(env)
	}
	if err = errors.Join(err, r.Close(), r.NotWritten()); err == nil {
		err = p.expectSnapshot(dir)
	}
	return err
}

// tryLoading runs the program's dynamic loader with --list.
func (p *Plan) tryLoading(env []string) error {
	if p.Target.Interpreter == "" {
		return nil
	}
	exe, err := filepath.Abs(p.Target.Exe) // a loader searches for a name without a slash
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe) // $ORIGIN is the directory of the file, not of a link to it
	}
	if err != nil {
		return err
	}
	stderr, err := p.complaintsOf(env, p.Target.Interpreter, "--list", exe)
	if err != nil || stderr != "" {
		return fmt.Errorf("%s cannot be loaded into %s: %w", p.Library.Path, p.Target.Exe, firstLine(err, stderr))
	}
	return nil
}

// tryRunning runs true(1). It does nothing if true uses another loader than the program.
func (p *Plan) tryRunning(env []string) error {
	tool := p.trueCommand()
	if tool == "" {
		return nil
	}
	stderr, err := p.complaintsOf(env, tool)
	if err != nil || stderr != "" {
		return fmt.Errorf("%s does not work on this system: %w", p.Library.Path, firstLine(err, stderr))
	}
	return nil
}

// expectSnapshot returns an error if tryRunning has left no snapshot in a directory.
func (p *Plan) expectSnapshot(dir string) error {
	if p.trueCommand() == "" {
		return nil
	}
	files, err := os.ReadDir(dir)
	isSnapshot := func(f os.DirEntry) bool { return filepath.Ext(f.Name()) == ".heap" }
	if err == nil && !slices.ContainsFunc(files, isSnapshot) {
		return fmt.Errorf("%s writes no snapshots: it may have been built without a heap profiler", p.Library.Path)
	}
	return err
}

// trueCommand returns the path of true(1), or "" if it is missing or uses another loader than the
// program.
func (p *Plan) trueCommand() string {
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

// complaintsOf runs a command, and returns the lines that a dynamic loader has written to standard
// error about the library or the adapter. Other libraries that are preloaded may write there, too,
// and so does the loader itself if LD_DEBUG is set.
func (p *Plan) complaintsOf(env []string, path string, args ...string) (string, error) {
	stderr, err := stderrOf(env, path, args...)
	var own []string
	for line := range strings.Lines(stderr) {
		isOurs := strings.Contains(line, p.Library.Path) || p.adapter != "" && strings.Contains(line, p.adapter)
		if isOurs && strings.Contains(strings.ToLower(line), "error") {
			own = append(own, strings.TrimRight(line, "\n"))
		}
	}
	if err != nil && len(own) == 0 {
		return stderr, err
	}
	return strings.Join(own, "\n"), err
}

// withoutLoaderTrace returns a copy of an environment without the variables that make glibc's
// loader trace what it does. The trace names our library, and may contain the word error.
func withoutLoaderTrace(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return strings.HasPrefix(v, "LD_DEBUG=") || strings.HasPrefix(v, "LD_DEBUG_OUTPUT=")
	})
}

// stderrOf runs a command for at most 10 s and returns its output to standard error.
func stderrOf(env []string, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	return strings.TrimSpace(stderr.String()), err
}

// firstLine returns the first line of a command's output as an error, or err if there is no output.
func firstLine(err error, stderr string) error {
	line, _, _ := strings.Cut(stderr, "\n")
	if line == "" {
		return err
	}
	return errors.New(line)
}
