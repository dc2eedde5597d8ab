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

// Needed reports whether some of the files cannot be found at their paths: those of another root directory, and those
// that were replaced or removed. It returns false if a file system does not answer.
func (f *Files) Needed() bool {
	needed := make(chan bool, 1)
	roots := f.roots
	go func() { needed <- elsewhere(roots) }()
	select {
	case n := <-needed:
		return n
	case <-time.After(patience):
		return false
	}
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
