//go:build linux && amd64

package holders

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/jemalloc"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/symbolize"
)

// walkJemalloc finds the blocks of jemalloc, which may be in any module: programs in Rust have it under other names.
func (l *Look) walkJemalloc(anonymous []blocks.Range) {
	s := l.snapshot
	threads := roots.Process{Memory: s.Memory, Mappings: s.Mappings, Threads: s.Threads, Musl: l.process.Musl}
	l.whole = &blocks.Set{}
	for _, m := range l.process.Modules {
		data := roots.Data(s.Memory, s.Mappings, m)
		if m == l.process.Engine || !jemalloc.HasRoom(data) {
			continue
		}
		p := jemalloc.Process{Memory: s.Memory, Data: data, Anonymous: anonymous, Resident: s.Resident}
		for i, local := range roots.Local(threads, m) {
			p.Threads = append(p.Threads, jemalloc.Thread{Pointer: s.Threads[i].TLS, Local: local})
		}
		r, err := jemalloc.Walk(p, l.whole)
		switch {
		case errors.Is(err, jemalloc.ErrNoTree):
			continue
		case err == nil:
			l.jemalloc, l.own = append(l.jemalloc, m.Path), append(l.own, r.Own...)
			l.addProblems(m.Path, r.Problems)
		default:
			l.addProblems(m.Path, []error{err})
		}
	}
}

// addProblems adds what does not fit in the memory of an allocator.
func (l *Look) addProblems(path string, problems []error) {
	for _, p := range problems {
		l.problems = append(l.problems, fmt.Errorf("%s: %w", symbolize.FileName(path), p))
	}
}

// without returns the parts of ranges that have no blocks of a set.
func without(list []blocks.Range, set *blocks.Set) (rest []blocks.Range) {
	for _, r := range list {
		rest = append(rest, set.Gaps(r)...)
	}
	return rest
}

// join returns the blocks of two sets.
func join(a, b *blocks.Set) (*blocks.Set, error) {
	if len(b.Regions()) == 0 {
		return a, nil
	}
	both := &blocks.Set{}
	for _, r := range slices.Concat(a.Regions(), b.Regions()) {
		if err := both.Add(r); err != nil {
			return nil, err
		}
	}
	return both, nil
}

// unknownAllocators lists the files that define malloc, and whose blocks are not known.
func (l *Look) unknownAllocators() (paths []string) {
	for _, m := range l.process.Allocators {
		if !slices.Contains(l.jemalloc, m.Path) {
			paths = append(paths, m.Path)
		}
	}
	return paths
}
