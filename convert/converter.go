package convert

import (
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Options selects the contents of profiles. The zero value is valid.
type Options struct {
	// Tool is the name and version of the program that writes the profiles, such as "heaplapse
	// 1.0". It appears in the comments of each profile.
	Tool string
	// Filter selects stacks. Nil selects all.
	Filter *symbolize.Filter
	// KeepAllocatorFrames keeps the leaf frames of the recording allocator, which every stack of
	// jemalloc and of tcmalloc 2.17 and later has. By default they are removed.
	KeepAllocatorFrames bool
	// MaxSamples is the maximum number of samples in one profile. The smallest samples above the
	// limit are folded into one, so the totals do not change. 0 means no limit.
	MaxSamples int
}

// Converter builds the profiles of one series. It is not safe for concurrent use.
type Converter struct {
	o       Options
	series  *series.Series
	symbols *symbolize.Symbols
	types   []SampleType
	tables  *tables
	index   map[heapfile.StackID]int // position of each stack in Samples.rows; reused by Samples
}

// New returns a Converter for a series. The symbols must be those that [symbolize.Resolve] returned
// for the same series.
func New(series *series.Series, symbols *symbolize.Symbols, o Options) (*Converter, error) {
	c := &Converter{
		o: o, series: series, symbols: symbols, index: map[heapfile.StackID]int{},
	}
	c.types = sampleTypes(series.Heads)
	var err error
	c.tables, err = newTables(c)
	return c, err
}

// Has reports whether the profiles have a sample type. If a snapshot of the series has no
// cumulative counts, or does not count objects, no profile of the series has these types.
func (c *Converter) Has(t SampleType) bool { return slices.Contains(c.types, t) }

// Samples holds the samples of one profile: one per stack. Values are estimates of the process's
// totals ([heapfile.Sample.Estimate]), in objects and bytes. A difference may have negative values.
type Samples struct {
	Head   *series.Head
	rows   []sample
	folded int             // number of samples that were folded into one
	other  heapfile.Counts // the sum of those samples
	notes  []string
}

type sample struct {
	stack heapfile.StackID
	heapfile.Counts
}

// Samples sums the rows of a snapshot by stack. A snapshot may have several rows for one stack.
// Without a filter, Samples returns an error if the sum of the samples differs from the estimate in
// s.Completeness: conversion must not change totals.
func (c *Converter) Samples(s *series.Snapshot) (*Samples, error) {
	out := &Samples{Head: s.Head, rows: make([]sample, 0, len(s.Samples))}
	clear(c.index)
	for _, row := range s.Samples {
		if !c.o.Filter.Keep(row.Stack) {
			continue
		}
		e := s.Estimate(row)
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

// Only returns the samples of the stacks for which keep returns true.
func (s *Samples) Only(keep func(heapfile.StackID) bool) *Samples {
	out := &Samples{Head: s.Head}
	for _, r := range s.rows {
		if keep(r.stack) {
			out.rows = append(out.rows, r)
		}
	}
	return out
}

func (s *Samples) sum() (c heapfile.Counts) {
	for _, r := range s.rows {
		c = c.Add(r.Counts)
	}
	return c.Add(s.other)
}

// Since returns the differences s − before, by stack. Both must come from the same Converter.
// Stacks that did not change are omitted. Since returns nil if before is nil.
func (s *Samples) Since(before *Samples) *Samples {
	if before == nil {
		return nil
	}
	out := &Samples{Head: s.Head, notes: []string{"changes since " + before.Head.Path}}
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
