package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamed creates a file that never has a name.
func unnamed(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err != nil { // not every file system can do it
		return unlinked(dir)
	}
	return f, nil
}
