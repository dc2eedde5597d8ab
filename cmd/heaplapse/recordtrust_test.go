//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/preloadfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// The tests of this file are about other users of the machine.

// theirs returns a directory that belongs to another user. It skips the test unless it runs as
// root.
func theirs(t *testing.T) string {
	t.Helper()
	testutil.Superuser(t)
	dir := filepath.Join(t.TempDir(), "theirs")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Chown(dir, testutil.Stranger, testutil.Stranger))
	return dir
}

// TestRecordIntoADirectoryOfAnotherUser: the owner of the directory could replace a library in it
// before the program's loader reads it.
func TestRecordIntoADirectoryOfAnotherUser(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		dir := theirs(t)
		r := begin(t, dir, recordCmd(t, dir, "-q", "--engine", engine, "--", "true"))
		r.wait(t)
		assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)
		assert.NotEmpty(t, wholeSnapshots(t, dir))
		preloaded := strings.Split(manifestOf(t, dir).Recording.Settings["LD_PRELOAD"], ":")
		if engine != "builtin" {
			require.Len(t, preloaded, 2, "the allocator and the adapter")
		}
		for _, path := range preloaded {
			assert.NotEqual(t, dir, filepath.Dir(path))
			assert.NoError(t, preloadfile.Check(path))
		}
	})
}

// TestRecordAsAnotherUser: a program that root starts under another user can load what is preloaded.
func TestRecordAsAnotherUser(t *testing.T) {
	t.Parallel()
	setpriv := testutil.Need(t, "setpriv")
	eachEngine(t, func(t *testing.T, engine string) {
		dir := theirs(t)
		require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755))
		user := fmt.Sprint(testutil.Stranger)
		r := begin(t, dir, recordCmd(t, dir, "-q", "--engine", engine, "--", setpriv, "--reuid", user, "--regid", user, "--clear-groups", "id", "-u"))
		r.wait(t)
		assert.Equal(t, user+"\n", r.stdout)
		assert.Empty(t, r.stderr)
		assert.NotEmpty(t, wholeSnapshots(t, dir))
	})
}

// TestRecordWithALibraryOfAnotherUser: root's choice is respected, with a warning.
func TestRecordWithALibraryOfAnotherUser(t *testing.T) {
	t.Parallel()
	library := testutil.NeedFile(t, "/usr/lib/*/libjemalloc.so.2")
	path := filepath.Join(theirs(t), "libjemalloc.so.2")
	content, err := os.ReadFile(library)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o644))
	out, err := exec.Command("heaplapse", "record", "--dry-run", "--engine", "jemalloc", "--library", path, "--", "true").CombinedOutput()
	require.NoError(t, err, string(out))
	warning := fmt.Sprintf("heaplapse: warning: another user can replace %s: %s belongs to user %d\n",
		path, filepath.Dir(path), testutil.Stranger)
	require.Contains(t, string(out), warning)
}

// TestRecordingsThatStartTogether: every program runs, and its recording has a directory of its
// own.
func TestRecordingsThatStartTogether(t *testing.T) {
	t.Parallel()
	needEngine(t, "jemalloc")
	dir := t.TempDir()
	const n = 5
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			cmd := exec.Command("heaplapse", "record", "--", "true")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, string(out))
		})
	}
	wg.Wait()
	recordings, err := filepath.Glob(filepath.Join(dir, "heaplapse-true-*", "heaplapse.manifest.jsonl"))
	require.NoError(t, err)
	require.Len(t, recordings, n)
}

// TestRecordUnderAnUmask: no file of a private recording can be read by others.
func TestRecordUnderAnUmask(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		dir := filepath.Join(t.TempDir(), "out")
		script := `umask 077; exec heaplapse record -q --engine "$0" -o "$1" -- true`
		out, err := exec.Command("sh", "-c", script, engine, dir).CombinedOutput()
		require.NoError(t, err, string(out))
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(files), 2, "the manifest and a snapshot")
		for _, f := range files {
			info, err := f.Info()
			require.NoError(t, err)
			assert.Zero(t, info.Mode().Perm()&0o077, "%s %s", info.Mode(), f.Name())
		}
		info, err := os.Stat(dir)
		require.NoError(t, err)
		assert.Equal(t, os.ModeDir|0o700, info.Mode())
	})
}

