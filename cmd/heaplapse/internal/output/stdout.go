package output

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/heaplapse/heaplapse/internal/interrupt"
)

// Stdout is standard output. It keeps its first error: a result that is not written whole is a
// failure, also where the error is ignored, as cobra does when it prints the help.
type Stdout struct {
	*interrupt.Guarded
	failed error
}

// Write implements io.Writer.
func (s *Stdout) Write(b []byte) (int, error) {
	n, err := s.Guarded.Write(b)
	if err == nil {
		return n, nil
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err // its path is that of a device
	}
	err = fmt.Errorf("standard output: %w", err)
	if s.failed == nil {
		s.failed = err
	}
	return n, err
}

// Err returns the first error of Write.
func (s *Stdout) Err() error { return s.failed }
