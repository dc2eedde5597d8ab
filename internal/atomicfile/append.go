package atomicfile

import (
	"errors"
	"io"
	"os"
)

// Append adds content to the end of a file, which it creates if necessary, or leaves the file as it
// was. The content begins on a line of its own. Files to which several programs add cannot be
// replaced.
func Append(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(appendTo(f, content), f.Close())
}

func appendTo(f *os.File, content []byte) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			content = append([]byte("\n"), content...)
		}
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	return nil
}
