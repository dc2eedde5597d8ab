package elffile

import (
	"fmt"
	"runtime/debug"
)

// Guard runs work that reads the file. If the file is truncated meanwhile, or a library panics on crafted bytes, Guard
// returns an error.
func (f *File) Guard(work func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %w: %v", f.Path, errPanic, r)
		}
	}()
	return work()
}
