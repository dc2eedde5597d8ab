package series

import (
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

// decodeAll reads files in parallel and calls deliver with the outcomes in the order of the files.
// The samples of an outcome are valid until deliver returns. If deliver returns an error, decodeAll
// stops and returns it.
//
// This is the only function of the package that starts goroutines. Each worker has its own decoder;
// the workers share nothing.
func decodeAll(files []sourceFile, workers int, deliver func(decoded) error) error {
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
		wg.Go(func() { decodeWorker(w, files, tasks, spare) })
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

func decodeWorker(worker int, files []sourceFile, tasks <-chan task, spare <-chan []heapfile.Sample) {
	var d heapfile.Decoder
	for t := range tasks {
		select {
		case samples := <-spare:
			d.Reuse(samples)
		default:
		}
		snap, err := d.ReadFile(files[t.index].open, files[t.index].path)
		t.out <- decoded{t.index, worker, snap, err}
	}
}
