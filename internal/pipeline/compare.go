package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Compare compares the last snapshots at two paths, without those of an exit. The process of
// current may name one of each, as in "4711,4712".
func (p *Pipeline) Compare(
	ctx context.Context,
	basePath, currentPath string,
	base, current *Source,
	o compare.Options,
) (*compare.Comparison, error) {
	of := processesOf(current.Process)
	p = p.unusedByBoth()
	currentSide, err := p.side(ctx, currentPath, current.of(of[1]))
	if err != nil {
		return nil, err
	}
	defer currentSide.Series.Close()
	baseSide, err := p.side(ctx, basePath, base.of(of[0]))
	if err != nil {
		return nil, err
	}
	defer baseSide.Series.Close()
	if baseSide.Empty() && currentSide.Empty() {
		return nil, ErrNothingKept
	}
	return compare.Snapshots(baseSide, currentSide, o), nil
}

// side reads the last snapshot at a path. The caller closes its series.
func (p *Pipeline) side(ctx context.Context, path string, o *Source) (*compare.Side, error) {
	in, err := p.openSide(path, o)
	if err != nil {
		return nil, err
	}
	var side *compare.Side
	if err = p.Name(ctx, in, o); err == nil {
		side, err = compare.NewSide(in.Series, in.Symbols, p.last(in), in.Filter)
	}
	if err != nil {
		in.Close()
	}
	return side, err
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
