//go:build !unix

package symbolize

import "io/fs"

// inode is a file's number in its file system, where there is one.
func inode(fs.FileInfo) uint64 { return 0 }
