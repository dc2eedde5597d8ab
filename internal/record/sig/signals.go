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

// signalNumber reads USR2, SIGUSR2 or 12.
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

// signalName is SIGTERM, or SIG53 for those without names.
func Name(n int) string {
	if name := unix.SignalName(syscall.Signal(n)); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", n)
}

func TrimSIG(name string) string { return strings.TrimPrefix(name, "SIG") }

// Ignored says whether this process was started with a signal ignored.
func Ignored(n int) bool {
	s := syscall.Signal(n)
	return signal.Ignored(s) || slices.Contains(InheritedIgnored(), s)
}

// Forwarded are the signals that are for the program. Left out are those that cannot be caught, that stop (they are for
// whoever is named), that a process sends to itself, and SIGURG, which Go uses within this process.
func Forwarded() []os.Signal {
	list := []os.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGWINCH, unix.SIGCONT, unix.SIGPWR, unix.SIGIO,
	}
	for n := 35; n <= 64; n++ {
		list = append(list, syscall.Signal(n))
	}
	var out []os.Signal
	for _, s := range list {
		if !signal.Ignored(s) { // a program under nohup ignores SIGHUP, and must go on to do so
			out = append(out, s)
		}
	}
	return out
}

// SentByTerminal says whether the terminal has sent a signal to the program already, which is in the same process group.
func SentByTerminal(s os.Signal) bool {
	switch s {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH:
		return fromTerminal(s)
	}
	return false
}

// Die ends this process by a signal, as the recorded program was ended: so that who waits sees the same. It returns only if
// the signal does not kill.
func Die(n int) {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // one core file is enough
	// Go's runtime has handlers of its own for most signals; an all-zero struct sigaction is SIG_DFL on every architecture.
	var dfl [64]byte
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&dfl)), 0, 8, 0, 0)
	_ = unix.Kill(os.Getpid(), syscall.Signal(n))
	time.Sleep(100 * time.Millisecond) // another thread may be the one that takes it
}
