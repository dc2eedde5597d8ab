// Package held holds the files open that recorded processes have mapped. A container may have gone when the recording
// is read, and a build may have replaced a program: the names in the files can still be kept then.
package held

import (
	"io/fs"
	"os"
	"strconv"
	"time"
)

// Files are the files of the processes of a recording. The zero value has none.
type Files struct {
	roots     []*root
	processes map[int]*root
	held      int
}

// root is a root directory, with the files of the processes that have it.
type root struct {
	info  fs.FileInfo
	dir   *os.File // nil if it is the root directory of this process
	files map[string]*os.File
	seen  map[string]bool // the paths that were opened, or could not be
}

// Place is where the files of a process can be read while they are held.
type Place struct {
	// Root is its root directory, or "" if it is that of this process.
	Root string
	// Files has the paths at which files are that are held, by their paths in the process.
	Files map[string]string
}

// Of returns where the files of a process are.
func (f *Files) Of(pid int) Place {
	r := f.processes[pid]
	if r == nil {
		return Place{}
	}
	p := Place{Files: map[string]string{}}
	if r.dir != nil {
		p.Root = own(r.dir)
	}
	for path, file := range r.files {
		p.Files[path] = own(file)
	}
	return p
}

// own returns a path by which this process can open a file again that it has open.
func own(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// patience is for how long a file system may take to tell about the files.
const patience = 2 * time.Second

// mostBuilt is the size of all files of the user's own in bytes up to which they are kept: reading larger ones would
// take long.
const mostBuilt = 256 << 20

// ToKeep returns which files are to be kept, by their paths in the processes, or nil if none is: all, if some cannot be
// found at their paths, because they are in another root directory or were replaced or removed; else the
// user's own, because the next build replaces them, unless they are large. It returns nil if a file system does
// not answer.
func (f *Files) ToKeep(own func(path string) bool) (keep func(path string) bool) {
	answer := make(chan func(string) bool, 1)
	roots := f.roots
	go func() {
		switch {
		case elsewhere(roots):
			answer <- func(string) bool { return true }
		case areBuilt(roots, own):
			answer <- own
		default:
			answer <- nil
		}
	}()
	select {
	case keep := <-answer:
		return keep
	case <-time.After(patience):
		return nil
	}
}

// areBuilt reports whether some files are the user's own, and these are not large.
func areBuilt(roots []*root, own func(path string) bool) bool {
	size := int64(0)
	for _, r := range roots {
		for path, file := range r.files {
			if info, err := file.Stat(); err == nil && own(path) {
				size += info.Size()
			}
		}
	}
	return size > 0 && size <= mostBuilt
}

func elsewhere(roots []*root) bool {
	for _, r := range roots {
		if r.dir != nil && len(r.files) > 0 {
			return true
		}
		for path, file := range r.files {
			if !isAt(path, file) {
				return true
			}
		}
	}
	return false
}

func isAt(path string, file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return true // nothing can be read from it
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(info, other)
}

// Close closes all files.
func (f *Files) Close() {
	for _, r := range f.roots {
		if r.dir != nil {
			r.dir.Close()
		}
		for _, file := range r.files {
			file.Close()
		}
	}
	*f = Files{}
}
