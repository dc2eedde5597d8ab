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

// A program inherits the set of ignored signals (execve(2)). systemd, cron and `trap '' PIPE` use
// that. Go's runtime installs its handlers before main runs, and os/signal reports the former state
// only for SIGHUP and SIGINT. The runtime keeps the former handlers in the variable runtime.fwdSig,
// which this package finds through the symbol table of this program.

// InheritedIgnored returns the signals that were ignored when this process started and for which
// Go's runtime has installed handlers. It returns none if that is unknown: if the program has no
// symbol table or the runtime no such variable.
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

// RestoreIgnored ignores the signals again that were ignored when this process started, as far as
// that is known, before this process becomes the program. Unlike [InheritedIgnored], it includes
// SIGCHLD.
func RestoreIgnored() {
	before, err := dispositionsBefore()
	if err != nil {
		return
	}
	for n := 1; n < len(before); n++ {
		if s := syscall.Signal(n); before[n] == sigIgn && (ignorable(s) || s == unix.SIGCHLD) {
			signal.Ignore(s)
		}
	}
}

const sigIgn = 1 // SIG_IGN

// ignorable reports whether this process works if the signal is ignored. It needs SIGCHLD to wait
// for the program, those that Go's runtime sends to itself, and those of faults.
func ignorable(s syscall.Signal) bool {
	switch s {
	case unix.SIGCHLD, unix.SIGURG, unix.SIGPROF, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP:
		return false
	}
	return true
}

// dispositionsBefore returns runtime.fwdSig: the handler of each signal before the runtime started,
// as sigaction(2) returned it.
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

// ownSymbol returns the address and size of a variable of this program. The program must be linked
// for a fixed address.
func ownSymbol(name string) (address, size uint64, err error) {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC {
		return 0, 0, fmt.Errorf("program of type %s has no fixed address", f.Type)
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
