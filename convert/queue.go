package convert

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// Queue writes files beside the conversion, for compressing them takes longer. This is the only place
// of the package that runs anything concurrently.
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

// NewQueue starts a queue; written is called for each file that was written, in the order of Put.
func NewQueue(written func(path string) error) *Queue {
	n := runtime.GOMAXPROCS(0)
	q := &Queue{written: written, slots: make(chan struct{}, n), order: make(chan pending, 4*n), done: make(chan error, 1)}
	go q.collect()
	return q
}

// Put takes a file's content, which must not change any more. Errors come out of Wait.
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

func (q *Queue) collect() {
	var errs []error
	for p := range q.order {
		err := <-p.err
		if err == nil {
			err = q.written(p.path)
		}
		if err != nil && len(errs) < 10 {
			errs = append(errs, err)
		}
	}
	q.done <- errors.Join(errs...)
}

// Wait ends the queue when all files are written.
func (q *Queue) Wait() error {
	q.wg.Wait()
	close(q.order)
	return <-q.done
}
