package memory

import "golang.org/x/sys/unix"

// physical returns the size of the machine's memory in bytes, or 0.
func physical() int64 {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 0
	}
	return int64(s.Totalram) * int64(s.Unit)
}
