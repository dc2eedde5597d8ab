//go:build linux

package program

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/status"
)

// Target is the program to be recorded.
type Target struct {
	// Path is the file of Command[0].
	Path string
	// Exe is the ELF file that will run: Path, or the interpreter of a script.
	Exe string
	// Interpreter is Exe's dynamic loader.
	Interpreter string
	Machine     elf.Machine
	// Shell: the kernel cannot run Path, so that /bin/sh must, as execvp has it.
	Shell bool
}

// findTarget resolves a command as execvp(3) does, and looks through scripts.
func Find(command, env []string) (Target, error) {
	if len(command) == 0 {
		return Target{}, status.Errorf(status.Failed, "no command given: heaplapse record -- CMD ARG…")
	}
	path, err := lookPath(command[0], Getenv(env, "PATH"))
	if err != nil {
		return Target{}, err
	}
	t := Target{Path: path}
	exe := path
	for depth := 0; ; depth++ {
		next, isScript, err := interpreterOf(exe, env)
		if err != nil {
			return Target{}, err
		}
		if !isScript {
			break
		}
		if next == "" {
			t.Shell = exe == path
			next = "/bin/sh"
		}
		if depth == 5 { // the kernel's own limit
			return Target{}, status.Errorf(status.CannotRun, "%s: interpreters of interpreters, more than the kernel takes", path)
		}
		exe = next
	}
	t.Exe = exe
	return t, t.readELF()
}

// lookPath is exec.LookPath with the PATH of the program, and with the statuses of env(1).
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if dir == "" || dir == "." {
			file = "./" + name
		}
		err := executable(file)
		if err == nil {
			return file, nil
		}
		var e *status.Error
		if errors.As(err, &e) && e.Status == status.CannotRun {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", status.Errorf(status.NotFound, "%s: no such program in PATH", name)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR):
		return status.Errorf(status.NotFound, "%s: no such file", path)
	case err != nil:
		return &status.Error{Status: status.CannotRun, Err: err}
	case info.IsDir():
		return status.Errorf(status.CannotRun, "%s: is a directory", path)
	case unix.Access(path, unix.X_OK) != nil:
		return status.Errorf(status.CannotRun, "%s: is not executable", path)
	}
	return nil
}

// interpreterOf reads the first line of a script: `#!/usr/bin/python3 -u`. A text without one has the interpreter "".
func interpreterOf(path string, env []string) (interpreter string, isScript bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", false, nil // executable and not readable: it is run as it is, see readELF
	}
	defer f.Close()
	head, err := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", false, &status.Error{Status: status.CannotRun, Err: err}
	}
	if strings.HasPrefix(head, elf.ELFMAG) {
		return "", false, nil
	}
	line, ok := strings.CutPrefix(head, "#!")
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return "", true, nil
	}
	if filepath.Base(words[0]) == "env" {
		if name := envTarget(words[1:]); name != "" {
			found, err := lookPath(name, Getenv(env, "PATH"))
			return found, true, err
		}
	}
	return words[0], true, executable(words[0])
}

// envTarget is what `#!/usr/bin/env -S A=1 prog -x` runs.
func envTarget(words []string) string {
	for _, w := range words {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
}

// readELF refuses what LD_PRELOAD cannot reach, with the reason.
func (t *Target) readELF() error {
	if err := secure(t.Exe, self()); err != nil {
		return err
	}
	f, err := elf.Open(t.Exe)
	var format *elf.FormatError
	switch {
	case errors.As(err, &format):
		return status.Errorf(status.CannotRun, "%s: not a program for this system: %w", t.Exe, err)
	case errors.Is(err, os.ErrPermission):
		return status.Errorf(status.Failed, "%s may be run and not read, so that it is not known what can be preloaded into it: record as a user who may read it", t.Exe)
	case err != nil:
		return &status.Error{Status: status.CannotRun, Err: err}
	}
	defer f.Close()
	t.Machine = f.Machine
	t.Interpreter = LoaderOf(f)
	switch {
	case f.Class != elf.ELFCLASS64:
		return status.Errorf(status.Failed, "%s is a 32-bit program: snapshots of 64-bit programs only can be read", t.named())
	case f.Machine != OwnMachine():
		return status.Errorf(status.Failed, "%s is a program for %s, this heaplapse records those for %s: record on such a machine, with heaplapse for it",
			t.named(), machineName(f.Machine), machineName(OwnMachine()))
	case t.Interpreter == "" && IsWrapper(t.Exe):
		return nil // what it runs may still be dynamic
	case t.Interpreter == "":
		return status.Errorf(status.Failed, "%s is statically linked: no allocator can be preloaded into it%s", t.named(), staticRemedy(f))
	}
	if san := sanitizer(f); san != "" {
		return status.Errorf(status.Failed, "%s is built with %s, which brings its own allocator: record a build without it", t.named(), san)
	}
	return nil
}

// named is the program in messages: of a script it is the interpreter.
func (t *Target) named() string {
	if t.Exe == t.Path {
		return t.Exe
	}
	return fmt.Sprintf("%s, which runs %s,", t.Exe, t.Path)
}

// abi is what a library must be made for to be loaded into a program.
type ABI struct {
	Machine elf.Machine
	Libc    string // glibc or musl, "" if it is not known
}

func (t *Target) ABI() ABI {
	machine := t.Machine
	if machine == elf.EM_NONE {
		machine = OwnMachine()
	}
	switch base := filepath.Base(t.Interpreter); {
	case strings.HasPrefix(base, "ld-musl-"):
		return ABI{machine, "musl"}
	case strings.HasPrefix(base, "ld-linux-"):
		return ABI{machine, "glibc"}
	}
	return ABI{machine, ""}
}

// libcOf is the C library that a shared library needs.
func libcOf(f *elf.File) string {
	libs, _ := f.ImportedLibraries()
	for _, l := range libs {
		switch {
		case l == "libc.so.6":
			return "glibc"
		case l == "libc.so" || strings.HasPrefix(l, "libc.musl-"):
			return "musl"
		}
	}
	return ""
}

// OwnMachine is that of this process.
func OwnMachine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

func LoaderOf(f *elf.File) string {
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err == nil {
				return strings.TrimRight(string(b), "\x00")
			}
		}
	}
	return ""
}

