//go:build linux

package preloadfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// Separators are the characters that a path in LD_PRELOAD cannot contain: those that end it in
// glibc and musl, and $, which begins a variable of the loader.
const Separators = " \t\n\v\f\r:$"

// Write stores a shared object and returns its path, which LD_PRELOAD can contain. The file name is
// that given, with a hash of the content before its extension, so that versions do not replace each
// other. An object that is stored already is not written again. The file is kept: programs may load
// it after the recorder has ended. If the usual directories are read-only, it is stored below one
// of the others. An object that root has stored for all users, for example in the image of a
// container, is used first.
func Write(name string, object []byte, others ...string) (string, error) {
	list := places()
	for _, dir := range others {
		list = append(list, candidate{dir, ownName(), os.Geteuid() == 0})
	}
	if path, err := forAll.find(name, object); err == nil {
		return path, nil
	}
	return writeTo(list, name, object)
}

// ownName is the name of the directory for objects where other users may have one.
func ownName() string { return fmt.Sprintf("heaplapse-preload-%d", os.Geteuid()) }

// candidate is a directory in which a directory for the objects is made.
type candidate struct {
	dir string
	own string // path of the directory to make, relative to dir
	all bool   // programs of all users can read it
}

const own = "heaplapse/preload"

// forAll is where root stores objects for programs of all users.
var forAll = candidate{"/var/cache", own, true}

// places returns the directories to try, best first.
func places() []candidate {
	var out []candidate
	if os.Geteuid() == 0 {
		out = append(out, forAll, candidate{"/run", own, true})
	}
	if dir, err := os.UserCacheDir(); err == nil {
		out = append(out, candidate{dir: dir, own: own})
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		out = append(out, candidate{dir: dir, own: own})
	}
	return append(out, candidate{dir: os.TempDir(), own: ownName()})
}

// writeTo stores an object in the first suitable directory.
func writeTo(places []candidate, name string, object []byte) (string, error) {
	var reasons unsuitable
	for _, c := range places {
		path, err := c.write(name, object)
		if err == nil {
			return path, nil
		}
		reasons = append(reasons, err)
	}
	return "", reasons
}

// unsuitable has the reasons why each of the directories was passed over.
type unsuitable []error

func (u unsuitable) Unwrap() []error { return u }

func (u unsuitable) Error() string {
	texts := strings.ReplaceAll(errors.Join(u...).Error(), "\n", "; ")
	return "no directory is suitable for a preloaded library (" + texts + "): " +
		"set XDG_CACHE_HOME to a directory that no other user can write to"
}

// find returns the path of an object that is stored already.
func (c candidate) find(name string, object []byte) (string, error) {
	dir, err := walker{}.walk(filepath.Join(c.dir, c.own))
	if err != nil {
		return "", err
	}
	defer dir.close()
	if err := dir.suitable(); err != nil {
		return "", err
	}
	name = versioned(name, object)
	return filepath.Join(dir.path, name), c.holds(dir, name, object)
}

// versioned adds a hash of the content to a file name.
func versioned(name string, object []byte) string {
	sum := sha256.Sum256(object)
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
}

func (c candidate) write(name string, object []byte) (string, error) {
	dir, err := c.open()
	if err != nil {
		return "", err
	}
	defer dir.close()
	name = versioned(name, object)
	path := filepath.Join(dir.path, name)
	if c.holds(dir, name, object) == nil {
		return path, nil
	}
	// No other user can change the directory or its path, so paths are as safe as descriptors here.
	err = atomicfile.Write(path, atomicfile.Options{Mode: c.mode(0o644)}, func(w io.Writer) error {
		_, err := w.Write(object)
		return err
	})
	if err == nil {
		err = c.holds(dir, name, object)
	}
	return path, err
}

// mode returns the permission bits, without those of others if only this user reads the objects.
func (c candidate) mode(bits os.FileMode) os.FileMode {
	if c.all {
		return bits
	}
	return bits &^ 0o077
}

// open opens the directory for the objects, and makes it if necessary. It returns an error if the
// directory is not suitable.
func (c candidate) open() (*place, error) {
	dir, err := walker{create: uint32(c.mode(0o755))}.walk(filepath.Join(c.dir, c.own))
	if err != nil {
		return nil, err
	}
	if err := dir.suitable(); err != nil {
		dir.close()
		return nil, err
	}
	return dir, nil
}

// suitable returns an error if objects cannot be loaded from a directory, or if others can write to
// it.
func (p *place) suitable() error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(p.fd, &fs); err != nil {
		return &os.PathError{Op: "statfs", Path: p.path, Err: err}
	}
	switch {
	case fs.Flags&unix.ST_NOEXEC != 0:
		return fmt.Errorf("%s is on a file system that is mounted noexec", p.path)
	case strings.ContainsAny(p.path, Separators):
		return fmt.Errorf("%s has a character that LD_PRELOAD does not support", p.path)
	}
	return p.private()
}

// errOther reports that a file does not contain the object.
var errOther = errors.New("another process has changed the file")

// holds returns an error if the directory does not have a file of this name with this content, or
// if it is not one that this package writes.
func (c candidate) holds(dir *place, name string, object []byte) error {
	fd, err := unix.Openat(dir.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	path := filepath.Join(dir.path, name)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	file := place{fd: fd, path: path}
	if err := unix.Fstat(fd, &file.stat); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if err := file.trusted(); err != nil {
		return err
	}
	readable := uint32(c.mode(0o444))
	content, err := io.ReadAll(io.LimitReader(f, int64(len(object))+1))
	switch {
	case err != nil:
		return err
	case file.stat.Mode&(unix.S_IFMT|readable) != unix.S_IFREG|readable || !bytes.Equal(content, object):
		return fmt.Errorf("%s: %w", path, errOther)
	}
	return nil
}
