package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Comparison is what is compared.
type Comparison struct {
	// Base and Current are the paths of the snapshots, of which the last ones without those of an exit are compared.
	Base, Current string
	// BaseSource is that of Base. The process of Source may name one of each, as in "4711,4712".
	BaseSource, Source *Source
	// BornBefore, if not nil, returns the time before which memory must have been allocated to count. index is that of
	// the base snapshot.
	BornBefore func(base, current *series.Series, index int) (time.Time, error)
	compare.Options
}

// Compare compares two snapshots.
func (p *Pipeline) Compare(ctx context.Context, c *Comparison) (*compare.Comparison, error) {
	of := processesOf(c.Source.Process)
	p = p.unusedByBoth()
	current, err := p.openNamed(ctx, c.Current, c.Source.of(of[1]))
	if err != nil {
		return nil, err
	}
	defer current.Close()
	base, err := p.openNamed(ctx, c.Base, c.BaseSource.of(of[0]))
	if err != nil {
		return nil, err
	}
	defer base.Close()
	var limit time.Time
	if c.BornBefore != nil {
		if limit, err = c.BornBefore(base.Series, current.Series, p.last(base)); err != nil {
			return nil, err
		}
	}
	baseSide, err := p.side(base, limit)
	if err != nil {
		return nil, err
	}
	currentSide, err := p.side(current, limit)
	if err != nil {
		return nil, err
	}
	if baseSide.Empty() && currentSide.Empty() {
		return nil, ErrNothingKept
	}
	return compare.Snapshots(baseSide, currentSide, c.Options), nil
}

// openNamed opens the series at a path, and names its addresses. The caller closes it.
func (p *Pipeline) openNamed(ctx context.Context, path string, o *Source) (*Input, error) {
	in, err := p.openSide(path, o)
	if err != nil {
		return nil, err
	}
	if err := p.Name(ctx, in, o); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// side reads the last snapshot of a series: what was allocated before a time, unless that is zero.
func (p *Pipeline) side(in *Input, bornBefore time.Time) (*compare.Side, error) {
	s := in.Series
	if !bornBefore.IsZero() {
		s = s.BornBefore(bornBefore)
	}
	return compare.NewSide(s, in.Symbols, p.last(in), in.Filter)
}

// SideError is the error of a process that one of two paths does not have. A process may be named
// for each.
type SideError struct{ error }

func (e *SideError) Unwrap() error { return e.error }

// openSide opens the series at one of two paths. The caller closes it.
func (p *Pipeline) openSide(path string, o *Source) (*Input, error) {
	in, err := p.Open([]string{path}, o, nil)
	if errors.Is(err, series.ErrNoProcess) {
		return nil, &SideError{fmt.Errorf("%s: %w", path, err)}
	}
	return in, err
}

// processesOf returns the processes of the base and of the current snapshots: "BASE,CURRENT", or
// one for both.
func processesOf(both string) [2]string {
	base, current, two := strings.Cut(both, ",")
	if !two {
		current = base
	}
	return [2]string{base, current}
}

// of returns the source for a process.
func (o Source) of(process string) *Source {
	o.Process = process
	return &o
}

// Persist compares three snapshots of one process.
func (p *Pipeline) Persist(
	ctx context.Context,
	paths []string,
	o *Source,
	co compare.Options,
) (*compare.Persistence, error) {
	in, err := p.Open(paths, o, nil)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if len(in.Heads) != 3 {
		return nil, fmt.Errorf("want three snapshot files of one process; found: %d", len(in.Heads))
	}
	if err := p.Name(ctx, in, o); err != nil {
		return nil, err
	}
	var moments [3]*compare.Side
	for i, path := range paths {
		index := slices.IndexFunc(in.Heads, func(h *series.Head) bool { return h.Path == path })
		if index < 0 {
			return nil, fmt.Errorf("%s: want snapshot files, not directories or prefixes", path)
		}
		if moments[i], err = compare.NewSide(in.Series, in.Symbols, index, in.Filter); err != nil {
			return nil, err
		}
	}
	if moments[0].Empty() && moments[1].Empty() && moments[2].Empty() {
		return nil, ErrNothingKept
	}
	return compare.Persist(moments, co)
}
