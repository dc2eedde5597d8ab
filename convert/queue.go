package convert

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// Queue compresses and writes files in the background, because compression takes longer than
// conversion. This is the only concurrent code in the package.
type Queue struct {
	written func(path string) error
	slots   chan struct{}
	order   chan pending
	done    chan error
	wg      sync.WaitGroup
}

type pending struct {
	path string
	err  chan error
}

// NewQueue starts a queue. written is called with the path of each file that was written, in the
// order of Put, in one goroutine. The caller must call Wait.
func NewQueue(written func(path string) error) *Queue {
	n := runtime.GOMAXPROCS(0)
	q := &Queue{
		written: written, slots: make(chan struct{}, n), order: make(chan pending, 4*n), done: make(chan error, 1),
	}
	go q.collect()
	return q
}

// Put adds a file. It replaces an existing file atomically. The content must not change after the
// call. Put blocks while too many files are pending; Wait returns the errors.
func (q *Queue) Put(path string, content io.WriterTo) {
	p := pending{path, make(chan error, 1)}
	q.slots <- struct{}{}
	q.wg.Go(func() {
		p.err <- atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
			_, err := content.WriteTo(w)
			return err
		})
		<-q.slots
	})
	q.order <- p
}

// maxErrors is the number of errors that Wait reports.
const maxErrors = 10

// collect calls written in order and collects the errors.
func (q *Queue) collect() {
	var errs []error
	for p := range q.order {
		err := <-p.err
		if err == nil {
			err = q.written(p.path)
		}
		if err != nil && len(errs) < maxErrors {
			errs = append(errs, err)
		}
	}
	q.done <- errors.Join(errs...)
}

// Wait waits until all files are written and returns the first errors. The queue cannot be used
// after it.
func (q *Queue) Wait() error {
	q.wg.Wait()
	close(q.order)
	return <-q.done
}