// TestRecordWithoutAnUmask: nobody else can write to the files of a recording, also to those of a look and of the
// names. A link of such a name, which the owner of the directory may have made, is replaced.
func TestRecordWithoutAnUmask(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	program := filepath.Join(bin, "wait")
	compileC(t, program, "#include <stdlib.h>\n#include <unistd.h>\n"+
		"int main(void) { return malloc(1 << 20) == 0 || usleep(300000); }\n")
	dir, victim := t.TempDir(), filepath.Join(bin, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(victim, filepath.Join(dir, "names.heaplapse.tar.zst")))
	cmd := exec.Command("sh", "-c", `umask 0; exec heaplapse record -q -o "$0" -- "$1"`, dir, program)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	kinds := map[string]bool{}
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		assert.Zero(t, info.Mode().Perm()&0o022, "%s %s", info.Mode(), f.Name())
		kinds[filepath.Ext(f.Name())] = true
	}
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text))
	assert.Subset(t, kinds, map[string]bool{".jsonl": true, ".gz": true, ".so": true, ".zst": true}, "%v", files)
}

// TestRecordKilledWhileItTriesTheLibrary: the directory of the trial does not stay.
func TestRecordKilledWhileItTriesTheLibrary(t *testing.T) {
	t.Parallel()
	needEngine(t, "jemalloc")
	tmp, bin := t.TempDir(), t.TempDir()
	compileC(t, filepath.Join(bin, "true"), `#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void) { // ends with record
	prctl(PR_SET_PDEATHSIG, 9);
	fclose(fopen(getenv("STARTED"), "w"));
	for (;;) pause();
}
`)
	record := func(env ...string) *exec.Cmd {
		cmd := exec.Command("heaplapse", "record", "-q", "--engine", "jemalloc", "--", "sh", "-c", "exit 0")
		cmd.Dir = t.TempDir()
		cmd.Env = append(append(os.Environ(), "TMPDIR="+tmp), env...)
		return cmd
	}
	left := func() []os.DirEntry {
		entries, err := os.ReadDir(tmp)
		require.NoError(t, err)
		return entries
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		started := filepath.Join(t.TempDir(), "started")
		cmd := record("PATH="+bin+":"+os.Getenv("PATH"), "STARTED="+started)
		require.NoError(t, cmd.Start())
		for _, err := os.Stat(started); err != nil; _, err = os.Stat(started) {
			time.Sleep(5 * time.Millisecond)
		}
		require.NotEmpty(t, left())
		require.NoError(t, cmd.Process.Signal(s))
		require.Error(t, cmd.Wait())
		require.Equal(t, s, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
		require.Equal(t, s == syscall.SIGKILL, len(left()) > 0, s)
	}
	out, err := record().CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, left(), "record removes what a killed one has left")
}

// filtered is a program that installs a seccomp filter, which kills it when it opens a file: by
// prctl, or, with an argument, by the system call.
const filtered = `#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	free(malloc(8 << 20));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 3;
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL); // fails
	int error = argc > 1 ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p) : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
	if (error != 0) return 3;
	for (int i = 0; i < ROUNDS; i++) free(malloc(10000));
}
`

// TestRecordUnderASeccompFilter: the filter kills the program at its next snapshot.
func TestRecordUnderASeccompFilter(t *testing.T) {
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "filtered")
	compileC(t, exe, "#define ROUNDS 2000000000\n"+filtered)
	eachEngine(t, func(t *testing.T, engine string) {
		if engine == "builtin" {
			t.Skip("it ends the recording: TestBuiltinEndsAtASeccompFilter")
		}
		r := recorded(t, "--engine", engine, "--every", "10ms", "--", exe)
		if r.state.ExitStatus() == 3 {
			t.Skip("this system does not permit a seccomp filter")
		}
		assert.Equal(t, syscall.SIGSYS, r.state.Signal())
		assert.Contains(t, r.stderr, "heaplapse: warning: SIGSYS ended the program: its seccomp filter may not permit")
	})
}

