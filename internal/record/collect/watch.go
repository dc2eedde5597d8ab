//go:build linux

package collect

import (
	"encoding/binary"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Watcher sends the names of files in a directory that were closed after writing, because a closed
// snapshot is complete. (The package fsnotify reports writes, not closes.)
type Watcher struct {
	file  *os.File
	names chan string
}

// Watch starts a Watcher, which the caller closes. After an error, for instance because the user's
// limit of watches is reached, the directory must be polled: Run does so without a Watcher.
func Watch(dir string) (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("inotify_add_watch", err)
	}
	w := &Watcher{file: os.NewFile(uintptr(fd), "inotify"), names: make(chan string, 256)}
	go w.read()
	return w, nil
}

// read decodes the events of inotify(7): watch descriptor, mask, cookie and length of the name,
// then the name padded with zeros.
func (w *Watcher) read() {
	defer close(w.names)
	buf := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return // closed
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			if size > len(b) {
				break
			}
			w.names <- strings.TrimRight(string(b[unix.SizeofInotifyEvent:size]), "\x00")
			b = b[size:]
		}
	}
}

// Close stops the watcher, which may be nil.
func (w *Watcher) Close() {
	if w == nil {
		return
	}
	w.file.Close()
	for range w.names { // nobody else receives them: read would wait forever
	}
}
