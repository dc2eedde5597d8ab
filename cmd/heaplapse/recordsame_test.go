//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// bare is a list of programs whose results do not depend on time or addresses.
var bare = map[string][]string{
	"status 0":                   {"true"},
	"status 1":                   {"false"},
	"status 42":                  {"sh", "-c", "exit 42"},
	"status 255":                 {"sh", "-c", "exit 255"},
	"both streams":               {"sh", "-c", "echo out; echo err >&2; exit 7"},
	"standard input":             {"sort"},
	"not read input":             {"true"},
	"SIGTERM":                    {"sh", "-c", "kill -TERM $$"},
	"SIGSEGV":                    {"sh", "-c", "kill -SEGV $$"},
	"SIGABRT":                    {"python3", "-c", "import os; os.abort()"},
	"SIGPIPE":                    {"sh", "-c", "kill -PIPE $$"},
	"a handler":                  {"sh", "-c", "trap 'echo caught' USR1; kill -USR1 $$; echo on"},
	"_exit":                      {"python3", "-c", "import os; os.write(1, b'x'); os._exit(5)"},
	"handlers for all signals":   {"python3", "-c", "import signal\nfor s in set(signal.valid_signals()) - {9, 19}: signal.signal(s, lambda *a: None)\nprint(signal.raise_signal(53))"},
	"an exception":               {"python3", "-c", "import sys; sys.tracebacklimit = 0; raise ValueError('v')"},
	"pipelines":                  {"bash", "-o", "pipefail", "-c", "seq 100000 | awk '{s += $1} END {print s}' | tee /dev/stderr | md5sum"},
	"many processes":             {"bash", "-c", "for i in $(seq 30); do echo $(echo $i); done; wait"},
	"threads and fork":           {"python3", "-c", "import subprocess, threading\nr = []\nts = [threading.Thread(target=lambda: r.append(subprocess.run(['echo', 'x'], capture_output=True).stdout)) for _ in range(8)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nprint(r)"},
	"an argument's name":         {"sh", "-c", `echo "$0" "$@"`, "a b", "", "*"},
	"working directory and mask": {"sh", "-c", "pwd >/dev/null; umask; echo $PPID >/dev/null"},
	"open files":                 {"python3", "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))"},
	"own files":                  {"python3", "-c", ownFiles},
	"limits":                     {"bash", "-c", "ulimit -Sn; ulimit -Hn; ulimit -s"},
	"signal dispositions":        {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"},
	"a compiler":                 {"sh", "-c", "echo 'int f(int x){return x*7;}' | gcc -O2 -S -o - -x c - | md5sum"},
	"perl":                       {"perl", "-e", "print sort map { $_ * 3 } 1..2000; warn qq(w\n); exit 9"},
	"node":                       {"node", "-e", "console.log([...Array(5000).keys()].reduce((a, b) => a + b)); process.exitCode = 4"},
	"an uncaught exception":      {"node", "-e", "process.on('uncaughtException', e => { console.error(e.message); process.exit(3) }); throw new Error('e')"},
	"environment":                {"sh", "-c", "env | grep -vE '^(LD_PRELOAD|HEAP|PERFTOOLS|MALLOC_CONF|GLIBCPP_FORCE_NEW|GLIBCXX_FORCE_NEW|_=)' | sort"},
}

// TestRecordChangesNothing compares programs with and without record: status, signal, standard
// output, standard error.
func TestRecordChangesNothing(t *testing.T) {
	testutil.NoRace(t)
	t.Parallel()
	for name, command := range bare {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testutil.Need(t, command[0])
			eachEngine(t, func(t *testing.T, engine string) {
				dir := t.TempDir()
				flags := []string{"record", "-q", "--engine", engine, "--every", "300ms", "-o", filepath.Join(t.TempDir(), "out"), "--"}
				want := resultOf(t, dir, exec.Command(command[0], command[1:]...))
				got := resultOf(t, dir, exec.Command("heaplapse", append(flags, command...)...))
				assert.Equal(t, want, got)
			})
		})
	}
}

// ownFiles closes the files that it may have inherited and opens others, as daemons do. Then it
// allocates on stacks of its own, and prints what has happened to the files.
const ownFiles = `
import os, threading
os.closerange(3, 1000)
files = [os.open("own%d" % i, os.O_RDWR | os.O_CREAT) for i in range(6)]
def allocate(depth):
    return [bytearray(5000) for _ in range(50)] if depth == 0 else allocate(depth - 1)
for depth in range(10, 60, 5):
    t = threading.Thread(target=allocate, args=(depth,))
    t.start()
    t.join()
for f in files:
    print(f, os.path.basename(os.readlink("/proc/self/fd/%d" % f)), os.fstat(f).st_size, os.lseek(f, 0, os.SEEK_CUR))
`

type result struct {
	status         int
	signal         syscall.Signal
	stdout, stderr string
}

func resultOf(t *testing.T, dir string, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader("b\na\nc\n"), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	r := result{stdout: stdout.String(), stderr: stderr.String()}
	if ws.Signaled() {
		r.signal = ws.Signal()
	} else {
		r.status = ws.ExitStatus()
	}
	return r
}