// TestBuiltinEndsAtASeccompFilter: the built-in engine takes its last snapshot before the filter is
// installed, and the program ends as without it.
func TestBuiltinEndsAtASeccompFilter(t *testing.T) {
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "filtered")
	compileC(t, exe, "#define ROUNDS 100000\n"+filtered)
	for _, how := range [][]string{{exe}, {exe, "syscall"}} {
		r := recorded(t, append([]string{"--engine", "builtin", "--every", "0", "--"}, how...)...)
		if r.state.ExitStatus() == 3 {
			t.Skip("this system does not permit a seccomp filter")
		}
		require.Equal(t, 0, r.state.ExitStatus(), "%s: %s", how, r.stderr)
		reported(t, r, manifest.ProblemDisabled, "the program restricts its system calls (seccomp)")
	}
}

// compileC compiles a C program.
func compileC(t *testing.T, exe, source string) {
	t.Helper()
	cmd := exec.Command(testutil.Need(t, "gcc"), "-O0", "-x", "c", "-o", exe, "-")
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestRecordWorkersOfAnotherUser: the workers of a service that drops its privileges cannot write to a
// directory of root. record writes the files itself: the workers are recorded.
func TestRecordWorkersOfAnotherUser(t *testing.T) {
	t.Parallel()
	setpriv := testutil.Need(t, "setpriv")
	eachEngine(t, func(t *testing.T, engine string) {
		user, parent := fmt.Sprint(testutil.Stranger), filepath.Dir(theirs(t))
		for _, dir := range []string{filepath.Dir(parent), parent} {
			require.NoError(t, os.Chmod(dir, 0o755))
		}
		log := filepath.Join(parent, "log")
		record := func(dir, work string) string {
			out, err := os.Create(log)
			require.NoError(t, err)
			defer out.Close()
			cmd := exec.Command("heaplapse", "record", "--follow-children", "--engine", engine, "-o", dir, "--", "sh", "-c", `"$@" & wait`, "sh",
				setpriv, "--reuid", user, "--regid", user, "--clear-groups", "sh", "-c", work)
			cmd.Dir, cmd.Stderr = parent, out
			require.NoError(t, cmd.Run())
			said, err := os.ReadFile(log)
			require.NoError(t, err)
			return string(said)
		}
		require.NoError(t, os.Mkdir(filepath.Join(parent, "roots"), 0o755))
		said := record("roots", "exec perl -e 'sleep 2'")
		assert.NotContains(t, said, "cannot write")
		assert.Equal(t, []uint32{0}, slices.Compact(owners(t, filepath.Join(parent, "roots"))))
		m := manifestOf(t, filepath.Join(parent, "roots"))
		assert.True(t, slices.ContainsFunc(m.Processes, func(p manifest.Process) bool {
			return strings.HasSuffix(p.Exe, "perl")
		}), "%+v", m.Processes)
	})
}

// privateRoot runs "$@" on a copy of the mounts, of which / is one, also where it is not (in a chroot).
// Nothing that is mounted there is seen outside.
const privateRoot = `
mount --make-rprivate / 2>/dev/null || ! grep -q shared: /proc/self/mountinfo || exit 77
mount --rbind / /mnt && exec chroot /mnt "$@"
exit 77`

// readOnly runs "$@" where every file system is read-only but a new one at $0.
const readOnly = `
mount -t tmpfs tmpfs "$0" || exit 77
for empty in /var/cache /run /tmp; do
	case $0 in $empty/*) ;; *) mount -t tmpfs -o ro tmpfs $empty || exit 77 ;; esac
done
while read -r _ at _; do
	case $at in "$0" | /proc* | /sys* | /dev*) ;; *) mount -o remount,ro,bind "$at" || : ;; esac
done </proc/mounts
cd / && exec "$@"`

// TestRecordOnAReadOnlySystem: the directory of the snapshots may be the only one that can be written to,
// as in a container with a read-only root.
func TestRecordOnAReadOnlySystem(t *testing.T) {
	t.Parallel()
	unshare := testutil.Need(t, "unshare")
	testutil.Need(t, "perl")
	testutil.Superuser(t)
	eachEngine(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		run := func(script string) (string, int) {
			cmd := exec.Command(unshare, "--mount", "--propagation", "unchanged", "sh", "-c", privateRoot, "sh",
				"sh", "-c", readOnly, dir, "sh", "-c", script, dir)
			cmd.Env = append(os.Environ(), "HOME=/nonexistent", "TMPDIR=/tmp", "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR=")
			out, err := cmd.CombinedOutput()
			return string(out), exitStatus(err)
		}
		out, status := run(`if (: > /tmp/x || : > /var/cache/x) 2>/dev/null; then exit 77; fi`)
		if status == 77 {
			t.Skipf("file systems cannot be mounted here: %s", out)
		}
		require.Equal(t, 0, status, out)
		out, status = run(`heaplapse record --engine ` + engine + ` -o "$0/heap" -- perl -e '$x = "x" x 1e6; exit 3'; s=$?; heaplapse info "$0/heap" >&2; ls "$0"; exit $s`)
		require.Equal(t, 3, status, out)
		require.Regexp(t, `(?m)^snapshots +\d`, out)
		require.Regexp(t, `(?m)^heaplapse-preload-\d+\nheap\n|^heap\nheaplapse-preload-\d+\n`, out)

		out, status = run(`heaplapse record --or-fail --engine ` + engine + ` -o /nowhere/heap -- true`)
		require.Equal(t, 125, status, out)
		require.Regexp(t, `set (XDG_CACHE_HOME|TMPDIR) to `, out)
	})
}

