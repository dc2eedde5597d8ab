//go:build linux

package proc

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// LowerPriority gives this goroutine a thread of its own, with a nice value for the processor (see nice(2)) and the
// lowest priority for the disk, if that is permitted. The thread ends with the goroutine.
func LowerPriority(nice int) {
	runtime.LockOSThread()
	const thisThread, whoProcess, idleClass = 0, 1, 3 << 13
	_ = unix.Setpriority(unix.PRIO_PROCESS, thisThread, nice)
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, whoProcess, thisThread, idleClass)
}
