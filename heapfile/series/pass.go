package series

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
)

// ErrChanged is wrapped by the error of a file that changed after [Open] read it.
var ErrChanged = errors.New("changed while it was read; run again when nothing writes it")

// All yields the snapshots in order, reading the files again with the given number of workers (0
// means one per CPU). The Samples of a snapshot are valid only until the next one is yielded. An
// error ends the sequence; if the stacks or rows of a file have changed, the error wraps
// [ErrChanged].
func (s *Series) All(workers int) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		err := s.again(0, s.files, workers, func(snap *Snapshot) error {
			if !yield(snap, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped ends a pass when its consumer stops early.
var errStopped = errors.New("stopped")

// Read reads one snapshot again. If its stacks or rows have changed, it returns an error
// that wraps [ErrChanged].
func (s *Series) Read(index int) (snap *Snapshot, err error) {
	err = s.again(index, s.files[index:index+1], 1, func(read *Snapshot) error {
		snap = &Snapshot{Head: read.Head, Samples: slices.Clone(read.Samples), Stacks: s.Stacks}
		return nil
	})
	return snap, err
}

// again reads files a further time. base is the index of the first one in the series.
func (s *Series) again(base int, files []sourceFile, workers int, visit func(*Snapshot) error) error {
	var ids []renumbering // by worker
	return decodeAll(files, workers, func(d decoded) error {
		if d.err != nil {
			return d.err
		}
		head := s.Heads[base+d.index]
		changed := fmt.Errorf("%s: %w", head.Path, ErrChanged)
		if d.snap.Rows != head.Rows || d.snap.Completeness.Estimate != head.Completeness.Estimate {
			return changed
		}
		for len(ids) <= d.worker {
			ids = append(ids, renumbering{})
		}
		err := ids[d.worker].apply(d.snap, head.Image, func(addrs []heapfile.Addr) (heapfile.StackID, error) {
			id, ok := s.Stacks.find(head.Image, addrs)
			if !ok {
				return 0, changed
			}
			return id, nil
		})
		if err != nil {
			return err
		}
		return visit(&Snapshot{Head: head, Samples: d.snap.Samples, Stacks: s.Stacks})
	})
}

// scan reads all files for the first time.
func (s *Series) scan(o Options) error {
	m := merger{series: s, visit: o.Visit}
	done, all := 0, len(s.files)
	err := decodeAll(s.files, o.Workers, func(d decoded) error {
		if done++; o.Progress != nil {
			o.Progress(done, all)
		}
		return m.deliver(d)
	})
	if err != nil {
		return err
	}
	s.Spaces = m.spaces.list
	s.files = m.files
	return m.finish()
}

// merger renumbers the stacks that the workers return, so that a series has one table of stacks.
type merger struct {
	series *Series
	visit  func(*Snapshot) error // may be nil
	spaces spaces
	ids    []renumbering // by worker
	files  []sourceFile  // of the snapshots that were read
	// unfinished is the snapshot before, if it has no end. It counts only if another one follows.
	unfinished *pending
}

// pending is a snapshot that was read but not yet accepted.
type pending struct {
	*Snapshot
	symbols []heapfile.Symbol
}

func (m *merger) deliver(d decoded) error {
	f := m.series.files[d.index]
	if d.snap == nil {
		m.series.Problems = append(m.series.Problems, Problem{Path: f.path, Err: d.err, Named: f.named})
		return nil
	}
	if err := m.flush(); err != nil {
		return err
	}
	snap := &Snapshot{Head: &Head{Head: d.snap.Head, File: f.name}, Samples: d.snap.Samples, Stacks: m.series.Stacks}
	space := m.spaces.next(snap.Head, d.snap.Mappings)
	for len(m.ids) <= d.worker {
		m.ids = append(m.ids, renumbering{})
	}
	err := m.ids[d.worker].apply(d.snap, snap.Image, func(addrs []heapfile.Addr) (heapfile.StackID, error) {
		return m.series.Stacks.add(snap.Image, space, addrs), nil
	})
	if err != nil {
		return err
	}
	m.files = append(m.files, f)
	p := &pending{snap, d.snap.Symbols}
	if snap.Completeness.Unfinished {
		snap.Samples = slices.Clone(snap.Samples)
		m.unfinished = p
		return nil
	}
	return m.accept(p)
}

func (m *merger) accept(p *pending) error {
	s := m.series
	p.Index = len(s.Heads)
	for _, sym := range p.symbols {
		s.Symbols[Place{p.Image, sym.Addr}] = sym.Names
	}
	s.Heads = append(s.Heads, p.Head)
	if m.visit == nil {
		return nil
	}
	return m.visit(p.Snapshot)
}

// flush accepts the unfinished snapshot before the one that follows it.
func (m *merger) flush() error {
	p := m.unfinished
	if p == nil {
		return nil
	}
	m.unfinished = nil
	return m.accept(p)
}

// finish decides on an unfinished snapshot at the end: it is left out, because it may still be
// written, unless it is the only one.
func (m *merger) finish() error {
	p, s := m.unfinished, m.series
	if p == nil {
		return nil
	}
	if len(s.Heads) == 0 {
		return m.flush()
	}
	s.files = s.files[:len(s.files)-1]
	s.Warnings = append(s.Warnings, heapfile.Warning{Kind: heapfile.WarnUnfinished, File: p.Path, Count: 1,
		Msg: "left out: it ends before its mappings, so it is still being written or was truncated"})
	return nil
}
