//go:build linux && amd64

package holders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Resident tells where the resident memory of a process is. Where a snapshot of the process is refused, the result
// has only its mappings, and the reason is in Problems. It needs the right to trace the process.
func Resident(ctx context.Context, pid int, o Options) (*rss.Result, error) {
	kernel, unread := rss.ReadKernel(pid)
	c, err := Begin(pid, o.Guard)
	var refusal *snapshot.Refusal
	switch {
	case err != nil && unread == nil && errors.As(err, &refusal):
		r := rss.Of(kernel, nil)
		r.Problems = append(r.Problems, refusal.Error())
		return r, nil
	case err != nil:
		return nil, err
	case unread != nil:
		return nil, errors.Join(unread, c.Close())
	}
	l := c.newLook()
	r, err := l.readResident(ctx, kernel, o, c.kernel)
	if early := c.snapshot.Err(); early != nil {
		err = early
	}
	return r, errors.Join(err, l.Close())
}

// readResident tells where the resident memory is. It reads of the copy only what that needs.
func (l *Look) readResident(ctx context.Context, kernel *rss.Kernel, o Options, words []uint64) (*rss.Result, error) {
	if err := l.readPages(); err != nil {
		return nil, err
	}
	if err := l.walk(); err != nil {
		return nil, err
	}
	r := l.resident(kernel)
	if isPinned(r) {
		l.addHeld(ctx, r, l.link(ctx, o, words))
	}
	return r, nil
}

// isPinned reports whether many pages are held by few blocks.
func isPinned(r *rss.Result) bool {
	return slices.ContainsFunc(r.Advice, func(a rss.Advice) bool { return a.Means == rss.Allocator })
}

// addHeld tells what holds the blocks that hold pages. err is that of reading the copy.
func (l *Look) addHeld(ctx context.Context, r *rss.Result, err error) {
	if err == nil {
		var held answer.Held
		held, err = l.held(ctx, spread(r.Malloc.Pinned.Some))
		r.Malloc.Pinned.Held = &held
	}
	if err != nil {
		r.Malloc.Pinned.Held = nil
		r.Problems = append(r.Problems, fmt.Sprintf("what holds the blocks that hold pages: %v", err))
	}
}

// addResident adds where the resident memory is.
func (l *Look) addResident(ctx context.Context, kernel *rss.Kernel, a *answer.Look) (err error) {
	r := l.resident(kernel)
	if isPinned(r) {
		l.addHeld(ctx, r, nil)
	}
	a.Resident, err = json.Marshal(r)
	return err
}

// readPages reads which pages are resident. It is called before the copy is read, which may add pages of zeros.
func (l *Look) readPages() (err error) {
	l.pages, err = rss.Resident(l.snapshot.Memory.PID, rss.PrivateMemory(l.snapshot.Mappings))
	return err
}

// resident tells where the resident pages are, of a copy whose blocks are found.
func (l *Look) resident(kernel *rss.Kernel) *rss.Result {
	s := l.snapshot
	c := rss.Copy{
		Memory: s.Memory, Mappings: s.Mappings, Missing: s.Missing, Resident: l.pages,
		Heap: l.Heap, Pools: l.pools, Engine: l.engine,
	}
	for _, t := range s.Threads {
		c.ThreadPointers = append(c.ThreadPointers, t.TLS)
	}
	for _, m := range l.process.Modules {
		c.Data = append(c.Data, roots.Data(s.Memory, s.Mappings, m)...)
	}
	for _, m := range l.process.Allocators { // also jemalloc: what it has counts as anonymous memory
		c.Allocators = append(c.Allocators, symbolize.FileName(m.Path))
	}
	return rss.Of(kernel, &c)
}
