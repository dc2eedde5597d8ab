//go:build linux

package channel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/holders/samples"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/births"
	"github.com/heaplapse/heaplapse/internal/record/written"
)

// directory is where the recording goes. Files are opened below a descriptor and never through
// links: the directory may belong to another user. A name that is there already is not used.
type directory struct {
	root *os.File
	stem string // the names of all files begin with it
}

func openDirectory(prefix string) (directory, error) {
	f, err := os.OpenFile(filepath.Dir(prefix), os.O_RDONLY|unix.O_DIRECTORY, 0)
	return directory{f, filepath.Base(prefix)}, err
}

func (d directory) path(name string) string { return filepath.Join(d.root.Name(), name) }

// create makes a file that does not exist yet.
func (d directory) create(name string) (*os.File, error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(int(d.root.Fd()), name, flags, 0o644)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: d.path(name), Err: err}
	}
	return os.NewFile(uintptr(fd), d.path(name)), nil
}

func (d directory) remove(name string) { _ = unix.Unlinkat(int(d.root.Fd()), name, 0) }

func (d directory) rename(from, to string) error {
	err := unix.Renameat(int(d.root.Fd()), from, int(d.root.Fd()), to)
	if err != nil {
		return &fs.PathError{Op: "rename", Path: d.path(from), Err: err}
	}
	return nil
}

// lines is a file to which whole lines are appended. It is created when it has some.
type lines struct {
	name string
	file *os.File
	size int64
	err  error // why it could not be created
}

// add appends lines. If they do not fit, none of them is left in the file.
func (l *lines) add(d directory, text []byte) error {
	if l.file == nil && l.err == nil {
		l.file, l.err = d.create(l.name)
	}
	if l.err != nil {
		return l.err
	}
	n, err := l.file.WriteAt(text, l.size)
	if err != nil {
		_ = l.file.Truncate(l.size)
		return err
	}
	l.size += int64(n)
	return nil
}

func (l *lines) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}

// files are the files of one process image.
type files struct {
	directory
	identity
	snapshot       *os.File // that is being written, or nil
	annotated      births.Writer
	live           *births.Process // nil: not known yet
	events, frames lines
	failed         problem
}

// problem is an error of the recorder, which is added to the events as those of the engine are.
type problem struct {
	err   error // the first one
	count int
}

func newFiles(d directory, id identity) *files {
	f := &files{directory: d, identity: id}
	prefix := d.stem
	f.events.name = written.ImageName(prefix, id.pid, id.image, written.EventsSuffix)
	f.frames.name = written.ImageName(prefix, id.pid, id.image, manifest.FramesSuffix)
	return f
}

func (f *files) temporary() string { return fmt.Sprintf("%s_%d.%d.heap.tmp", f.stem, f.pid, f.image) }

// apply carries out a message of the engine.
func (f *files) apply(k kind, body []byte) error {
	switch k {
	case begin:
		f.drop()
		f.remove(f.temporary()) // of a process of this number
		var err error
		f.snapshot, err = f.create(f.temporary())
		f.annotated = births.Writer{Out: f.snapshot, Take: f.births}
		f.fail(err)
	case data:
		f.write(body)
	case commit:
		return f.finish(body)
	case abort:
		f.drop()
	case events:
		f.fail(f.events.add(f.directory, body))
	case frames:
		f.fail(f.frames.add(f.directory, body))
	default:
		return fmt.Errorf("a message of kind %d", k)
	}
	return nil
}

// half returns the number of the newest sample when half of the recording had passed, or 0 if that is not known.
func (f *files) half() uint32 {
	if f.live == nil {
		return 0
	}
	return f.live.Half(time.Now())
}

func (f *files) write(b []byte) {
	if f.snapshot == nil {
		return
	}
	if _, err := f.annotated.Write(b); err != nil {
		f.fail(err)
		f.drop()
	}
}

// births tells when the live samples of the process were allocated, or returns nil. A process that cannot be read is
// recorded without that.
func (f *files) births(period int64) *births.Births {
	if f.live == nil {
		f.live = &births.Process{Image: f.image}
		if p, err := target.Open(f.pid); err == nil {
			engine, ok := samples.EngineOf(func(name string) uint64 { return p.Engine.Symbol(name).Start })
			if ok {
				f.live.Memory, f.live.Engine = p.Memory, engine
			}
		}
	}
	if f.live.Memory == nil {
		return nil // it has ended, or is hidden
	}
	return f.live.Take(period)
}

// finish gives a snapshot its name. It returns an error if the engine's message is malformed.
func (f *files) finish(body []byte) error {
	if len(body) != 8 {
		return fmt.Errorf("a number of %d bytes", len(body))
	}
	n := binary.LittleEndian.Uint64(body)
	if n <= f.sequence {
		return fmt.Errorf("snapshot %d after snapshot %d", n, f.sequence)
	}
	f.sequence = n
	if f.snapshot == nil {
		return nil // it could not be written
	}
	err := errors.Join(f.annotated.Flush(), f.snapshot.Close())
	f.snapshot = nil
	if err == nil {
		err = f.rename(f.temporary(), fmt.Sprintf("%s_%d.%04d.heap", f.stem, f.pid, n))
	}
	if err != nil {
		f.remove(f.temporary())
	}
	f.fail(err)
	return nil
}

// drop removes the snapshot that is being written.
func (f *files) drop() {
	if f.snapshot == nil {
		return
	}
	_ = f.snapshot.Close()
	f.snapshot = nil
	f.remove(f.temporary())
}

// fail counts an error, which may be nil.
func (f *files) fail(err error) {
	if err == nil {
		return
	}
	if f.failed.count++; f.failed.err == nil {
		f.failed.err = err
	}
}

// close ends all files. If something could not be written, the events tell it; if not even they
// can, it returns the error.
func (f *files) close() error {
	f.drop()
	defer f.events.close()
	defer f.frames.close()
	if f.failed.count == 0 {
		return nil
	}
	var number unix.Errno
	errors.As(f.failed.err, &number)
	const format = `{"problem":{"kind":"write-failed","detail":"a snapshot could not be written",` +
		`"count":%d,"errno":%d}}` + "\n"
	line := fmt.Sprintf(format, f.failed.count, int(number))
	if f.events.add(f.directory, []byte(line)) != nil {
		return f.failed.err
	}
	return nil
}
