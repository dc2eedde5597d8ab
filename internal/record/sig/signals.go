//go:build linux

package sig

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Number parses a signal, such as USR2, SIGUSR2 or 12.
func Number(text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= 64 {
		return n, nil
	}
	name := "SIG" + strings.TrimPrefix(strings.ToUpper(text), "SIG")
	if n := unix.SignalNum(name); n != 0 {
		return int(n), nil
	}
	return 0, fmt.Errorf("no such signal: want a name like USR2, or a number")
}

// FailAtClosedPipe makes a write to a pipe that nobody reads an error of this process, which would
// otherwise be ended. A program that this process becomes or starts is not affected.
func FailAtClosedPipe() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }

// FailAtFileLimit makes a write beyond the limit of file sizes (ulimit -f) an error of this
// process, which would otherwise be ended. A program that this process becomes or starts is not
// affected.
func FailAtFileLimit() { signal.Notify(make(chan os.Signal, 1), unix.SIGXFSZ) }

// Name returns the name of a signal, such as SIGTERM, or SIG53 for number 53, which has no name.
func Name(n int) string {
	if name := unix.SignalName(syscall.Signal(n)); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", n)
}

// TrimSIG returns a name without the prefix SIG.
func TrimSIG(name string) string { return strings.TrimPrefix(name, "SIG") }

// Ignored reports whether a signal was ignored when this process started.
func Ignored(n int) bool {
	s := syscall.Signal(n)
	return signal.Ignored(s) || slices.Contains(InheritedIgnored(), s)
}

// Forwarded returns the signals to forward to the program for which which returns true. It omits
// signals that cannot be caught, that stop a process, that a process sends to itself, and SIGURG,
// which Go's runtime uses.
func Forwarded(which func(os.Signal) bool) []os.Signal {
	list := []os.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGWINCH, unix.SIGCONT, unix.SIGPWR, unix.SIGIO,
	}
	for n := 35; n <= 64; n++ {
		list = append(list, syscall.Signal(n))
	}
	return slices.DeleteFunc(list, func(s os.Signal) bool { return !which(s) })
}

// SentByTerminal reports whether the terminal sent a signal. If it did, the program has it too,
// because it is in the same process group.
func SentByTerminal(s os.Signal) bool {
	switch s {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH:
		return fromTerminal(s)
	}
	return false
}

// Die ends this process with a signal, so that its parent sees the same status as for the recorded
// program. It returns only if the signal does not end the process.
func Die(n int) {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // the program has written a core file
	// This replaces the handler of Go's runtime: a zero struct sigaction is SIG_DFL on all
	// architectures.
	var dfl [64]byte
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&dfl)), 0, 8, 0, 0)
	_ = unix.Kill(os.Getpid(), syscall.Signal(n))
	time.Sleep(100 * time.Millisecond) // the kernel may deliver the signal to another thread
}
