//go:build linux

package record

import (
	"encoding/binary"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// watcher tells the names of files in a directory that were closed after writing. (fsnotify tells of writes only, and
// a snapshot is complete when it is closed.)
type watcher struct {
	file  *os.File
	names chan string
}

// watch starts. Where the kernel has no more watches to give the error says so, and the directory must be polled.
func watch(dir string) (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("inotify_add_watch", err)
	}
	w := &watcher{file: os.NewFile(uintptr(fd), "inotify"), names: make(chan string, 256)}
	go w.read()
	return w, nil
}

// read decodes inotify(7)'s events: watch, mask, cookie and length of the name, then the name padded with zeros.
func (w *watcher) read() {
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

func (w *watcher) close() {
	if w != nil {
		w.file.Close()
	}
}
