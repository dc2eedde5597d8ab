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
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/status"
)

// Target is the program to record.
type Target struct {
	// Path is the file that the command names.
	Path string
	// Exe is the ELF file that the kernel runs: Path, or the interpreter of a script.
	Exe string
	// Interpreter is the dynamic loader of Exe, or "" if Exe is static.
	Interpreter string
	Machine     elf.Machine
	// Shell reports that Path is a script without an interpreter, which execvp(3) runs with
	// /bin/sh.
	Shell bool
}

// Find resolves a command as execvp(3) does, and the interpreters of scripts. It returns a
// [status.Error] if the program cannot be run or recorded.
func Find(command, env []string) (Target, error) {
	path, err := Path(command, env)
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
			return Target{}, status.Errorf(status.CannotRun, "%s: too many levels of script interpreters", path)
		}
		exe = next
	}
	t.Exe = exe
	return t, t.readELF()
}

// Path returns the file that a command names, as execvp(3) finds it. It opens no file.
func Path(command, env []string) (string, error) {
	if len(command) == 0 {
		return "", status.Errorf(status.Failed, "no command given: heaplapse record -- CMD ARG…")
	}
	if command[0] == "" {
		return "", status.Errorf(status.NotFound, "the name of the program is empty: heaplapse record -- CMD ARG…")
	}
	path, err := lookPath(command[0], Getenv(env, "PATH"))
	var e *status.Error
	if words := strings.Fields(command[0]); len(words) > 1 && errors.As(err, &e) && e.Status == status.NotFound {
		remedy := "without the quotes: heaplapse record -- " + strings.Join(append(words, command[1:]...), " ")
		if strings.ContainsAny(command[0], "|&;<>$*") {
			remedy = "let a shell run it: heaplapse record -- sh -c '…'"
		}
		return "", status.Errorf(status.NotFound, "%q: no such program: it is one quoted word; %s", command[0], remedy)
	}
	return path, err
}

// builtins are commands of shells, which are not programs.
var builtins = []string{
	".", "alias", "bg", "cd", "command", "eval", "exec", "export", "fg", "jobs", "pushd", "read", "set", "source",
	"trap", "type", "ulimit", "umask", "unset", "wait",
}

// lookPath searches for a program in the directories of path. Its errors have the exit statuses of
// env(1).
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
	if slices.Contains(builtins, name) {
		return "", status.Errorf(status.NotFound, "%s: a command of the shell, not a program: let a shell run it: "+
			"heaplapse record -- bash -c '%[1]s …; exec CMD'", name)
	}
	if _, err := strconv.ParseUint(name, 10, 32); err == nil {
		return "", status.Errorf(status.NotFound, "%s: no such program: a process that runs is recorded by heaplapse attach %[1]s", name)
	}
	return "", status.Errorf(status.NotFound, "%s: no such program in PATH: give its path, such as ./%[1]s", name)
}

// executable returns an error if a file cannot be executed.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR):
		return status.Errorf(status.NotFound, "%s: no such file: check the path of the program", path)
	case err != nil:
		return &status.Error{Status: status.CannotRun, Err: err}
	case info.IsDir():
		return status.Errorf(status.CannotRun, "%s: is a directory: name the program in it", path)
	case unix.Access(path, unix.X_OK) != nil:
		return status.Errorf(status.CannotRun, "%s: is not executable: chmod +x makes it so", path)
	}
	return nil
}

