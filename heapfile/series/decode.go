package series

import (
	"errors"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/inorder"
)

// decodeOptions are those of [Options] that the decoders need.
type decodeOptions struct {
	workers int
	check   func(more int64) error
	births  bool
}

// newDecoder returns a decoder. check may be nil.
func newDecoder(check func(more int64) error, births bool) *heapfile.Decoder {
	return &heapfile.Decoder{Merge: true, Check: fatal(check), Births: births}
}

// fatal returns a check whose error ends the series, or nil.
func fatal(check func(more int64) error) func(more int64) error {
	if check == nil {
		return nil
	}
	return func(more int64) error {
		if err := check(more); err != nil {
			return &checkError{err}
		}
		return nil
	}
}

// isFatal reports whether an error ends the series.
func isFatal(err error) bool {
	var stop *checkError
	return errors.As(err, &stop)
}

// checkError is an error of [Options.Check], which ends the series. Other errors concern one file.
type checkError struct{ error }

func (e *checkError) Unwrap() error { return e.error }

// decode reads the file. Its name may have the time that its content lacks.
func (f *sourceFile) decode(d *heapfile.Decoder) (*heapfile.Snapshot, error) {
	s, err := d.ReadFile(f.FS, f.Entry, f.Path)
	if err == nil && s.Recorded.IsZero() {
		s.Recorded = f.Name.Time
	}
	return s, err
}

// decodeAll reads files in parallel and calls deliver with the outcomes in the order of the files,
// as [inorder.Files.Decode] does.
func decodeAll(files []sourceFile, o decodeOptions, deliver func(inorder.Decoded) error) error {
	all := inorder.Files{
		Len: len(files), Workers: o.workers,
		NewDecoder: func() *heapfile.Decoder { return newDecoder(o.check, o.births) },
		Read:       func(i int, d *heapfile.Decoder) (*heapfile.Snapshot, error) { return files[i].decode(d) },
	}
	return all.Decode(deliver)
}
