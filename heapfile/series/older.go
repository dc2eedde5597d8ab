package series

import (
	"errors"
	"fmt"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
)

// ErrNoBirths is wrapped by the error of a snapshot that does not tell when its memory was allocated.
var ErrNoBirths = errors.New("does not tell when its memory was allocated: heaplapse record and attach note it, " +
	"with the builtin engine")

// OlderThan returns that of the options with which the series was opened.
func (s *Series) OlderThan() time.Duration { return s.than }

// older returns the part of a snapshot that was allocated more than a time before it, at the least: of what was
// allocated between two snapshots, the later one counts. It has no cumulative counts. Rows of which the time is not
// known, such as mappings, are left out.
func (s *Series) older(snap *Snapshot, than time.Duration) (*Snapshot, error) {
	if len(snap.Births) == 0 && snap.Completeness.Estimate.InuseBytes > 0 {
		return nil, fmt.Errorf("%s %w", snap.Path, ErrNoBirths)
	}
	if !s.Clock.Source.IsTime() {
		return nil, fmt.Errorf("%s: the times of the snapshots are not known", snap.Path)
	}
	last := s.Clock.Times[snap.Index].Add(-than)
	head := *snap.Head
	head.HasTotal, head.Completeness = false, heapfile.Completeness{}
	old := &Snapshot{Head: &head, Samples: snap.Samples[:0], Stacks: snap.Stacks}
	for i, row := range snap.Samples {
		row.Counts = heapfile.Counts{}
		for _, b := range snap.Births[i] {
			if !b.Before.After(last) {
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
