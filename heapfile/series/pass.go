package series

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/inorder"
)

// ErrChanged is wrapped by the error of a file that changed after [Open] read it.
var ErrChanged = errors.New("changed while it was read; run again when nothing writes it")

// All yields the snapshots in order, reading the files again with the given number of workers (0
// means one per CPU). The Samples of a snapshot are valid only until the next one is yielded. An
// error ends the sequence; a file that has other stacks or rows than before gives one that wraps
// [ErrChanged].
func (s *Series) All(workers int) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		var ids renumberings
		o := decodeOptions{workers: workers, check: s.check, births: s.hasLimit()}
		err := decodeAll(s.files, o, func(d inorder.Decoded) error {
			if d.Err != nil {
				return d.Err
			}
			snap, err := s.known(s.Heads[d.Index], d.Snapshot, ids.of(d.Worker))
			if err == nil && !yield(snap, nil) {
				err = errStopped
			}
			return err
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped ends a pass whose consumer wants no more snapshots.
var errStopped = errors.New("stopped")

// Read reads one snapshot again. A file that has other stacks or rows than before gives an error
// that wraps [ErrChanged].
func (s *Series) Read(index int) (*Snapshot, error) { return s.read(index, s.hasLimit()) }

// ReadBirths is Read, and reads when memory was allocated, too.
func (s *Series) ReadBirths(index int) (*Snapshot, error) { return s.read(index, true) }

func (s *Series) read(index int, births bool) (*Snapshot, error) {
	snap, err := s.files[index].decode(newDecoder(s.check, births))
	if err != nil {
		return nil, err
	}
	return s.known(s.Heads[index], snap, &renumbering{})
}

// known returns a snapshot that was read again, with the stacks of the series.
func (s *Series) known(head *Head, again *heapfile.Snapshot, ids *renumbering) (*Snapshot, error) {
	changed := again.Rows != head.Rows || again.Completeness.Estimate != head.Completeness.Estimate
	if !changed {
		err := ids.apply(again, head.Image, func(addrs []heapfile.Addr) (heapfile.StackID, error) {
			id, ok := s.Stacks.find(head.Image, addrs)
			if !ok {
				return 0, ErrChanged
			}
			return id, nil
		})
		changed = err != nil
	}
	if changed {
		return nil, fmt.Errorf("%s: %w", head.Path, ErrChanged)
	}
	snap := &Snapshot{Head: head, Samples: again.Samples, Births: again.Births, Stacks: s.Stacks}
	for _, w := range again.Warnings {
		if w.Kind == heapfile.WarnBirths {
			return nil, fmt.Errorf("%w: %w", w, ErrBirths)
		}
	}
	if s.hasLimit() {
		return s.older(snap)
	}
	return snap, nil
}

// scan reads all files for the first time.
func (s *Series) scan(o Options) error {
	m := merger{series: s, visit: o.Visit}
	done, all := 0, len(s.files)
	err := decodeAll(s.files, decodeOptions{workers: o.Workers, check: o.Check}, func(d inorder.Decoded) error {
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
	ids    renumberings
	files  []sourceFile // of the snapshots that were read
	// unfinished is the snapshot before, if it has no end. It counts only if another one follows.
	unfinished *pending
	// taken and rows are of the last snapshot of Go's heap that is no repetition.
	taken time.Time
	rows  []heapfile.Sample
}

// pending is a snapshot that was read but not yet accepted.
type pending struct {
	*Snapshot
	symbols []heapfile.Symbol
}

func (m *merger) deliver(d inorder.Decoded) error {
	f := m.series.files[d.Index]
	if isFatal(d.Err) {
		return d.Err
	}
	if d.Snapshot == nil {
		m.series.Problems = append(m.series.Problems, Problem{Path: f.Path, Err: d.Err, Named: f.Named})
		return nil
	}
	if err := m.flush(); err != nil {
		return err
	}
	head := &Head{Head: d.Snapshot.Head, File: f.Name, position: f.position}
	snap := &Snapshot{Head: head, Samples: d.Snapshot.Samples, Stacks: m.series.Stacks}
	space := m.spaces.next(snap.Head, d.Snapshot.Mappings)
	err := m.ids.of(d.Worker).apply(d.Snapshot, snap.Image, func(addrs []heapfile.Addr) (heapfile.StackID, error) {
		return m.series.Stacks.add(snap.Image, space, addrs), nil
	})
	if err != nil {
		return err
	}
	if m.repeats(snap) {
		m.series.repeated = append(m.series.repeated, f.Name.Seq)
		return nil
	}
	m.files = append(m.files, f)
	p := &pending{snap, d.Snapshot.Symbols}
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
		s.Symbols[Place{p.Image, sym.Addr}] = sym
	}
	s.Heads = append(s.Heads, p.Head)
	if m.visit == nil {
		return nil
	}
	return m.visit(p.Snapshot)
}

// forcedCycles is the time within which Go collects garbage at least twice, even if nothing is
// allocated (runtime/proc.go, forcegcperiod). A profile shows the heap of the last cycle but one.
const forcedCycles = 4 * time.Minute

// repeats reports whether a snapshot shows the same heap as the one before because no garbage was
// collected meanwhile, and remembers it otherwise.
func (m *merger) repeats(s *Snapshot) bool {
	if s.Format != heapfile.FormatPprof || s.Producer != "go" || s.Recorded.IsZero() {
		m.taken = time.Time{}
		return false
	}
	if !m.taken.IsZero() && s.Recorded.Sub(m.taken) <= forcedCycles && slices.Equal(m.rows, s.Samples) {
		return true
	}
	m.taken, m.rows = s.Recorded, append(m.rows[:0], s.Samples...)
	return false
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
