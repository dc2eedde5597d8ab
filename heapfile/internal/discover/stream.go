package discover

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/internal/spool"
)

// addPipe copies a pipe, such as a shell's <(…), which can be read only once.
func (d *Finder) addPipe(path string) error {
	arrived := d.announce(path)
	defer arrived()
	f, err := os.Open(path) // waits for a writer
	if err != nil {
		return ReadError(path, err)
	}
	defer f.Close()
	return d.addStream(&stream{f, arrived}, path)
}

// addStdin copies standard input.
func (d *Finder) addStdin() error {
	const called = "standard input"
	if d.Stdin == nil {
		return fmt.Errorf("%s: not available here", called)
	}
	return d.addStream(d.Stdin, called)
}

// addStream copies a stream, because it is read several times.
func (d *Finder) addStream(r io.Reader, called string) error {
	copied, err := spool.New()
	if err == nil {
		d.Spool = append(d.Spool, copied)
		err = copied.Add(called, time.Time{}, r)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be copied: %w", called, err)
	}
	d.Files = append(d.Files, File{
		Path: called, FS: copied, Entry: called, Name: filename.Name{Prefix: called, Seq: -1}, Named: true,
	})
	return nil
}

// stream calls a function when something has been read.
type stream struct {
	io.Reader
	arrived func()
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.arrived()
	return n, err
}

// patience is the time after which the user is told what is waited for.
const patience = time.Second

// announce tells the caller of the package that a pipe is waited for, unless the function that it
// returns is called soon.
func (d *Finder) announce(path string) (arrived func()) {
	if d.Waiting == nil {
		return func() {}
	}
	told := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(told)
		d.Waiting(path)
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-told
		}
	})
}
