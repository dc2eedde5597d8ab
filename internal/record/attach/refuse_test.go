//go:build linux && amd64

package attach

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/engine"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// refusal attaches to a process, which must be refused with the text. %d in the text is the number of
// the process.
func refusal(t *testing.T, pid int, kind Kind, text string) {
	t.Helper()
	o, receiver := settings(t.TempDir(), 1, 0).options(t, pid)
	defer receiver.Close()
	o.Patience = time.Second
	_, err := Start(t.Context(), o)
	var r *Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, kind, r.Kind)
	assert.Equal(t, strings.ReplaceAll(text, "%d", fmt.Sprint(pid)), r.Error())
}

func TestRefusesWhatIsNoProcess(t *testing.T) {
	const never = 1 << 30
	refusal(t, never, NotFound, "there is no process %d: pgrep NAME prints the numbers of those of a program")
	refusal(t, os.Getpid(), Unsupported, "process %d is heaplapse itself")
	for _, th := range target.Threads(os.Getpid()) {
		if th.ID != os.Getpid() {
			refusal(t, th.ID, NotFound, fmt.Sprintf("%d is a thread: give the number of its process, %d", th.ID, os.Getpid()))
			break
		}
	}
	ended := exec.Command("true")
	require.NoError(t, ended.Start())
	require.Eventually(t, func() bool { return strings.HasPrefix(target.Status(ended.Process.Pid, "State"), "Z") },
		30*time.Second, time.Millisecond)
	refusal(t, ended.Process.Pid, NotFound, "process %d has ended")
	require.NoError(t, ended.Wait())
}

// TestRefusesProcessWithoutMainThread: the kernel shows it as a zombie, as long as other threads run.
func TestRefusesProcessWithoutMainThread(t *testing.T) {
	p := run(t, compile(t, "waits.c"), "poll", "alone")
	require.Eventually(t, func() bool { return strings.HasPrefix(target.Status(p.Process.Pid, "State"), "Z") },
		30*time.Second, time.Millisecond)
	refusal(t, p.Process.Pid, Unsupported, "the main thread of process %d has ended, and the kernel shows no memory of such a process: "+
		"start the program under heaplapse record")
}

// TestRefusesProcessWithoutFiles: the engine is loaded from a file in memory.
func TestRefusesProcessWithoutFiles(t *testing.T) {
	p := run(t, compile(t, "waits.c"), "nanosleep") // poll fails without any file
	require.NoError(t, unix.Prlimit(p.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil))
	refusal(t, p.Process.Pid, Unsupported, fmt.Sprintf("process %d cannot open another file: "+
		"raise its limit of open files: prlimit -p %d -n1024", p.Process.Pid, p.Process.Pid))
}

func TestRefusesStoppedProcess(t *testing.T) {
	p := run(t, compile(t, "waits.c"), "poll")
	require.NoError(t, p.Process.Signal(unix.SIGSTOP))
	require.Eventually(t, func() bool { return strings.HasPrefix(target.Status(p.Process.Pid, "State"), "T") },
		30*time.Second, time.Millisecond)
	refusal(t, p.Process.Pid, Busy, "process %d is stopped: let it continue first (kill -CONT %d)")
	require.NoError(t, p.Process.Signal(unix.SIGCONT))
}

func TestRefusesTracedProcess(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := run(t, compile(t, "busy.c"), "0")
	th, err := tracer.Stop(target.Memory{PID: p.Process.Pid}, p.Process.Pid, tracer.Options{})
	require.NoError(t, err)
	name, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	refusal(t, p.Process.Pid, Busy, fmt.Sprintf("process %%d is traced by process %d (%s): end that first",
		os.Getpid(), strings.TrimSpace(string(name))))
	_, err = th.Release()
	require.NoError(t, err)
	assert.Equal(t, "done\n", p.end(t))
}

func TestRefusesSecondHeaplapse(t *testing.T) {
	p := run(t, compile(t, "busy.c"), "1")
	s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 4096, 0))
	refusal(t, p.Process.Pid, Busy, "another heaplapse is attached to process %d: end it first")
	_, err := s.Stop()
	require.NoError(t, err)
	assert.Equal(t, "done\n", p.end(t))
}

