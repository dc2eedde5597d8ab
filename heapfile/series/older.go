package series

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
)

// ErrNoBirths is wrapped by the error of a snapshot that does not tell when its memory was allocated.
var ErrNoBirths = errors.New("does not tell when its memory was allocated: heaplapse record and attach note it, " +
	"with the builtin engine, of up to half a million live samples")

// ErrBirths is wrapped by the error of a snapshot whose births do not agree with its rows.
var ErrBirths = errors.New("the file was changed after it was written")

var errNoTimes = errors.New("the times of the snapshots are not known")

// Ages limits which memory counts by when it was allocated. The zero value has no limit.
type Ages struct {
	// OlderThan, if not 0, leaves out what was allocated less than that before the snapshot.
	OlderThan time.Duration
	// BornAfter, if not 0, leaves out what was allocated earlier than that after the first snapshot, such as when the
	// program started.
	BornAfter time.Duration
}

// String tells which memory counts: "that was allocated more than 10m0s before"; "" if it is all.
func (a Ages) String() string {
	var limits []string
	if a.OlderThan > 0 {
		limits = append(limits, "more than "+a.OlderThan.String()+" before")
	}
	if a.BornAfter > 0 {
		limits = append(limits, "later than "+a.BornAfter.String()+" after the first snapshot")
	}
	if len(limits) == 0 {
		return ""
	}
	return "that was allocated " + strings.Join(limits, ", and ")
}

// Ages returns that of the options with which the series was opened.
func (s *Series) Ages() Ages { return s.ages }

// Moment returns the time before which the memory of a snapshot was allocated, as its births tell it: a
// moment after that of the snapshot. It is the time of the snapshot if there are no births.
func (s *Series) Moment(index int) (time.Time, error) {
	if !s.Clock.Source.IsTime() {
		return time.Time{}, fmt.Errorf("%s: %w", s.Heads[index].Path, errNoTimes)
	}
	last := s.Clock.Times[index]
	snap, err := s.ReadBirths(index)
	if err != nil {
		return last, err
	}
	if moments := snap.Moments(); len(moments) > 0 && moments[len(moments)-1].After(last) {
		last = moments[len(moments)-1]
	}
	return last, nil
}

// Moments are the times before which memory was allocated, as the births tell it, in order, each once.
func (s *Snapshot) Moments() (list []time.Time) {
	for _, births := range s.Births {
		for _, b := range births {
			list = append(list, b.Before)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return slices.CompactFunc(list, time.Time.Equal)
}

// BornBefore returns the series without what was allocated after a time: its snapshots have only what is left of the
// memory before. It has no cumulative counts. It shares all with s, of which one must be closed.
func (s *Series) BornBefore(t time.Time) *Series {
	out := *s
	out.before, out.Heads = t, nil
	for _, h := range s.Heads {
		head := *h
		head.HasAlloc = false
		out.Heads = append(out.Heads, &head)
	}
	return &out
}

// Limit is the time of BornBefore, or zero.
func (s *Series) Limit() time.Time { return s.before }

// hasLimit reports whether only memory of some ages counts.
func (s *Series) hasLimit() bool { return s.ages != Ages{} || !s.before.IsZero() }

// older returns the part of a snapshot that is certainly within the limits: of what was allocated between two
// snapshots, both count. It has no cumulative counts. Rows of which the time is not known, such as mappings, are left
// out.
func (s *Series) older(snap *Snapshot) (*Snapshot, error) {
	if s.ages == (Ages{}) && s.Clock.Source.IsTime() && !s.Clock.Times[snap.Index].After(s.before) {
		return snap, nil
	}
	if len(snap.Births) == 0 && snap.Completeness.Estimate.InuseBytes > 0 {
		return nil, fmt.Errorf("%s %w", snap.Path, ErrNoBirths)
	}
	if !s.Clock.Source.IsTime() {
		return nil, fmt.Errorf("%s: %w", snap.Path, errNoTimes)
	}
	last := s.Clock.Times[snap.Index].Add(-s.ages.OlderThan)
	if !s.before.IsZero() && s.before.Before(last) {
		last = s.before
	}
	first := s.firstAfter(snap)
	head := *snap.Head
	head.HasTotal, head.Completeness = false, heapfile.Completeness{}
	old := &Snapshot{Head: &head, Samples: snap.Samples[:0], Stacks: snap.Stacks}
	for i, row := range snap.Samples {
		row.Counts = heapfile.Counts{}
		for _, b := range snap.Births[i] {
			if !b.Before.After(last) && !b.Before.Before(first) {
				row.InuseObjects, row.InuseBytes = row.InuseObjects+b.Objects, row.InuseBytes+b.Bytes
			}
		}
		if row.Counts != (heapfile.Counts{}) {
			old.Samples = append(old.Samples, row)
			head.Completeness.Rows = head.Completeness.Rows.Add(row.Counts)
			head.Completeness.Estimate = head.Completeness.Estimate.Add(head.Estimate(row))
		}
	}
	head.Rows = len(old.Samples)
	return old, nil
}

// firstAfter returns the first moment before which no memory counts that was allocated before the limit of BornAfter:
// that after the first moment which is not before the limit.
func (s *Series) firstAfter(snap *Snapshot) (first time.Time) {
	if s.ages.BornAfter == 0 {
		return first
	}
	moments := snap.Moments()
	i, _ := slices.BinarySearchFunc(moments, s.Clock.Times[0].Add(s.ages.BornAfter), time.Time.Compare)
	if i+1 < len(moments) {
		return moments[i+1]
	}
	return s.Clock.Times[snap.Index].Add(time.Hour) // none is certainly younger
}