func staticRemedy(f *elf.File) string {
	if f.Section(".go.buildinfo") != nil {
		return "; it is a Go program: its heap is what net/http/pprof shows"
	}
	return "; link it dynamically, or link gperftools into it and set HEAPPROFILE"
}

// sanitizer is the name of the one that a program is built with.
func sanitizer(f *elf.File) string {
	libs, _ := f.ImportedLibraries()
	symbols, _ := f.DynamicSymbols()
	for _, s := range []struct{ name, library, symbol string }{
		{"AddressSanitizer", "libasan.", "__asan_init"},
		{"ThreadSanitizer", "libtsan.", "__tsan_init"},
		{"MemorySanitizer", "libmsan.", "__msan_init"},
		{"LeakSanitizer", "liblsan.", "__lsan_init"},
	} {
		linked := slices.ContainsFunc(libs, func(l string) bool { return strings.HasPrefix(l, s.library) })
		if linked || slices.ContainsFunc(symbols, func(sym elf.Symbol) bool { return sym.Name == s.symbol && sym.Section != elf.SHN_UNDEF }) {
			return s.name
		}
	}
	return ""
}

// user is who runs a program.
type user struct{ uid, euid, egid int }

func self() user { return user{os.Getuid(), os.Geteuid(), os.Getegid()} }

// secure refuses programs that the loader runs in secure-execution mode (ld.so(8)): it ignores LD_PRELOAD then.
func secure(path string, u user) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return &status.Error{Status: status.CannotRun, Err: err}
	}
	why := ""
	var fs unix.Statfs_t
	switch {
	case unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOSUID != 0: // none of this counts there
	case st.Mode&unix.S_ISUID != 0 && int(st.Uid) != u.euid:
		why = "setuid"
	case st.Mode&unix.S_ISGID != 0 && int(st.Gid) != u.egid:
		why = "setgid"
	case u.uid != 0 && hasCapabilities(path):
		why = "given capabilities (setcap)"
	}
	if why == "" {
		return nil
	}
	return status.Errorf(status.Failed, "%s is %s: the loader preloads nothing into it; record the program that it runs (%s), or record as the user that owns it",
		path, why, insideOut(path))
}

// insideOut turns `record -- sudo cmd` round.
func insideOut(path string) string {
	switch base := filepath.Base(path); base {
	case "sudo", "doas", "su":
		return fmt.Sprintf("%s heaplapse record -- CMD", base)
	}
	return "heaplapse record -- CMD"
}

func hasCapabilities(path string) bool {
	n, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil && n > 0
}

// Wrappers are programs that run another one: what they allocate themselves is of no interest.
var Wrappers = []string{
	"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox", "env", "timeout", "nice", "ionice", "nohup", "stdbuf", "setsid", "taskset", "chrt",
	"numactl", "time", "setpriv", "prlimit", "tini", "dumb-init", "catatonit", "su-exec", "gosu", "chroot", "unshare", "setarch", "xvfb-run", "pyenv", "catchsegv",
}

func IsWrapper(exe string) bool { return slices.Contains(Wrappers, filepath.Base(exe)) }