func TestRefusesPrograms(t *testing.T) {
	for _, c := range []struct {
		source string
		flags  []string
		text   string
	}{
		{"busy.c", []string{"-static"},
			"process %d is a static program: there is no way into its allocator: link it dynamically, and start it again"},
		{"busy.c", []string{"-fsanitize=address"},
			"process %d is built with a sanitizer, which has its own allocator: use a build without it"},
		{"allocator.c", []string{"-rdynamic", "-fno-builtin"},
			"process %d has malloc linked into the program, whose calls cannot be seen: " +
				"link the allocator as a shared library, or use the allocator's own heap profile"},
		{"i386.c", []string{"-m32", "-static", "-nostdlib", "-fno-pie", "-no-pie"},
			"process %d runs a program for another processor (386, CLASS32): attach supports x86-64: " +
				"record it with heaplapse record"},
	} {
		t.Run(c.source+strings.Join(c.flags, ""), func(t *testing.T) {
			program := compile(t, c.source, c.flags...)
			probe := exec.Command(program)
			if err := probe.Start(); errors.Is(err, unix.ENOEXEC) {
				t.Skip("this kernel runs no programs for i386")
			} else if err == nil {
				_ = probe.Process.Kill()
				_ = probe.Wait()
			}
			refusal(t, run(t, program).Process.Pid, Unsupported, c.text)
		})
	}
}

func TestRefusesMusl(t *testing.T) {
	program := filepath.Join(t.TempDir(), "musl")
	out, err := exec.Command(testutil.Need(t, "musl-gcc"), "-pthread", "-o", program, "testdata/busy.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	refusal(t, run(t, program).Process.Pid, Unsupported,
		"process %d uses musl: attach supports glibc: start it under heaplapse record")
}

func TestRefusesRecordedProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), engine.Name)
	require.NoError(t, os.WriteFile(path, engine.Object(elf.EM_X86_64), 0o755))
	t.Setenv("LD_PRELOAD", path)
	p := run(t, compile(t, "waits.c"), "poll")
	refusal(t, p.Process.Pid, Unsupported, "process %d is recorded by heaplapse record already")
}

func TestRefusesLittleAddressSpace(t *testing.T) {
	p := run(t, compile(t, "waits.c"), "poll")
	limit := unix.Rlimit{Cur: 100 << 20, Max: unix.RLIM_INFINITY}
	require.NoError(t, unix.Prlimit(p.Process.Pid, unix.RLIMIT_AS, &limit, nil))
	refusal(t, p.Process.Pid, Unsupported, "the limit of address space of process %d leaves less than 128 MiB: "+
		"raise it (prlimit --pid %d --as=unlimited)")
}

func TestRefusesFilters(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may read seccomp filters")
	}
	const remedy = ": permit them, or record the program without the filter"
	for kind, text := range map[string]string{
		"kill memfd_create": "process %d cannot be attached to: its seccomp filter does not permit memfd_create" + remedy,
		"trap openat":       "process %d cannot be attached to: its seccomp filter does not permit openat" + remedy,
		"error for mmap":    "process %d cannot be attached to: its seccomp filter does not permit mmap" + remedy,
		"kill mincore":      "process %d cannot be attached to: its seccomp filter does not permit mincore" + remedy,
		"strict":            "a thread of process %d runs under strict seccomp: nothing can be loaded",
		"error for clone3":  "",
		"kill reboot":       "",
	} {
		t.Run(kind, func(t *testing.T) {
			p := run(t, compile(t, "filter.c"), kind)
			require.Eventually(t, func() bool { return target.Status(p.Process.Pid, "Seccomp") != "0" },
				30*time.Second, time.Millisecond)
			if err := checkSeccomp(&target.Process{PID: p.Process.Pid, Memory: target.Memory{PID: p.Process.Pid}}); err != nil &&
				strings.Contains(err.Error(), "CONFIG_CHECKPOINT_RESTORE") {
				t.Skip(err)
			}
			if text != "" {
				refusal(t, p.Process.Pid, Unsupported, text)
				return
			}
			s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 4096, 0))
			_, err := s.Stop()
			require.NoError(t, err)
			p.end(t)
		})
	}
}

// TestRefusesOtherUser attaches as a user who may not, and as root without the capability.
func TestRefusesOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	const nobody = 65534
	p := run(t, compile(t, "waits.c"), "poll")
	refused := func(attributes *syscall.SysProcAttr, more ...string) string {
		cmd := exec.Command("/proc/self/exe")
		cmd.SysProcAttr = attributes
		cmd.Env = append(append(os.Environ(), fmt.Sprintf("ATTACH_PID=%d", p.Process.Pid), "ATTACH_STEP=-1"), more...)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		return string(out)
	}
	asNobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	assert.Equal(t, fmt.Sprintf("process %d belongs to user 0: run heaplapse as that user, or as root\n", p.Process.Pid),
		refused(asNobody))
	assert.Contains(t, refused(nil, "ATTACH_DROP=1"), "heaplapse lacks the capability CAP_SYS_PTRACE")
	assert.Equal(t, "done\n", p.end(t))
}
