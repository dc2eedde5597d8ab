package series

import (
	"errors"
	"runtime"
	"sync"

	"github.com/heaplapse/heaplapse/heapfile"
)

// decoded is the result of decoding one file.
type decoded struct {
	index  int // in the list of files
	worker int
	snap   *heapfile.Snapshot // nil on error
	err    error
}

// decodeOptions are those of [Options] that the decoders need.
type decodeOptions struct {
	workers int
	check   func(more int64) error
}

// newDecoder returns a decoder. check may be nil.
func newDecoder(check func(more int64) error) *heapfile.Decoder {
	return &heapfile.Decoder{Merge: true, Check: fatal(check)}
}

// fatal returns a check whose error ends the series, or nil.
func fatal(check func(more int64) error) func(more int64) error {
	if check == nil {
		return nil
	}
	return func(more int64) error {
		if err := check(more); err != nil {
			return &checkError{err}
		}
		return nil
	}
}

// isFatal reports whether an error ends the series.
func isFatal(err error) bool {
	var stop *checkError
	return errors.As(err, &stop)
}

// checkError is an error of [Options.Check], which ends the series. Other errors concern one file.
type checkError struct{ error }

func (e *checkError) Unwrap() error { return e.error }

// decode reads the file. Its name may have the time that its content lacks.
func (f *sourceFile) decode(d *heapfile.Decoder) (*heapfile.Snapshot, error) {
	s, err := d.ReadFile(f.fs, f.entry, f.path)
	if err == nil && s.Recorded.IsZero() {
		s.Recorded = f.name.Time
	}
	return s, err
}

// decodeAll reads files in parallel and calls deliver with the outcomes in the order of the files.
// The samples of an outcome are valid until deliver returns. If deliver returns an error, decodeAll
// stops and returns it.
//
// This is the only function of the package that starts goroutines. Each worker has its own decoder;
// the workers share nothing.
func decodeAll(files []sourceFile, o decodeOptions, deliver func(decoded) error) error {
	workers := o.workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(files))
	var (
		pending = make(chan chan decoded, 2*workers) // in file order
		tasks   = make(chan task)
		spare   = make(chan []heapfile.Sample, 4*workers+1)
		quit    = make(chan struct{})
		wg      sync.WaitGroup
	)
	for w := range workers {
		wg.Go(func() { decodeWorker(w, newDecoder(o.check), files, tasks, spare) })
	}
	wg.Go(func() {
		defer close(tasks)
		defer close(pending)
		for i := range files {
			t := task{i, make(chan decoded, 1)}
			select {
			case pending <- t.out:
			case <-quit:
				return
			}
			select {
			case tasks <- t:
			case <-quit:
				close(t.out)
				return
			}
		}
	})
	err := deliverInOrder(pending, spare, deliver)
	close(quit)
	wg.Wait()
	return err
}

type task struct {
	index int
	out   chan decoded
}

func deliverInOrder(pending chan chan decoded, spare chan []heapfile.Sample, deliver func(decoded) error) error {
	for out := range pending {
		d := <-out
		if err := deliver(d); err != nil {
			return err
		}
		if d.snap == nil {
			continue
		}
		select {
		case spare <- d.snap.Samples:
		default:
		}
	}
	return nil
}

func decodeWorker(
	worker int,
	d *heapfile.Decoder,
	files []sourceFile,
	tasks <-chan task,
	spare <-chan []heapfile.Sample,
) {
	for t := range tasks {
		select {
		case samples := <-spare:
			d.Reuse(samples)
		default:
		}
		snap, err := files[t.index].decode(d)
		t.out <- decoded{t.index, worker, snap, err}
	}
}
