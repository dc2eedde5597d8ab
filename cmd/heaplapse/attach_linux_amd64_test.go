package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// attachable is a program that runs while heaplapse attaches to it.
type attachable struct {
	*recordRun // the program; its dir is not used
}

// runPlain starts a program, and waits until it has printed "ready".
func runPlain(t *testing.T, name string, args ...string) *attachable {
	t.Helper()
	return &attachable{startedCmd(t, "", exec.Command(name, args...))}
}

func (a *attachable) pid() string { return fmt.Sprint(a.cmd.Process.Pid) }

// attachTo attaches to the program.
func (a *attachable) attachTo(t *testing.T, args ...string) *recordRun {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	r := begin(t, dir, exec.Command("heaplapse", append([]string{"attach", "-o", dir, "--every", "100ms", a.pid()}, args...)...))
	r.await(t, "recording", func() bool {
		text := content(t, r.err)
		return strings.Contains(text, "snapshots every") || r.cmd.Process.Signal(syscall.Signal(0)) != nil
	})
	return r
}

// TestAttachTellsWhenItEnds: on a terminal, where somebody waits, attach tells when it ends and how to end it earlier.
func TestAttachTellsWhenItEnds(t *testing.T) {
	t.Parallel()
	p := runPlain(t, python(t), program(t, "leak.py"))
	outer, inner := openTerminal(t)
	cmd := exec.Command("heaplapse", "attach", p.pid(), "-o", filepath.Join(t.TempDir(), "out"), "--duration", "10m")
	cmd.Stderr = inner
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	in := bufio.NewReader(outer)
	for line := ""; !strings.Contains(line, "detaches at "); {
		var err error
		line, err = in.ReadString('\n')
		require.NoError(t, err)
		require.NotContains(t, line, "cannot")
		if strings.Contains(line, "detaches at ") {
			require.Regexp(t, `^heaplapse: detaches at \d\d:\d\d:\d\d; \^C detaches earlier\r\n$`, line)
		}
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Wait())
	p.end(t)
}

// TestAttachPython attaches to a Python program in mid-run: the line that leaks is named, and the
// program does not notice.
func TestAttachPython(t *testing.T) {
	t.Parallel()
	script := program(t, "leak.py")
	p := runPlain(t, python(t), script)
	r := p.attachTo(t, "--sample-period", "16KiB")
	r.more(t, 12)
	r.kill(t, syscall.SIGINT)
	assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)
	assert.Empty(t, r.stdout)
	assert.Regexp(t, `^heaplapse: recording process `+p.pid()+` \(python[0-9.]*\) until \^C; one thread was stopped for [0-9.]+ ms
heaplapse: snapshots every 100ms go to .*/out
(?:heaplapse: sees 100 % of the calls of malloc \(\d+ of \d+ in 50ms\)
)?heaplapse: detaching, after a last look at what holds the memory
heaplapse: detached: \d+ functions put back; completing the recording
(?:heaplapse: the names of the program are kept in .*
)?heaplapse: \d+ snapshots of process `+p.pid()+`; next: heaplapse growth .*/out
$`, r.stderr)
	grows(t, r.dir, "^step$")
	p.end(t)
	assert.Equal(t, "ready\nsteps were made\n", p.stdout)
	assert.Empty(t, p.stderr)

	m := manifestOf(t, r.dir)
	assert.Equal(t, "builtin", m.Recording.Engine)
	assert.Equal(t, manifest.MethodAttach, m.Recording.Method())
	assert.Equal(t, []string{python(t), script}, m.Recording.Command)
	require.Len(t, m.Processes, 1)
	assert.Empty(t, m.Problems)
	for _, e := range m.Ends {
		assert.NotEqual(t, p.cmd.Process.Pid, e.PID, "the process has not ended")
	}
	left, err := filepath.Glob(filepath.Join(r.dir, "*.events.jsonl"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestAttachEndsWithTheProcess: when the process ends, attach ends too.
func TestAttachEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	p := runPlain(t, python(t), program(t, "leak.py"))
	r := p.attachTo(t)
	r.more(t, 3)
	p.end(t)
	r.wait(t)
	assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)
	assert.Equal(t, "ready\nsteps were made\n", p.stdout)
}

// TestAttachTwice: a second attach is refused, and --detach-only ends the first one.
func TestAttachTwice(t *testing.T) {
	t.Parallel()
	p := runPlain(t, python(t), program(t, "leak.py"))
	r := p.attachTo(t)
	r.more(t, 1)
	second := exec.Command("heaplapse", "attach", "-o", filepath.Join(t.TempDir(), "second"), p.pid())
	out, err := second.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, "heaplapse: another heaplapse is attached to process "+p.pid()+": end it first (--wait waits for that)\n", string(out))
	assert.Equal(t, 126, second.ProcessState.ExitCode())
	assert.NoDirExists(t, second.Args[3])

	out, err = exec.Command("heaplapse", "attach", "--detach-only", p.pid()).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `^heaplapse: detached from process `+p.pid()+`: \d+ functions put back\n$`, string(out))
	r.wait(t)
	assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)
	out, err = exec.Command("heaplapse", "attach", "--detach-only", p.pid()).CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, "heaplapse: process "+p.pid()+": the process is not recorded by attach\n", string(out))
	p.end(t)
	assert.Equal(t, "ready\nsteps were made\n", p.stdout)
}

