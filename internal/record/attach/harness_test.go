//go:build linux && amd64

package attach

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// compile builds a program of testdata and returns its path.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	compiler := "gcc"
	if filepath.Ext(source) == ".cc" {
		compiler = "g++"
	}
	args := append([]string{"-O1", "-g", "-Wall", "-pthread", "-o", program, filepath.Join("testdata", source)}, flags...)
	out, err := exec.Command(testutil.Need(t, compiler), args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// process is a program that runs during a test.
type process struct {
	*exec.Cmd
	out    *bufio.Reader
	stderr string // the file that has what it wrote there
}

// run starts a program, and waits until it is ready.
func run(t *testing.T, program string, args ...string) *process {
	t.Helper()
	return runWith(t, program, func(*process) {}, args...)
}

// runWith starts a program after prepare was called.
func runWith(t *testing.T, program string, prepare func(*process), args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(program, args...), stderr: filepath.Join(t.TempDir(), "stderr")}
	stderr, err := os.Create(p.stderr)
	require.NoError(t, err)
	defer stderr.Close()
	p.Cmd.Stderr = stderr
	p.Cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true} // so that end ends its children, too
	prepare(p)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		p.kill()
		_, _ = p.Process.Wait()
	})
	line, err := p.out.ReadString('\n')
	require.NoError(t, err, readFile(t, p.stderr))
	require.Equal(t, "ready\n", line)
	return p
}

// kill ends the process, and the children that it has forked.
func (p *process) kill() { _ = unix.Kill(-p.Process.Pid, unix.SIGKILL) }

// end sends SIGTERM. The program must end well: it has checked its own data.
func (p *process) end(t *testing.T) string {
	t.Helper()
	require.NoError(t, p.Process.Signal(unix.SIGTERM))
	timer := time.AfterFunc(30*time.Second, p.kill)
	defer timer.Stop()
	rest, err := io.ReadAll(p.out)
	require.NoError(t, err)
	require.NoError(t, p.Wait(), readFile(t, p.stderr))
	return string(rest)
}

// recording is where an engine's snapshots go, and its settings.
type recording struct{ dir, settings string }

func settings(dir string, period, every int) recording {
	return recording{dir, fmt.Sprintf("period=%d every=%d part=0 alloc=0 inuse=0 signal=0 children=0 python=1 mmap=1", period, every)}
}

// attached is a session with its files.
type attached struct {
	*Session
	receiver *channel.Receiver
	dir      string
}

// options returns those of Start.
func (r recording) options(t *testing.T, pid int) (Options, *channel.Receiver) {
	t.Helper()
	receiver, err := channel.Open(filepath.Join(r.dir, "p"))
	require.NoError(t, err)
	return Options{PID: pid, Settings: r.settings, Adopt: receiver.Adopt, Patience: 30 * time.Second}, receiver
}

// attachTo attaches to a process until the end of the test or Stop.
func attachTo(t *testing.T, pid int, r recording) *attached {
	t.Helper()
	o, receiver := r.options(t, pid)
	t.Cleanup(func() { assert.NoError(t, receiver.Close()) })
	s, err := Start(t.Context(), o)
	require.NoError(t, err)
	return &attached{s, receiver, r.dir}
}

// snapshots returns the names of the snapshots.
func (a *attached) snapshots(t *testing.T) []string {
	t.Helper()
	a.receiver.Flush()
	names, err := filepath.Glob(filepath.Join(a.dir, "*.heap"))
	require.NoError(t, err)
	return names
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}
