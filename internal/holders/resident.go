//go:build linux && amd64

package holders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/pymalloc"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Resident tells where the resident memory of a process is. Where a snapshot of the process is refused, the result
// has only its mappings, and the reason is in Problems. It needs the right to trace the process.
func Resident(ctx context.Context, pid int, o Options) (*rss.Result, error) {
	kernel, unread := rss.ReadKernel(pid)
	c, err := Begin(pid)
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
	r, err := residentOf(c.snapshot, kernel)
	if err == nil && isPinned(r) {
		l := &Look{snapshot: c.snapshot, taken: c.taken}
		l.addHeld(ctx, r, l.read(o, c.kernel))
	}
	if early := c.snapshot.Err(); early != nil {
		err = early
	}
	return r, errors.Join(err, c.Close())
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
func (l *Look) addResident(ctx context.Context, kernel *rss.Kernel, a *answer.Look) error {
	r, err := residentOf(l.snapshot, kernel)
	if err != nil {
		return err
	}
	if isPinned(r) {
		l.addHeld(ctx, r, nil)
	}
	a.Resident, err = json.Marshal(r)
	return err
}

func residentOf(s *snapshot.Snapshot, kernel *rss.Kernel) (*rss.Result, error) {
	// That of the copy is the same. Reading that of the process would make pages of files resident.
	process, err := target.Open(s.Memory.PID)
	if err != nil {
		return nil, err
	}
	c := rss.Copy{Memory: s.Memory, Mappings: s.Mappings, Missing: s.Missing}
	if c.Resident, err = rss.Resident(s.Memory.PID, rss.PrivateMemory(s.Mappings)); err != nil {
		return nil, err
	}
	for _, t := range s.Threads {
		c.ThreadPointers = append(c.ThreadPointers, t.TLS)
	}
	for _, m := range process.Modules {
		c.Data = append(c.Data, roots.Data(s.Memory, s.Mappings, m)...)
	}
	for _, m := range process.Allocators {
		c.Allocators = append(c.Allocators, symbolize.FileName(m.Path))
	}
	if c.Engine, err = (&Look{snapshot: s, process: process}).readSamples(); err != nil {
		return nil, err
	}
	if err := walk(s, process, &c); err != nil {
		return nil, err
	}
	return rss.Of(kernel, &c), nil
}

// walk finds the blocks of malloc and of CPython.
func walk(s *snapshot.Snapshot, process *target.Process, c *rss.Copy) (err error) {
	if process.Libc == nil {
		return nil
	}
	p := glibc.ProcessOf(s.Memory, s.Mappings, process.Libc.Path)
	p.Resident = s.Resident
	set := &blocks.Set{}
	switch c.Heap, err = glibc.Walk(p); {
	case errors.Is(err, glibc.ErrNoArena):
	case err != nil:
		return err
	default:
		set = &c.Heap.Blocks
	}
	c.Pools, err = pymalloc.Walk(pymalloc.Process{Memory: s.Memory, Anonymous: p.Anonymous, Resident: s.Resident}, set)
	return err
}
