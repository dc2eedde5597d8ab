//go:build linux

package record

import (
	"io"
	"io/fs"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// writeAtomic writes a file atomically. The umask does not apply to its mode, because the recorded
// program may run as another user.
func writeAtomic(path string, mode fs.FileMode, content io.Reader) error {
	return atomicfile.Write(path, atomicfile.Options{Mode: mode}, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	})
}
