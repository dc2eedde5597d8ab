package memory

import "golang.org/x/sys/unix"

// physical returns the size of the machine's memory in bytes, or 0.
func physical() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
