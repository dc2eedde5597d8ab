//go:build linux

package record

import (
	"io"
	"io/fs"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// writeWhole writes a file whole or not at all. Its mode is exact: the recorded program may run as another user.
func writeWhole(path string, mode fs.FileMode, content io.Reader) error {
	return atomicfile.Write(path, atomicfile.Options{Mode: mode}, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	})
}
