//go:build !unix

package elffile

import (
	"io"
	"io/fs"
	"os"
)

// mapFile reads the file, because this system cannot map it.
func mapFile(f *os.File, _ fs.FileInfo) ([]byte, func() error, error) {
	data, err := io.ReadAll(f)
	return data, func() error { return nil }, err
}