// interpreterOf returns the interpreter in the first line of a script, such as `#!/usr/bin/python3
// -u`, or "" if it has no such line.
func interpreterOf(path string, env []string) (interpreter string, isScript bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", false, nil // executable but not readable: readELF reports it
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

// envTarget returns the program that env(1) runs with the given arguments: prog for `-S A=1 prog
// -x`.
func envTarget(words []string) string {
	for _, w := range words {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
}

// readELF reads the ELF file. It returns an error if no library can be preloaded into the program.
func (t *Target) readELF() error {
	if err := checkSecureExecution(t.Exe, currentUser()); err != nil {
		return err
	}
	f, err := elf.Open(t.Exe)
	var format *elf.FormatError
	switch {
	case errors.As(err, &format):
		return status.Errorf(status.CannotRun, "%s: not a program for this system: %w", t.Exe, err)
	case errors.Is(err, os.ErrPermission):
		return status.Errorf(status.Failed,
			"%s is not readable, so record cannot examine it: record as a user who can read it", t.Exe)
	case err != nil:
		return &status.Error{Status: status.CannotRun, Err: err}
	}
	defer f.Close()
	t.Machine = f.Machine
	t.Interpreter = LoaderOf(f)
	switch {
	case f.Class != elf.ELFCLASS64:
		return status.Errorf(status.Failed, "%s is a 32-bit program: only 64-bit programs are supported", t.describe())
	case f.Machine != OwnMachine():
		return status.Errorf(status.Failed,
			"%s is for %s, but this heaplapse is for %s: record on such a machine, with heaplapse for it",
			t.describe(), machineName(f.Machine), machineName(OwnMachine()))
	case t.Interpreter == "" && IsWrapper(t.Exe):
		return nil // the program that it runs may be dynamic
	case t.Interpreter == "" && ContainerRemedy(t.Exe) != "":
		return status.Errorf(status.Failed, "%s", ContainerRemedy(t.Exe))
	case t.Interpreter == "":
		return status.Errorf(status.Failed, "%s is statically linked: no allocator can be preloaded into it%s",
			t.describe(), staticRemedy(f))
	}
	if san := sanitizer(f); san != "" {
		return status.Errorf(status.Failed, "%s is built with %s, which has its own allocator: record a build without it",
			t.describe(), san)
	}
	return nil
}

// describe returns the path of the executable for messages. For a script it adds the path of the
// script.
func (t *Target) describe() string {
	if t.Exe == t.Path {
		return t.Exe
	}
	return fmt.Sprintf("%s, which runs %s,", t.Exe, t.Path)
}

// ABI identifies the programs into which a library can be loaded.
type ABI struct {
	Machine elf.Machine
	Libc    string // glibc or musl, or "" if it is unknown
}

// ABI returns the ABI of the program. It uses that of this machine if the machine is unknown.
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

// libcOf returns the C library that a shared library imports, or "".
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

// OwnMachine returns the machine of this process.
func OwnMachine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// LoaderOf returns the path of the dynamic loader of a program, or "" if it is static.
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

// IsGo reports whether a file is a Go program.
func IsGo(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return isGo(f)
}

func isGo(f *elf.File) bool { return f.Section(".go.buildinfo") != nil }

// staticRemedy returns the end of a message about a static program: what to do instead.
func staticRemedy(f *elf.File) string {
	if isGo(f) {
		return "; it is a Go program: if it serves net/http/pprof, heaplapse scrape takes its heap profiles"
	}
	return "; link it dynamically, or link gperftools into it and set HEAPPROFILE"
}

// sanitizer returns the name of the sanitizer that a program is built with, or "".
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
		if linked || defines(symbols, s.symbol) {
			return s.name
		}
	}
	return ""
}

// user holds the credentials of the process that runs a program.
type user struct{ uid, euid, egid int }

func currentUser() user { return user{os.Getuid(), os.Geteuid(), os.Getegid()} }

// checkSecureExecution returns an error if the loader runs a program in secure-execution mode
// (ld.so(8)), in which it ignores LD_PRELOAD.
func checkSecureExecution(path string, u user) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return &status.Error{Status: status.CannotRun, Err: err}
	}
	property := ""
	var fs unix.Statfs_t
	switch {
	case unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOSUID != 0: // the kernel ignores all of these
	case st.Mode&unix.S_ISUID != 0 && int(st.Uid) != u.euid:
		property = "is setuid"
	case st.Mode&unix.S_ISGID != 0 && int(st.Gid) != u.egid:
		property = "is setgid"
	case u.uid != 0 && hasCapabilities(path):
		property = "has capabilities (setcap)"
	}
	if property == "" {
		return nil
	}
	return status.Errorf(status.Failed,
		"%s %s: the loader ignores LD_PRELOAD for it; record the program that it runs (%s), or record as its owner",
		path, property, innerCommand(path))
}

// innerCommand returns the command to use instead of `heaplapse record -- PATH CMD`.
func innerCommand(path string) string {
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

// Wrappers lists programs that run another program. Their own allocations are not recorded.
// engine/src/process/target.c has the same list.
var Wrappers = []string{
	"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox", "env", "timeout", "nice", "ionice", "nohup",
	"stdbuf", "setsid", "taskset", "chrt", "numactl", "time", "setpriv", "prlimit", "tini", "dumb-init", "catatonit",
	"su-exec", "gosu", "chroot", "unshare", "setarch", "xvfb-run", "pyenv", "catchsegv",
	"bwrap", "firejail", "nsjail",
}

// IsWrapper reports whether the base name of an executable is in Wrappers.
func IsWrapper(exe string) bool { return slices.Contains(Wrappers, filepath.Base(exe)) }
