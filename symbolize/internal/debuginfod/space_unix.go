//go:build linux || darwin

package debuginfod

import "golang.org/x/sys/unix"

// freeSpace returns the bytes that this user may still write to the disk of a directory.
func freeSpace(dir string) (free uint64, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}
