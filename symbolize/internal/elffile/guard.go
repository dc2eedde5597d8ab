package elffile

import (
	"fmt"
	"runtime/debug"
)

// Guard runs work that reads the file's bytes. A page that vanished because the
// file was truncated meanwhile, or a fault that crafted bytes provoke in a
// library, becomes an error.
func (f *File) Guard(work func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %w: %v", f.Path, errPanic, r)
		}
	}()
	return work()
}
