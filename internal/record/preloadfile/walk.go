//go:build linux

package preloadfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Check returns an error if a user other than root and the user of this process can change or
// replace a file: if another user owns it, a symbolic link or a directory on its path, or may write
// to one of them. A directory with the sticky bit may be writable, because only the owner of an
// entry can replace it.
func Check(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	end, err := walker{}.walk(path)
	if err != nil {
		return err
	}
	defer end.close()
	if end.stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%s is not a regular file", end.path)
	}
	return nil
}

// walker follows a path from the root directory, one component at a time.
type walker struct {
	// create, if not 0, is the mode of directories that walk creates if they are missing. The umask
	// does not apply to them.
	create uint32
}

// place is an open file. path has no symbolic links.
type place struct {
	fd   int
	path string
	stat unix.Stat_t
}

func (p *place) close() { _ = unix.Close(p.fd) }

// maxLinks is the number of symbolic links that are followed, as in Linux.
const maxLinks = 40

// walk opens the file at an absolute path. It returns an error if another user can replace it.
func (w walker) walk(path string) (*place, error) {
	for range maxLinks {
		end, next, err := w.descend(path)
		if err != nil || next == "" {
			return end, err
		}
		path = next
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
}

// descend walks to the end of the path, or to its first symbolic link: then next is the path with
// the link replaced by its target.
func (w walker) descend(path string) (end *place, next string, err error) {
	at, err := open(unix.AT_FDCWD, "/", "/")
	if err != nil {
		return nil, "", err
	}
	for rest := strings.Trim(filepath.Clean(path), "/"); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		entry, err := w.enter(at, name)
		if err != nil {
			at.close()
			return nil, "", err
		}
		if entry.stat.Mode&unix.S_IFMT == unix.S_IFLNK {
			next, err = entry.target(at.path, rest)
			entry.close()
			at.close()
			return nil, next, err
		}
		at.close()
		at = entry
	}
	return at, "", nil
}

// enter opens an entry of a directory, which it creates if necessary.
func (w walker) enter(dir *place, name string) (*place, error) {
	path := filepath.Join(dir.path, name)
	entry, err := open(dir.fd, name, path)
	if w.create == 0 || !errors.Is(err, unix.ENOENT) {
		return entry, err
	}
	if err := unix.Mkdirat(dir.fd, name, w.create); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, &os.PathError{Op: "mkdir", Path: path, Err: err}
	}
	if entry, err = open(dir.fd, name, path); err != nil {
		return nil, err
	}
	if err := unix.Fchmodat(dir.fd, name, w.create, 0); err != nil {
		entry.close()
		return nil, &os.PathError{Op: "chmod", Path: path, Err: err}
	}
	return entry, nil
}

// open opens a file for its properties, or a symbolic link itself. It returns an error if another
// user can change the file.
func open(dir int, name, path string) (*place, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	p := &place{fd: fd, path: path}
	if err = unix.Fstat(fd, &p.stat); err == nil {
		err = p.trusted()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// trusted returns an error if a user other than root and the user of this process can change a
// file, or replace an entry of a directory.
func (p *place) trusted() error {
	if p.stat.Uid != 0 && p.stat.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%s belongs to user %d", p.path, p.stat.Uid)
	}
	kind := p.stat.Mode & unix.S_IFMT
	shared := kind == unix.S_IFDIR && p.stat.Mode&unix.S_ISVTX != 0
	if kind != unix.S_IFLNK && !shared {
		return p.private()
	}
	return nil
}

// private returns an error if others may write to a file.
func (p *place) private() error {
	if p.stat.Mode&0o022 != 0 {
		return fmt.Errorf("%s can be written by other users (mode %#o)", p.path, p.stat.Mode&0o7777)
	}
	return nil
}

// target returns the path to which a symbolic link in a directory leads, followed by rest.
func (p *place) target(dir, rest string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(p.fd, "", buf)
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: p.path, Err: err}
	}
	to := string(buf[:n])
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return filepath.Join(to, rest), nil
}
