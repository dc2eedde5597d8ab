package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/listing"
)

type topFlags struct {
	flagset.Stacks
	output.Flags
	output.Style
	sample   string
	snapshot int
	limit    int
}

func (a *app) topCommand() *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top PATH…",
		Short: "list the functions that hold most memory in one snapshot",
		Long: `Lists the functions of one snapshot: the last one of a series, or the one of --snapshot.
FLAT is the memory that is attributed to a function; allocators, containers and interpreter
loops are skipped. CUM also includes the memory that its callees allocated. If there are several
processes, it lists all, and the functions of the largest.

  heaplapse top DIR
  heaplapse top DIR --older-than 10m    what has been in use for ten minutes and longer
  heaplapse top DIR --older-than 10m --born-after 5m    not what was loaded at the start
  heaplapse top DIR --snapshot 12 --top 5`,
		Args: help.SomePath(),
		RunE: func(cmd *cobra.Command, paths []string) error { return a.top(cmd.Context(), &f, paths) },
	}
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.Var(flagset.Number(&f.snapshot, 0), "snapshot", "the `N`th snapshot of the series, from 1 (default: the last one, or the one before if the program exited then)")
		types := flagset.SampleTypes
		types.Var(flags, &f.sample, string(convert.InuseSpace), "list by `VALUE`: "+types.String())
	})
	flagset.SampleTypes.Complete(cmd)
	f.Usual = "the one with the largest heap"
	f.Ages = true
	f.Stacks.Add(cmd)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.Var(flagset.Count(&f.limit, 20), "top", "list `N` functions")
	})
	f.Flags.Add(cmd, "text", "json")
	f.Style.Add(cmd)
	help.Levels(cmd, "snapshot older-than born-after sample process focus top output format",
		"ignore demangle binary sysroot debug-dir debuginfod perf-map")
	return cmd
}

func (a *app) top(ctx context.Context, f *topFlags, paths []string) error {
	sample := convert.SampleType(f.sample)
	source, err := f.Source()
	if err != nil {
		return err
	}
	p := a.Pipeline()
	in, index, processes, err := p.OpenLargest(paths, source, pipeline.Choice{
		Index: func(s *series.Series) (int, error) { return chosenSnapshot(s, f.snapshot) },
		Value: sample.Of,
	})
	if err != nil {
		return err
	}
	defer in.Close()
	if last := len(in.Heads) - 1; f.snapshot == 0 && index != last {
		a.Warn(fmt.Sprintf("%s was taken when the program exited, and may have freed memory: this is the one before; --snapshot %d selects it", in.Heads[last].Path, last+1))
	}
	switch head := in.Heads[index]; {
	case sample.NeedsAlloc() && !head.HasAlloc:
		return fmt.Errorf("--sample %s: %s has no cumulative counts", sample, head.Path)
	case sample.NeedsObjects() && head.NoObjects:
		return fmt.Errorf("--sample %s: %s does not count objects", sample, head.Path)
	}
	if err := p.Name(ctx, in, source); err != nil {
		return err
	}
	snap, err := in.Read(index)
	if err != nil {
		return err
	}
	top := listing.NewTop(snap, in.Symbols, sample, in.Filter)
	top.Limit, top.Processes, top.Ages = f.limit, processes, source.Ages
	top.Style = f.Style.On(a.Out, !f.ToStdout())
	return f.Render(a.Out, top)
}

// chosenSnapshot returns the index of the snapshot number n. For 0 it is the last one, unless the
// program had freed its memory to exit by then.
func chosenSnapshot(s *series.Series, n int) (int, error) {
	switch count := len(s.Heads); {
	case n < 0 || n > count:
		return 0, fmt.Errorf("--snapshot %d: want a number from 1 to %d", n, count)
	case n > 0:
		return n - 1, nil
	}
	return sites.Last(s), nil
}
