//go:build linux

package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/internal/record/compress"
)

// compressor compresses the snapshots of a recording. The newest snapshot of each process stays
// plain until the program has ended: the engine finds its number there after an exec, and it is the
// one that a user is likely to open. Its zero value does nothing until it is started.
type compressor struct {
	worker  *compress.Background // nil if it is not started, or after an error
	current *snapshot            // that the worker compresses, or nil
	queue   []*snapshot          // older snapshots, in order
}

// maxQueue is the length from which snapshots that were removed do not stay in the queue.
const maxQueue = 1000

// results receives the results of the worker.
func (p *compressor) results() <-chan compress.Result {
	if p.worker == nil {
		return nil
	}
	return p.worker.Results()
}

// add adds a snapshot that may be compressed while the program runs.
func (p *compressor) add(s *snapshot) {
	if p.worker == nil {
		return
	}
	if len(p.queue) >= maxQueue { // the worker is slower than the program
		p.queue = slices.DeleteFunc(p.queue, func(s *snapshot) bool { return s.dropped })
	}
	p.queue = append(p.queue, s)
	p.next()
}

// next gives the worker the next snapshot, if it has none.
func (p *compressor) next() {
	for p.current == nil && len(p.queue) > 0 {
		if s := p.queue[0]; !s.dropped {
			p.current = s
			p.worker.Add(s.Path)
		}
		p.queue = p.queue[1:]
	}
}

// stop ends the worker. Its last result is handled by the collector.
func (p *compressor) stop() {
	if p.worker != nil {
		p.worker.Stop()
	}
}

// handleCompressed uses a compressed copy of the current snapshot. After an error, such as that of
// a full disk, no more are made until the end.
func (c *Collector) handleCompressed(r compress.Result) {
	s := c.compress.current
	c.compress.current = nil
	if r.Err == nil {
		c.useCopy(s, r.Size)
	} else if !s.dropped && !errors.Is(r.Err, context.Canceled) {
		c.compress.stop()
		c.compress = compressor{}
		return
	}
	c.compress.next()
}

// useCopy replaces a snapshot with its compressed copy. It was possibly removed in the meantime:
// then the copy is not needed either.
func (c *Collector) useCopy(s *snapshot, size int64) {
	if s.dropped {
		_ = os.Remove(s.Path + compress.Suffix)
		return
	}
	_ = os.Remove(s.Path)
	c.bytes += size - s.Size
	s.compressed, s.Size = true, size
}

// compressFor is the time that the rest of the snapshots may take when the program has ended. Those
// that are left stay plain.
const compressFor = 15 * time.Second

// compressRest ends the work in the background and compresses what is left.
func (c *Collector) compressRest() {
	c.compress.stop()
	select {
	case r := <-c.compress.results():
		c.handleCompressed(r)
	default:
	}
	if c.o.NoCompress {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), compressFor)
	defer cancel()
	for _, img := range c.images() {
		for _, s := range img.series {
			if s.compressed {
				continue
			}
			size, err := compress.File(ctx, s.Path)
			if err == nil {
				c.useCopy(s, size)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				c.problem(c.compressError(err))
				return
			}
		}
	}
}

// compressError names the directory: one message is enough for all snapshots.
func (c *Collector) compressError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: some snapshots are not compressed: %w", c.o.Shown, err)
}

// stored returns the path of the file that holds the snapshot.
func (s *snapshot) stored() string {
	if s.compressed {
		return s.Path + compress.Suffix
	}
	return s.Path
}
