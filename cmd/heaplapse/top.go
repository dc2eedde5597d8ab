package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/listing"
	"github.com/heaplapse/heaplapse/symbolize"
)

type topFlags struct {
	stackFlags
	sample   string
	snapshot int
	limit    int
}

func (a *app) topCommand() *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top PATH",
		Short: "flat and cumulative table of one snapshot",
		Long: `Table of the functions of one snapshot: the last one of a series, or --snapshot N.
FLAT is what is put down to a function (allocators, containers and interpreters'
loops are passed over), CUM what it and its callees allocated.`,
		Args: somePaths,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.top(cmd.Context(), &f, paths) },
	}
	f.add(a, cmd)
	cmd.Flags().StringVar(&f.sample, "sample", string(convert.InuseSpace), "inuse_space, inuse_objects, alloc_space or alloc_objects")
	cmd.Flags().IntVar(&f.snapshot, "snapshot", 0, "take the `N`th snapshot of the series, from 1 (default the last, but for one of a program that had freed its memory to exit)")
	cmd.Flags().IntVar(&f.limit, "top", 20, "show `N` functions")
	a.outputFlags(cmd)
	return cmd
}

func (a *app) top(ctx context.Context, f *topFlags, paths []string) error {
	if err := a.checkFormat(); err != nil {
		return err
	}
	sample := convert.SampleType(f.sample)
	if !slices.Contains(convert.SampleTypes, sample) {
		return fmt.Errorf("--sample %s: want one of %v", f.sample, convert.SampleTypes)
	}
	s, err := f.open(a, paths, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	n := len(s.Heads)
	if f.snapshot < 0 || f.snapshot > n {
		return fmt.Errorf("--snapshot %d: the series has %d", f.snapshot, n)
	}
	index := f.snapshot - 1
	if f.snapshot == 0 {
		index = a.lastAlive(s)
	}
	if sample.NeedsAlloc() && !s.Heads[index].HasAlloc {
		return fmt.Errorf("--sample %s: %s has no cumulative counts", sample, s.Heads[index].Path)
	}
	symbols, filter, err := f.named(ctx, a, s)
	if err != nil {
		return err
	}
	top, err := topOf(s, symbols, index, sample, filter)
	if err != nil {
		return err
	}
	top.Limit = f.limit
	return a.render(top)
}

// lastAlive is the last snapshot, but for one of a program that had freed its memory to exit.
func (a *app) lastAlive(s *series.Series) int {
	index, last := s.LastAlive(), len(s.Heads)-1
	if index != last {
		a.warn(fmt.Sprintf("%s was taken when the program had freed its memory to exit: showing the one before; --snapshot %d shows it", s.Heads[last].Path, last+1))
	}
	return index
}

// topOf reads one snapshot again.
func topOf(s *series.Series, symbols *symbolize.Symbols, index int, sample convert.SampleType, filter *symbolize.Filter) (*listing.Top, error) {
	snap, err := s.Read(index)
	if err != nil {
		return nil, err
	}
	return listing.NewTop(snap, symbols, sample, filter), nil
}
