//go:build linux

package sig

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// A program inherits which signals are ignored (execve(2)), and systemd, cron and `trap '' PIPE` make use of that. Go's runtime gives itself
// handlers before anything of ours runs, and tells of SIGHUP and SIGINT only what was before. But it keeps it, in
// runtime.fwdSig: what is found there, by the symbol table of this program, is ignored again when the recorded one is started.

// InheritedIgnored are the signals that this process was started with ignored and Go's runtime has given handlers to; none where it cannot be
// known: in a program without a symbol table, or of a toolchain that has no such variable.
func InheritedIgnored() []syscall.Signal {
	before, err := dispositionsBefore()
	if err != nil {
		return nil
	}
	var out []syscall.Signal
	for n := 1; n < len(before); n++ {
		if s := syscall.Signal(n); before[n] == sigIgn && ignorable(s) && !signal.Ignored(s) {
			out = append(out, s)
		}
	}
	return out
}

const sigIgn = 1 // SIG_IGN

// ignorable leaves out what this process itself cannot do without: SIGCHLD, by which it waits, and those that the runtime sends to itself or
// that a fault sends.
func ignorable(s syscall.Signal) bool {
	switch s {
	case unix.SIGCHLD, unix.SIGURG, unix.SIGPROF, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP:
		return false
	}
	return true
}

// dispositionsBefore reads runtime.fwdSig: what sigaction(2) said of each signal when the runtime started.
func dispositionsBefore() ([]uint64, error) {
	address, size, err := ownSymbol("runtime.fwdSig")
	if err != nil {
		return nil, err
	}
	const signals = 65
	if size != 8*signals {
		return nil, fmt.Errorf("runtime.fwdSig has %d bytes, want %d", size, 8*signals)
	}
	raw, err := proc.OwnMemory(int64(address), int64(size))
	if err != nil {
		return nil, err
	}
	out := make([]uint64, signals)
	for i := range out {
		out[i] = binary.NativeEndian.Uint64(raw[8*i:])
	}
	return out, nil
}

// ownSymbol is where a variable of this program lies, if that was linked for a fixed address.
func ownSymbol(name string) (address, size uint64, err error) {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC {
		return 0, 0, fmt.Errorf("a program of type %s lies anywhere", f.Type)
	}
	symbols, err := f.Symbols()
	if err != nil {
		return 0, 0, err
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value, s.Size, nil
		}
	}
	return 0, 0, fmt.Errorf("no symbol %s", name)
}
