package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/period"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	diffreport "github.com/heaplapse/heaplapse/internal/report/diff"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
)

type diffFlags struct {
	flagset.Stacks
	flagset.Grouping
	flagset.Base
	output.Flags
	output.Style
	limit      int
	persist    bool
	bornBefore string
}

func (a *app) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff BASE CURRENT",
		Short: "compare two snapshots, site by site",
		Long: `Compares two snapshots of one process or of two, also of different builds. If a PATH is a series,
its last snapshot is compared. Sites are matched by build ID and offset, else by names; the
output shows the quality of the match. The differences add up to the difference of the totals.
What a truncated snapshot hides is shown as a bound.

  heaplapse diff p.0002.heap p.0024.heap
  heaplapse diff last-week/ today/
  heaplapse diff last-week/ today/ --process 4711,815    processes of the one and of the other
  heaplapse diff A B C --persist     allocated between A and B, and still in use in C
  heaplapse diff A B --born-before base     what is left in B of what A has`,
		Args: help.Between(2, 3),
		RunE: func(cmd *cobra.Command, paths []string) error { return a.diff(cmd.Context(), &f, paths) },
	}
	f.Grouping.Add(cmd)
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.persist, "persist", false, "take three snapshots: list what was allocated between the first two and is still in use in the third")
		flags.StringVar(&f.bornBefore, "born-before", "", "count only memory that was allocated before `WHEN`: the number of a snapshot of CURRENT, the time since its first one (10m), a time, or \"base\", that of BASE")
	})
	f.TwoPaths = true
	f.Stacks.Add(cmd)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.Var(flagset.Count(&f.limit, 20), "top", "list `N` sites")
	})
	f.Flags.Add(cmd, "text", "json")
	f.Style.Add(cmd)
	f.Base.Add(cmd, "BASE")
	help.Levels(
		cmd,
		"group-by persist process focus ignore top output format",
		"born-before strict binary sysroot base-binary base-sysroot debug-dir debuginfod",
	)
	return cmd
}

func (a *app) diff(ctx context.Context, f *diffFlags, paths []string) error {
	if err := f.check(paths); err != nil {
		return err
	}
	source, err := f.Source()
	if err != nil {
		return err
	}
	o, err := f.compareOptions()
	if err != nil {
		return err
	}
	style := f.Style.On(a.Out, !f.ToStdout())
	view := siteview.Options{Top: f.limit, Rules: o.Rules, GroupBy: o.GroupBy, Style: style}
	if f.persist {
		p, err := a.Pipeline().Persist(ctx, paths, source, o)
		if err != nil {
			return fmt.Errorf("--persist: %w", err)
		}
		return f.Render(a.Out, &diffreport.Persist{Persistence: p, Options: view})
	}
	base := f.Base.Of(*source)
	comparison := &pipeline.Comparison{Base: paths[0], Current: paths[1], BaseSource: &base, Source: source, Options: o}
	if f.bornBefore != "" {
		comparison.BornBefore = f.limitOf
	}
	c, err := a.Pipeline().Compare(ctx, comparison)
	if err != nil {
		return err
	}
	return f.Render(a.Out, &diffreport.Report{Comparison: c, Options: view})
}

// limitOf returns the time before which memory counts.
func (f *diffFlags) limitOf(base, current *series.Series, index int) (time.Time, error) {
	if f.bornBefore == "base" {
		return base.Moment(index)
	}
	t, err := period.Time(current, f.bornBefore)
	if err != nil {
		return t, fmt.Errorf("--born-before %s: %w", f.bornBefore, err)
	}
	return t, nil
}

// check returns an error for flags and arguments that do not go together.
func (f *diffFlags) check(paths []string) error {
	if f.persist && f.Base.Binary+f.Base.Sysroot != "" {
		return errors.New("--persist compares snapshots of one process: --base-binary and --base-sysroot do not apply")
	}
	if f.persist && f.bornBefore != "" {
		return errors.New("--persist and --born-before do not go together")
	}
	if f.persist != (len(paths) == 3) {
		return errors.New("diff takes two snapshots, or three with --persist")
	}
	return nil
}

func (f *diffFlags) compareOptions() (compare.Options, error) {
	rules, err := f.BlameRules()
	return compare.Options{GroupBy: f.GroupBy(), Rules: rules}, err
}
