// Package source finds and reads the source files that debug information names.
//
// A snapshot may name any file, and what shows its lines may be sent to others. So only files below
// one directory are found.
package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxPath is the longest path of a file that Linux opens, in bytes.
const maxPath = 4096

// Dir is the files below a directory.
type Dir struct {
	root *os.Root
	path string // without symbolic links
}

// Open opens a directory. The caller closes it.
func Open(dir string) (*Dir, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Dir{root, dir}, nil
}

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Path is the absolute path of the directory, without symbolic links.
func (d *Dir) Path() string { return d.path }

// Find returns the path of a source file, relative to the directory: of the file itself or, because
// the directory may have been elsewhere when the program was compiled, of the longest end of its
// path that exists there. It follows no symbolic link out of the directory. ok is false if there is
// none.
func (d *Dir) Find(name string) (relative string, ok bool) {
	rest := strings.TrimLeft(name, "/")
	if inside, ok := strings.CutPrefix(name, strings.TrimSuffix(d.path, "/")+"/"); ok {
		rest = inside
	}
	if len(rest) > maxPath {
		return "", false
	}
	for rest != "" {
		if filepath.IsLocal(rest) && d.isRegular(rest) {
			return rest, true
		}
		_, rest, _ = strings.Cut(rest, "/")
	}
	return "", false
}

// isRegular reports whether a name leads to a regular file within the directory.
func (d *Dir) isRegular(name string) bool {
	info, err := d.root.Stat(name)
	return err == nil && info.Mode().Type() == fs.FileMode(0)
}