// TestAttachToTheRecorder: the process of record is taken for the program that it records, and the refusal tells them
// apart. A wrapper is not the program.
func TestAttachToTheRecorder(t *testing.T) {
	t.Parallel()
	const script = `import os, time
print("ready", flush=True)
while not os.path.exists(os.environ["STOP"]): time.sleep(0.02)`
	for _, command := range [][]string{{python(t), "-c", script}, {"sh", "-c", `"$0" -c "$1"; true`, python(t), script}} {
		p := runPlain(t, "heaplapse", append([]string{"record", "-o", filepath.Join(t.TempDir(), "out"), "--"}, command...)...)
		program := proc.Descendants(p.cmd.Process.Pid)
		cmd := exec.Command("heaplapse", "attach", p.pid())
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Regexp(t, fmt.Sprintf(`^heaplapse: process %s is heaplapse itself, which records process %d \(python3.*\): `+
			`heaplapse growth DIR reads its snapshots while it runs\n$`, p.pid(), program[len(program)-1]), string(out))
		assert.Equal(t, 126, cmd.ProcessState.ExitCode())
		p.end(t)
	}
}

// TestAttachWorkers attaches to a process with workers, to it alone, and to one of its workers.
func TestAttachWorkers(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(python(t), program(t, "workers.py"), "fork")
	p := &attachable{startedCmd(t, "", cmd)}
	workers := proc.Children(cmd.Process.Pid)
	require.Len(t, workers, 2)
	r := p.attachTo(t)
	r.await(t, "snapshots of the workers", func() bool {
		counts := r.counts()
		return counts[workers[0]] >= 2 && counts[workers[1]] >= 2
	})
	r.kill(t, syscall.SIGTERM)
	assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)

	r = p.attachTo(t, "--main-only")
	r.more(t, 2)
	r.kill(t, syscall.SIGTERM)
	assert.Len(t, wholeSnapshots(t, r.dir), 1)

	dir := filepath.Join(t.TempDir(), "out")
	r = begin(t, dir, exec.Command("heaplapse", "attach", "-o", dir, "--every", "100ms", strconv.Itoa(workers[1])))
	r.more(t, 2)
	r.kill(t, syscall.SIGTERM)
	assert.Equal(t, []int{workers[1]}, slices.Collect(maps.Keys(wholeSnapshots(t, r.dir))))
	p.end(t)
	assert.Equal(t, "ready\nworkers are done\n", p.stdout)
}

// TestAttachAllChildren records the children of a shell, also one that starts later.
func TestAttachAllChildren(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "two.sh")
	require.NoError(t, os.WriteFile(script, []byte(`
"$0" "$1" > first & 
echo ready
while [ ! -e more ]; do sleep 0.1; done
"$0" "$1" > second &
wait
`), 0o600))
	cmd := exec.Command("sh", "-c", `. "$2"`, python(t), program(t, "leak.py"), script)
	cmd.Dir = t.TempDir()
	p := &attachable{startedCmd(t, "", cmd)}
	r := p.attachTo(t, "--follow-children")
	r.await(t, "first child", func() bool { return len(r.counts()) >= 2 })
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "more"), nil, 0o600))
	r.await(t, "second child", func() bool { return len(r.counts()) >= 3 })
	r.kill(t, syscall.SIGTERM)
	assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)
	p.end(t)
	for _, name := range []string{"first", "second"} {
		out, err := os.ReadFile(filepath.Join(cmd.Dir, name))
		require.NoError(t, err)
		assert.Equal(t, "ready\nsteps were made\n", string(out))
	}
}

func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		status int
		text   string
	}{
		{[]string{"attach"}, 125, "name one process or container: heaplapse attach PID, or heaplapse attach --container NAME; see heaplapse attach --help"},
		{[]string{"attach", "x"}, 125, `"x" is not the number of a process: pgrep NAME prints those of a program; see heaplapse attach --help`},
		{[]string{"attach", "--every", "soon", "1"}, 125, `--every soon: want auto, 0, or a time`},
		{[]string{"attach", "1073741824"}, 127, "there is no process 1073741824"},
	} {
		cmd := exec.Command("heaplapse", c.args...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), "heaplapse: "+c.text)
		assert.Equal(t, c.status, cmd.ProcessState.ExitCode(), c.args)
		entries, err := os.ReadDir(cmd.Dir)
		require.NoError(t, err)
		assert.Empty(t, entries)
	}
}
