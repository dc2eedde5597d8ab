//go:build linux && amd64

package attach

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

func refuse(kind Kind, remedy, format string, args ...any) error {
	return &Refusal{Kind: kind, Reason: fmt.Sprintf(format, args...), Remedy: remedy}
}

// check finds the reasons not to attach to a process without stopping it, except for its seccomp
// filters, which only a tracer may read. It returns what it has read of the process.
func check(pid int) (*target.Process, error) {
	p, err := open(pid)
	if err != nil {
		return nil, err
	}
	for _, c := range []func(*target.Process) error{
		checkKind, checkLibc, checkSanitizer, checkAllocator, checkRecorded, checkShadowStack, checkLimits, checkSeccomp,
	} {
		if err := c(p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// open reads a process if that is permitted.
func open(pid int) (*target.Process, error) {
	for _, c := range []func(int) error{checkState, checkAccess, checkMachine} {
		if err := c(pid); err != nil {
			return nil, err
		}
	}
	return target.Open(pid)
}

// checkState looks at the state and the tracer of a process.
func checkState(pid int) error {
	state := target.Status(pid, "State")
	switch {
	case state == "" || pid <= 0:
		return NoProcess(pid)
	case target.Status(pid, "Tgid") != strconv.Itoa(pid):
		return refuse(NotFound, "give the number of its process, "+target.Status(pid, "Tgid"), "%d is a thread", pid)
	case pid == os.Getpid():
		return refuse(Unsupported, "", "process %d is heaplapse itself", pid)
	case state[0] == 'Z' || state[0] == 'X':
		if threads, err := strconv.Atoi(target.Status(pid, "Threads")); err == nil && threads > 1 {
			return refuse(Unsupported, "start the program under heaplapse record",
				"the main thread of process %d has ended, and the kernel shows no memory of such a process", pid)
		}
		return refuse(NotFound, "", "process %d has ended", pid)
	}
	if tracer := target.Tracer(pid); tracer != "" {
		return refuse(Busy, "end that first", "process %d is traced by process %s", pid, tracer)
	}
	if state[0] == 'T' || state[0] == 't' {
		return refuse(Busy, fmt.Sprintf("let it continue first (kill -CONT %d)", pid), "process %d is stopped", pid)
	}
	return nil
}

// checkAccess asks the kernel whether the process may be traced: reading its memory needs the same.
func checkAccess(pid int) error {
	err := target.Memory{PID: pid}.Read(0, make([]byte, 1))
	switch {
	case errors.Is(err, unix.EPERM):
		reason, remedy := target.WhyNoAccess(pid)
		return refuse(NoAccess, remedy, "%s", reason)
	case errors.Is(err, unix.ENOSYS):
		return refuse(NoAccess, "permit process_vm_readv and ptrace", "a seccomp filter around heaplapse forbids reading the memory of processes")
	case errors.Is(err, unix.ESRCH):
		return refuse(Unsupported, "", "process %d has no memory of its own (a kernel thread, or it is about to end)", pid)
	}
	return nil
}

// checkMachine looks at the ELF header of the program.
func checkMachine(pid int) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return err
	}
	defer f.Close()
	var header [20]byte
	if _, err := f.ReadAt(header[:], 0); err != nil || string(header[:4]) != elf.ELFMAG {
		return refuse(Unsupported, "", "process %d does not run an ELF program", pid)
	}
	machine := elf.Machine(header[18]) | elf.Machine(header[19])<<8
	if class := elf.Class(header[4]); class != elf.ELFCLASS64 || machine != elf.EM_X86_64 {
		return refuse(Unsupported, "record it with heaplapse record", "process %d runs a program for another processor (%s, %s): attach supports x86-64",
			pid, strings.TrimPrefix(machine.String(), "EM_"), strings.TrimPrefix(class.String(), "ELF"))
	}
	return nil
}

const useRecord = "start it under heaplapse record"

// checkKind finds static programs, which have no tables of imports.
func checkKind(p *target.Process) error {
	if p.Libc != nil {
		return nil
	}
	if isGo(p) {
		return refuse(Unsupported, "take its own heap profile (heaplapse scrape, net/http/pprof)",
			"process %d is a static Go program, which has its own allocator", p.PID)
	}
	return refuse(Unsupported, "link it dynamically, and start it again", "process %d is a static program: there is no way into its allocator", p.PID)
}

func isGo(p *target.Process) bool {
	f, err := elf.Open(fmt.Sprintf("/proc/%d/exe", p.PID))
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Section(".go.buildinfo") != nil
}

// checkLibc refuses C libraries with which attach was not tested.
func checkLibc(p *target.Process) error {
	if p.Musl {
		return refuse(Unsupported, useRecord, "process %d uses musl: attach supports glibc", p.PID)
	}
	if p.Loader == nil || p.Libc.Symbol("dlopen").Start == 0 || p.Libc.Symbol("pthread_create").Start == 0 {
		return refuse(Unsupported, useRecord, "process %d uses a glibc before 2.34: attach supports 2.34 and later", p.PID)
	}
	return nil
}

func checkSanitizer(p *target.Process) error {
	for _, m := range p.Modules {
		for _, name := range []string{"__asan_init", "__hwasan_init", "__lsan_init", "__msan_init", "__tsan_init"} {
			if m.Symbol(name).Start != 0 {
				return refuse(Unsupported, "use a build without it", "process %d is built with a sanitizer, which has its own allocator", p.PID)
			}
		}
	}
	return nil
}

// checkAllocator refuses programs that define malloc: their own calls do not go through a table.
func checkAllocator(p *target.Process) error {
	if program := p.Program(); program != nil && slices.Contains(p.Allocators, program) {
		return refuse(Unsupported, "link the allocator as a shared library, or use the allocator's own heap profile",
			"process %d has malloc linked into the program, whose calls cannot be seen", p.PID)
	}
	return nil
}

// checkRecorded finds processes that record has started.
func checkRecorded(p *target.Process) error {
	for _, m := range p.Modules {
		if strings.HasPrefix(filepath.Base(m.Path), "heaplapse-engine") {
			return refuse(Unsupported, "", "process %d is recorded by heaplapse record already", p.PID)
		}
	}
	return nil
}

// checkShadowStack refuses processes in which the processor checks return addresses: the borrowed
// thread would be killed.
func checkShadowStack(p *target.Process) error {
	if strings.Contains(target.Status(p.PID, "x86_Thread_features"), "shstk") {
		return refuse(Unsupported, useRecord, "process %d uses shadow stacks", p.PID)
	}
	return nil
}

// checkLimits refuses processes whose limit of address space leaves no room for the engine.
func checkLimits(p *target.Process) error {
	const needed, page = 128 << 20, 4096
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.PID))
	if err != nil {
		return err
	}
	var limit uint64
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Max address space"); ok {
			limit, _ = strconv.ParseUint(strings.Fields(rest + " ?")[0], 10, 64) // 0 for "unlimited"
		}
	}
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID))
	if err != nil {
		return err
	}
	used, _ := strconv.ParseUint(strings.Fields(string(statm) + " ?")[0], 10, 64)
	if limit != 0 && used*page+needed > limit {
		return refuse(Unsupported, fmt.Sprintf("raise it (prlimit --pid %d --as=unlimited)", p.PID),
			"the limit of address space of process %d leaves less than 128 MiB", p.PID)
	}
	return nil
}