// TestRecordRunsTheProgramAnyway: if a recording cannot start, the program runs, one line says why, and
// --or-fail prevents it.
func TestRecordRunsTheProgramAnyway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ setup, reason string }{
		"a directory that cannot be made": {"", "/proc/x"},
		"no descriptors":                  {"ulimit -n 8;", "too many open files: raise the limit of open files (ulimit -n)"},
		"few descriptors":                 {"ulimit -n 10;", "too many open files: raise the limit of open files (ulimit -n)"},
		"a limit of file sizes":           {"ulimit -f 0;", "file too large: raise the limit of file sizes (ulimit -f)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine string) { testRunsAnyway(t, engine, c.setup, c.reason) })
		})
	}
}

func testRunsAnyway(t *testing.T, engine, setup, reason string) {
	dir := filepath.Join(t.TempDir(), "out")
	if setup == "" {
		dir = "/proc/x/out"
	}
	for _, flag := range []string{"", " --or-fail"} {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command("bash", "-c", setup+" exec heaplapse record -q"+flag+" --engine "+engine+" -o "+dir+
			` -- sh -c "echo ran; exit 3"`)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		status := exitStatus(cmd.Run())
		assert.Contains(t, stderr.String(), reason)
		if flag == "" {
			assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			assert.Equal(t, 3, status)
			assert.Equal(t, "ran\n", stdout.String())
		} else {
			assert.Equal(t, 125, status)
			assert.Empty(t, stdout.String())
		}
	}
}

// TestRecordRunsTheProgramOnAFullDisk: nothing is left that looks like a recording.
func TestRecordRunsTheProgramOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("tmpfs cannot be mounted here: %v", err)
	}
	defer func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) }()
	out := filepath.Join(dir, "out")
	r := begin(t, out, recordCmd(t, out, "-q", "--", "sh", "-c", "echo ran; exit 3"))
	r.wait(t)
	assert.Equal(t, 3, r.state.ExitStatus())
	assert.Equal(t, "ran\n", r.stdout)
	assert.Regexp(t, `^heaplapse: .*no space left on device.*\n$`, r.stderr)
	assert.NoDirExists(t, out)
}

// TestRecordRunsTheProgramWithoutADirectory: the working directory does not exist.
func TestRecordRunsTheProgramWithoutADirectory(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `mkdir gone && cd gone && rmdir ../gone && exec heaplapse record -q -- sh -c "exit 3"`)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	assert.Equal(t, 3, exitStatus(err), string(out))
}