// TestRecordInTheBackground: a shell without job control starts jobs in the background with SIGINT ignored. The program
// inherits that, and gets the SIGINT that is sent to record once it has a handler.
func TestRecordInTheBackground(t *testing.T) {
	t.Parallel()
	const job = `
import signal, sys, time
print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN, flush=True)
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
open("ready", "w")
time.sleep(60)`
	const script = `"$@" & until test -e ready; do sleep 0.05; done; kill -INT $!; wait $!; echo $?`
	run := func(prefix ...string) string {
		cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, append(prefix, python(t), "-c", job)...)...)
		cmd.Dir = t.TempDir()
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Equal(t, "True\n7\n", run())
	eachEngine(t, func(t *testing.T, engine string) {
		assert.Equal(t, "True\n7\n", run("heaplapse", "record", "-q", "--engine", engine, "-o", filepath.Join(t.TempDir(), "out"), "--"))
	})
}

// TestRecordOnATerminal compares a recorded program with a bare one. The program has the terminal.
// A new size, ^Z with fg, and ^C reach it once, and so does SIGINT that record gets.
func TestRecordOnATerminal(t *testing.T) {
	t.Parallel()
	py := python(t)
	drive := onTerminal(t)
	for _, end := range []string{"key", "kill"} {
		want := drive(end, py, "-c", interrupted)
		require.Equal(t, "is a terminal: True\nstopped\nCONT 1 INT 1 WINCH 1\nstatus 6\n", want)
		eachEngine(t, func(t *testing.T, engine string) {
			got := drive(end, "heaplapse", "record", "-q", "--engine", engine, "-o", filepath.Join(t.TempDir(), "out"), "--", py, "-c", interrupted)
			assert.Equal(t, want, got, end)
		})
	}
}

// TestRecordALastSnapshotOnATerminal: ^C kills a program that has no handler, after a last
// snapshot.
func TestRecordALastSnapshotOnATerminal(t *testing.T) {
	t.Parallel()
	needEngine(t, "tcmalloc")
	dir := filepath.Join(t.TempDir(), "out")
	out := onTerminal(t)("key at once", "heaplapse", "record", "-q", "--engine", "tcmalloc", "--every", "0", "-o", dir, "--", server(t))
	assert.Equal(t, "status -2\n", out)
	m := manifestOf(t, dir)
	assert.Len(t, wholeSnapshots(t, dir), 1)
	assert.Equal(t, "manual", m.Snapshots[len(m.Snapshots)-1].Trigger)
	assert.Equal(t, "SIGINT", m.Ends[0].Signal)
}

// onTerminal returns a function that runs a command as a job on a new terminal: see terminalDriver.
func onTerminal(t *testing.T) func(end string, command ...string) string {
	t.Helper()
	py := python(t)
	driver := filepath.Join(t.TempDir(), "terminal.py")
	require.NoError(t, os.WriteFile(driver, []byte(terminalDriver), 0o600))
	return func(end string, command ...string) string {
		out, err := exec.Command(py, append([]string{driver, end}, command...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
}

// terminalDriver runs a command as the foreground job of a new terminal, as a shell does. The
// command prints a word after each step, and the driver then does the next one. After "ready" it
// changes the size of the window. After "resized" it types ^Z and brings the job to the foreground
// again. After "continued" it types ^C, or sends SIGINT to the first process of the job. With "key
// at once" it types ^C after "ready".
const terminalDriver = `
import fcntl, os, pty, signal, struct, sys, termios
how, command = sys.argv[1], sys.argv[2:]
pid, fd = pty.fork()
if pid == 0: # the shell
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    print("job", job, flush=True)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        os.tcsetpgrp(0, os.getpgrp())
        print("stopped", flush=True)
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
    os.tcsetpgrp(0, os.getpgrp())
    print("status", os.waitstatus_to_exitcode(status), flush=True)
    os._exit(0)

def interrupt():
    if how == "kill":
        os.kill(job, signal.SIGINT)
    else:
        os.write(fd, b"\x03")

actions = {
    "ready": interrupt if how == "key at once" else lambda: fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 11, 22, 0, 0)),
    "resized": lambda: os.write(fd, b"\x1a"),
    "continued": interrupt,
}
text = b""
while True:
    try:
        new = os.read(fd, 1000)
    except OSError:
        break
    if not new:
        break
    text += new
    *lines, text = text.split(b"\n")
    for line in lines:
        line = line.decode().strip().replace("^C", "").replace("^Z", "")
        if line.startswith("job "):
            job = int(line[4:])
        elif line in actions:
            actions[line]()
        elif line:
            print(line)
os.waitpid(pid, 0)
`

// interrupted is a program that counts the signals that it gets.
const interrupted = `
import signal, sys, time
names = "CONT", "INT", "WINCH"
count = dict.fromkeys(names, 0)
def counter(name):
    def handler(*_): count[name] += 1
    return handler
for name in names:
    signal.signal(getattr(signal, "SIG" + name), counter(name))
print("is a terminal:", sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty())
for word, name in ("ready", "WINCH"), ("resized", "CONT"), ("continued", "INT"):
    print(word, flush=True)
    while not count[name]:
        time.sleep(0.01)
time.sleep(0.3)
print(*(f"{n} {c}" for n, c in count.items()))
sys.exit(6)
`
