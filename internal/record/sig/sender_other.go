//go:build linux && !amd64 && !arm64

package sig

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// NoteSenders does nothing on this architecture.
func NoteSenders(...syscall.Signal) {}

// fromTerminal reports whether the terminal can have sent a signal. sender.go has a better answer
// for other architectures.
func fromTerminal(os.Signal) bool { return inForeground() }

// inForeground reports whether this process is in the foreground process group of the terminal.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
