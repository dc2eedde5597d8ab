package pprofui

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"
)

// unusable makes a path that no system can open.
const unusable = "\x00"

// maxPath is the longest path of a file that Linux opens, in bytes.
const maxPath = 4096

// sources are the source files below a directory.
type sources struct {
	root *os.Root
	dir  string // without symbolic links
}

func openSources(dir string) (*sources, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	return &sources{root, dir}, err
}

func (s *sources) close() { _ = s.root.Close() }

// confine returns a profile whose functions name only files below the directory. pprof reads what
// they name. p may be nil.
func (s *sources) confine(p *profile.Profile) *profile.Profile {
	if p == nil {
		return nil
	}
	p = p.Copy()
	for _, f := range p.Function {
		f.Filename = s.find(f.Filename)
	}
	return p
}

// find returns the path of a source file below the directory: the file itself or, because the
// directory may have been elsewhere when the program was compiled, the longest end of its path that
// exists there. If there is none, the result is a name that cannot be opened.
func (s *sources) find(name string) string {
	rest := s.relative(name)
	if len(rest) > maxPath {
		rest = ""
	}
	for rest != "" {
		if filepath.IsLocal(rest) && s.isRegular(rest) {
			return filepath.Join(s.dir, rest)
		}
		_, rest, _ = strings.Cut(rest, "/")
	}
	return fmt.Sprintf("%s, not found below %s%s", name, s.dir, unusable)
}

// relative returns a path below the directory, without the directory.
func (s *sources) relative(name string) string {
	if rest, ok := strings.CutPrefix(name, s.dir+"/"); ok {
		return rest
	}
	return strings.TrimLeft(name, "/")
}

// isRegular reports whether a name leads to a regular file within the directory. It follows no
// symbolic link out of it.
func (s *sources) isRegular(name string) bool {
	info, err := s.root.Stat(name)
	return err == nil && info.Mode().Type() == fs.FileMode(0)
}
