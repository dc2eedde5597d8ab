//go:build unix

package symbolize

import (
	"io/fs"
	"syscall"
)

// inode is a file's number in its file system.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
