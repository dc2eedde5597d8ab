//go:build linux && !amd64 && !arm64

package sig

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func NoteSenders(...syscall.Signal) {}

// fromTerminal takes a signal for the terminal's where that can be: see sender.go.
func fromTerminal(os.Signal) bool { return inForeground() }

// inForeground says whether this process group has the terminal.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
