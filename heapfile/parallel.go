package heapfile

import (
	"runtime"
	"sync"
)

// decoded is the outcome of one file.
type decoded struct {
	index  int
	worker int
	snap   *Snapshot
	stacks stackView // of the worker, at the time when it had read the file
	err    error
}

// decodeAll reads files in parallel and hands the outcomes over in the order
// of the files. The samples of an outcome are valid until deliver returns. If
// deliver returns an error, reading stops with it.
//
// This is the only place of the package that runs anything concurrently. Each
// worker has a decoder of its own; they share nothing.
func decodeAll(files []sourceFile, workers int, deliver func(decoded) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(files))
	var (
		pending = make(chan chan decoded, 2*workers) // in file order
		tasks   = make(chan task)
		spare   = make(chan []Sample, 4*workers+1)
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

func deliverInOrder(pending chan chan decoded, spare chan []Sample, deliver func(decoded) error) error {
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

func decodeWorker(worker int, files []sourceFile, tasks <-chan task, spare <-chan []Sample) {
	var d decoder
	for t := range tasks {
		select {
		case d.spare = <-spare:
		default:
		}
		snap, err := d.readFile(files[t.index])
		t.out <- decoded{t.index, worker, snap, d.set.view(), err}
	}
}

func (d *decoder) readFile(f sourceFile) (*Snapshot, error) {
	src, err := openSource(f.open)
	if err != nil {
		return nil, renamed(err, f)
	}
	defer src.Close()
	s, err := d.read(src, f.path)
	if err != nil {
		return nil, err
	}
	s.File = f.name
	return s, nil
}