// TestRecordEndsAnUnrecordedProgram: --duration applies, and the status is passed on.
func TestRecordEndsAnUnrecordedProgram(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{"exec sleep 600": -1, "exit 5": 5} {
		duration := "1h"
		if want < 0 {
			duration = "500ms"
		}
		r := begin(t, t.TempDir(), recordCmd(t, "/proc/x/out", "-q", "--duration", duration, "--", "sh", "-c", command))
		r.wait(t)
		assert.Equal(t, want, r.state.ExitStatus(), r.stderr)
		if want < 0 {
			assert.Equal(t, syscall.SIGTERM, r.state.Signal())
		}
	}
}

// TestRecordRunsTheProgramIfNobodyReadsTheMessage: standard error is a pipe without a reader.
func TestRecordRunsTheProgramIfNobodyReadsTheMessage(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer write.Close()
	require.NoError(t, read.Close())
	cmd := recordCmd(t, "/proc/x/out", "-q", "--", "sh", "-c", "echo ran; exit 3")
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, write
	assert.Equal(t, 3, exitStatus(cmd.Run()))
	assert.Equal(t, "ran\n", stdout.String())
}

// TestRecordQuotesNames: control characters in the name of a program do not reach the terminal.
func TestRecordQuotesNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content, err := os.ReadFile(testutil.Need(t, "true"))
	require.NoError(t, err)
	program := filepath.Join(dir, "a\x1b[31mb")
	require.NoError(t, os.WriteFile(program, content, 0o755))
	out, err := exec.Command("heaplapse", "record", "-o", filepath.Join(dir, "out"), "--", program).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "recording ")
	assert.NotContains(t, string(out), "\x1b")
}

// TestRecordWithAnotherPreload: what other preloaded libraries and the dynamic linker write to standard
// error is no failure of the engine.
func TestRecordWithAnotherPreload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	library, source := filepath.Join(dir, "say.so"), filepath.Join(dir, "say.c")
	require.NoError(t, os.WriteFile(source, []byte(`#include <unistd.h>
__attribute__((constructor)) static void start(void) { if (write(2, "error: hello\n", 13) < 0) _exit(9); }
`), 0o600))
	out, err := exec.Command(testutil.Need(t, "gcc"), "-shared", "-fPIC", "-o", library, source).CombinedOutput()
	require.NoError(t, err, string(out))
	for i, variable := range []string{"LD_PRELOAD=" + library, "LD_DEBUG=statistics", "LD_DEBUG=all"} {
		recording := filepath.Join(dir, strconv.Itoa(i))
		cmd := exec.Command("heaplapse", "record", "--engine", "builtin", "-o", recording, "--", "true")
		cmd.Env = append(os.Environ(), variable)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		snapshots, err := filepath.Glob(filepath.Join(recording, "*.heap*"))
		require.NoError(t, err)
		assert.NotEmpty(t, snapshots, string(out))
	}
}

// owners returns the users that the snapshots in a directory belong to.
func owners(t *testing.T, dir string) (users []uint32) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.heap*"))
	require.NoError(t, err)
	for _, path := range paths {
		info, err := os.Stat(path)
		require.NoError(t, err)
		users = append(users, info.Sys().(*syscall.Stat_t).Uid)
	}
	return users
}

// TestRecordInOtherNamespaces: a program that cannot reach the network of record, and has other numbers for
// processes, is recorded under the number that record sees.
func TestRecordInOtherNamespaces(t *testing.T) {
	t.Parallel()
	unshare := testutil.Need(t, "unshare")
	how := []string{unshare, "--user", "--map-root-user", "--net", "--pid", "--fork"}
	if err := exec.Command(how[0], append(how[1:], "true")...).Run(); err != nil {
		t.Skipf("this system does not permit new namespaces: %v", err)
	}
	r := recorded(t, append(append([]string{"--engine", "builtin", "--every", "0", "--"}, how...), "perl", "-e", "exit 3")...)
	require.Equal(t, 3, r.state.ExitStatus(), r.stderr)
	m := manifestOf(t, r.dir)
	require.NotEmpty(t, m.Processes)
	assert.True(t, slices.ContainsFunc(m.Processes, func(p manifest.Process) bool {
		return strings.HasSuffix(p.Exe, "perl") && p.PID > 2
	}), "%+v", m.Processes)
}
