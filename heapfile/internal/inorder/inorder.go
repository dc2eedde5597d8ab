// Package inorder decodes snapshots in parallel, and delivers them in the order of their files.
package inorder

import (
	"runtime"
	"sync"

	"github.com/heaplapse/heaplapse/heapfile"
)

// Files are the files of snapshots.
type Files struct {
	// Len is their number.
	Len int
	// Workers is the number of files to decode at once; 0 means one per CPU.
	Workers int
	// NewDecoder returns the decoder of a worker. The workers share nothing.
	NewDecoder func() *heapfile.Decoder
	// Read decodes one file.
	Read func(index int, d *heapfile.Decoder) (*heapfile.Snapshot, error)
}

// Decoded is the result of decoding one file.
type Decoded struct {
	Index    int
	Worker   int
	Snapshot *heapfile.Snapshot // nil on error
	Err      error
}

// Decode decodes all files, and calls deliver with the results in order. The samples of a result
// are valid until deliver returns. If deliver returns an error, Decode stops and returns it.
func (f *Files) Decode(deliver func(Decoded) error) error {
	workers := f.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, f.Len)
	var (
		pending = make(chan chan Decoded, 2*workers) // in file order
		tasks   = make(chan task)
		spare   = make(chan []heapfile.Sample, 4*workers+1)
		quit    = make(chan struct{})
		wg      sync.WaitGroup
	)
	for w := range workers {
		wg.Go(func() { f.work(w, tasks, spare) })
	}
	wg.Go(func() {
		defer close(tasks)
		defer close(pending)
		for i := range f.Len {
			t := task{i, make(chan Decoded, 1)}
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
	err := deliverAll(pending, spare, deliver)
	close(quit)
	wg.Wait()
	return err
}

type task struct {
	index int
	out   chan Decoded
}

// deliverAll gives the memory of delivered samples to the workers.
func deliverAll(pending chan chan Decoded, spare chan []heapfile.Sample, deliver func(Decoded) error) error {
	for out := range pending {
		d := <-out
		if err := deliver(d); err != nil {
			return err
		}
		if d.Snapshot == nil {
			continue
		}
		select {
		case spare <- d.Snapshot.Samples:
		default:
		}
	}
	return nil
}

func (f *Files) work(worker int, tasks <-chan task, spare <-chan []heapfile.Sample) {
	d := f.NewDecoder()
	for t := range tasks {
		select {
		case samples := <-spare:
			d.Reuse(samples)
		default:
		}
		snap, err := f.Read(t.index, d)
		t.out <- Decoded{t.index, worker, snap, err}
	}
}
