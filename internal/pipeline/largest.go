package pipeline

import (
	"cmp"
	"errors"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Choice is which snapshot of a series is shown, and by which value processes are compared.
type Choice struct {
	// Index returns the index of the snapshot.
	Index func(*series.Series) (int, error)
	Value func(heapfile.Counts) int64
}

// ProcessSnapshot is a snapshot of one of several processes.
type ProcessSnapshot struct {
	series.Process
	Snapshot *series.Head // without rows
	Value    int64        // of the whole heap
}

// OpenLargest opens the series of the process that is chosen, or of the one whose snapshot has the
// largest value, and returns the index of the snapshot. If there are several processes, it also
// returns the snapshots of all of them, largest first. The caller closes the series.
func (p *Pipeline) OpenLargest(
	paths []string,
	o *Source,
	c Choice,
) (in *Input, index int, all []ProcessSnapshot, err error) {
	r, err := p.Find(paths, o)
	if err != nil {
		return nil, 0, nil, err
	}
	if o.Process == "" && len(r.Processes) > 1 {
		in, index, all, err = p.largest(r, o, c)
	} else if in, err = p.openOne(r, o, nil); err == nil {
		index, err = c.Index(in.Series)
	}
	if err != nil {
		return nil, 0, nil, errors.Join(err, r.Close())
	}
	return in, index, all, nil
}

// largest opens the processes one after another, and keeps one. Those without the snapshot are left
// out.
func (p *Pipeline) largest(
	r *Recording,
	o *Source,
	c Choice,
) (largest *Input, index int, all []ProcessSnapshot, err error) {
	p.tellProblems(r.Problems, o.Strict)
	p.tellList(r.Warnings, o.Strict)
	p = p.once()
	var most int64
	var none error // the first reason why a process is left out
	for _, process := range r.mainFirst() {
		in, err := p.openProcess(r, process, o, nil)
		var unusable *series.UnusableError
		if errors.As(err, &unusable) {
			p.tellProblems(unusable.Problems, o.Strict)
			none = cmp.Or(none, err)
			continue
		}
		if err != nil {
			return nil, 0, nil, err
		}
		i, err := c.Index(in.Series)
		if err != nil {
			none = cmp.Or(none, err)
			continue
		}
		value := c.Value(in.Heads[i].Heap())
		all = append(all, ProcessSnapshot{Process: in.Process, Snapshot: in.Heads[i], Value: value})
		if largest == nil || value > most {
			largest, index, most = in, i, value
		}
	}
	if largest == nil {
		return nil, 0, nil, none
	}
	slices.SortStableFunc(all, func(a, b ProcessSnapshot) int { return cmp.Compare(b.Value, a.Value) })
	return largest, index, all, nil
}
