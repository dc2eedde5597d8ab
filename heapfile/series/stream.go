package series

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
func (d *discovery) addPipe(path string) error {
	arrived := d.announce(path)
	defer arrived()
	f, err := os.Open(path) // waits for a writer
	if err != nil {
		return pathError(path, err)
	}
	defer f.Close()
	return d.addStream(&stream{f, arrived}, path)
}

// addStdin copies standard input.
func (d *discovery) addStdin() error {
	const called = "standard input"
	if d.stdin == nil {
		return fmt.Errorf("%s: not available here", called)
	}
	return d.addStream(d.stdin, called)
}

// addStream copies a stream, because it is read several times.
func (d *discovery) addStream(r io.Reader, called string) error {
	copied, err := spool.New()
	if err == nil {
		d.spool = append(d.spool, copied)
		err = copied.Add(called, time.Time{}, r)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be copied: %w", called, err)
	}
	d.files = append(d.files, sourceFile{
		path: called, fs: copied, entry: called, name: filename.Name{Prefix: called, Seq: -1}, named: true,
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
func (d *discovery) announce(path string) (arrived func()) {
	if d.waiting == nil {
		return func() {}
	}
	told := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(told)
		d.waiting(path)
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-told
		}
	})
}
