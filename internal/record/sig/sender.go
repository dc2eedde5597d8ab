//go:build linux && (amd64 || arm64)

package sig

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel sends the signal of a ^C to all processes of the terminal's foreground group, so the
// program has it too. kill(1) sends a signal to this process alone. The difference is in the
// si_code of siginfo_t (sigaction(2)), which os/signal does not provide. NoteSenders therefore
// installs a handler that stores si_code and then jumps to the handler of Go's runtime.

// senders holds the si_code of the last signal of each number. The handler writes it.
var senders [65]int32

// runtimeHandler is the address of the runtime's handler.
var runtimeHandler uintptr

//nolint:unused // a signal handler: the kernel calls it
func noteSender()
func noteSenderAddress() uintptr

// kernelSent is SI_KERNEL. For kill(2), si_code is SI_USER, which is 0.
const kernelSent = 0x80

// NoteSenders starts to store the senders of these signals. The caller must have called
// signal.Notify for them.
func NoteSenders(signals ...syscall.Signal) {
	for _, s := range signals {
		var action [8]uint64 // the kernel's struct sigaction: the handler is first, the rest does not change
		if !sigaction(s, nil, &action) || action[0] <= 1 || uintptr(action[0]) == noteSenderAddress() {
			continue
		}
		atomic.StoreUintptr(&runtimeHandler, uintptr(action[0]))
		action[0] = uint64(noteSenderAddress())
		sigaction(s, &action, nil)
	}
}

func sigaction(s syscall.Signal, set, old *[8]uint64) bool {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	return errno == 0
}

// fromTerminal reports whether the kernel sent the last signal of this number.
func fromTerminal(s os.Signal) bool {
	n, ok := s.(syscall.Signal)
	return ok && n > 0 && int(n) < len(senders) && atomic.LoadInt32(&senders[n]) == kernelSent
}
