//go:build linux && (amd64 || arm64)

package sig

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Who sent a signal is in its siginfo_t (sigaction(2)), which os/signal does not give. So a handler is put before the runtime's that
// notes si_code and goes on to the runtime's: ^C on a terminal comes from the kernel and reaches the program as well, kill(1)
// is for this process alone.

// senders are the codes of the signals that came last, by number. The handler writes them.
var senders [65]int32

// runtimeHandler is where the handler goes on.
var runtimeHandler uintptr

//nolint:unused // a signal handler: the kernel calls it
func noteSender()
func noteSenderAddress() uintptr

// kernelSent is SI_KERNEL; kill(2) gives SI_USER, 0.
const kernelSent = 0x80

// NoteSenders begins to note who sends these signals. The runtime must have handlers for them (signal.Notify).
func NoteSenders(signals ...syscall.Signal) {
	for _, s := range signals {
		var action [8]uint64 // struct sigaction of the kernel: the handler comes first; the rest stays as it is
		if !sigaction(s, nil, &action) || action[0] <= 1 || uintptr(action[0]) == noteSenderAddress() {
			continue
		}
		atomic.StoreUintptr(&runtimeHandler, uintptr(action[0]))
		action[0] = uint64(noteSenderAddress())
		sigaction(s, &action, nil)
	}
}

func sigaction(s syscall.Signal, set, old *[8]uint64) bool {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	return errno == 0
}

// fromTerminal says whether the kernel sent a signal, to all processes of the terminal's group.
func fromTerminal(s os.Signal) bool {
	n, ok := s.(syscall.Signal)
	return ok && n > 0 && int(n) < len(senders) && atomic.LoadInt32(&senders[n]) == kernelSent
}
