package convert

import (
	"fmt"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Options say what goes into profiles. The zero value works.
type Options struct {
	// Tool names the producer in the profile's comments, e.g. "heaplapse 1.0".
	Tool string
	// Filter keeps some stacks; nil keeps all.
	Filter *symbolize.Filter
	// KeepAllocatorFrames keeps the frames of the recording allocator at the leaf (tcmalloc
	// 2.17 and later, jemalloc), which stand on every stack.
	KeepAllocatorFrames bool
	// MaxSamples limits the samples of a profile: the smallest are folded into one, so
	// that totals stay. 0 is no limit.
	MaxSamples int
}

// Converter makes the profiles of one series. It is not safe for concurrent use.
type Converter struct {
	o        Options
	series   *series.Series
	symbols  *symbolize.Symbols
	hasAlloc bool
	tables   *tables
	index    map[heapfile.StackID]int
}

// New makes a Converter.
func New(series *series.Series, symbols *symbolize.Symbols, o Options) (*Converter, error) {
	c := &Converter{o: o, series: series, symbols: symbols, hasAlloc: true, index: map[heapfile.StackID]int{}}
	for _, h := range series.Heads {
		c.hasAlloc = c.hasAlloc && h.HasAlloc
	}
	var err error
	c.tables, err = newTables(c)
	return c, err
}

// HasAlloc says whether the profiles have all four sample types, or only the in-use ones because
// some snapshot of the series has no cumulative counts.
func (c *Converter) HasAlloc() bool { return c.hasAlloc }

// Samples are the samples of one profile: what a snapshot says of each stack, estimated and
// summed by stack.
type Samples struct {
	Head *series.Head
	rows []sample
	// folded are the samples that MaxSamples made one of, and their sum.
	folded int
	other  heapfile.Counts
	notes  []string
}

type sample struct {
	stack heapfile.StackID
	heapfile.Counts
}

// Samples sums a snapshot's rows by stack: a stack may stand on many rows. It fails if the sum
// is not that of the snapshot, which conversion may never change.
func (c *Converter) Samples(s *series.Snapshot) (*Samples, error) {
	out := &Samples{Head: s.Head, rows: make([]sample, 0, len(s.Samples))}
	clear(c.index)
	for _, row := range s.Samples {
		if !c.o.Filter.Keep(row.Stack) {
			continue
		}
		e := row.Estimate(s.Period)
		i, ok := c.index[row.Stack]
		if !ok {
			i = len(out.rows)
			c.index[row.Stack] = i
			out.rows = append(out.rows, sample{stack: row.Stack})
		}
		out.rows[i].Counts = out.rows[i].Add(e)
	}
	if got, want := out.sum(), s.Completeness.Estimate; c.o.Filter == nil && got != want {
		return nil, fmt.Errorf("%s: the sum of the samples is %v, that of the rows %v", s.Path, got, want)
	}
	return out, nil
}

func (s *Samples) sum() (c heapfile.Counts) {
	for _, r := range s.rows {
		c = c.Add(r.Counts)
	}
	return c.Add(s.other)
}

// Since is what changed since another snapshot of the series, nil if there is none. Stacks that did not change are left out.
func (s *Samples) Since(before *Samples) *Samples {
	if before == nil {
		return nil
	}
	out := &Samples{Head: s.Head, notes: []string{"what changed since " + before.Head.Path}}
	index := map[heapfile.StackID]int{}
	for _, r := range s.rows {
		index[r.stack] = len(out.rows)
		out.rows = append(out.rows, r)
	}
	for _, r := range before.rows {
		i, ok := index[r.stack]
		if !ok {
			i = len(out.rows)
			out.rows = append(out.rows, sample{stack: r.stack})
		}
		out.rows[i].Counts = out.rows[i].Sub(r.Counts)
	}
	changed := out.rows[:0]
	for _, r := range out.rows {
		if r.Counts != (heapfile.Counts{}) {
			changed = append(changed, r)
		}
	}
	out.rows = changed
	return out
}
