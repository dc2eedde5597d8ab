package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/diff"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/report"
)

type growthFlags struct {
	seriesFlags
	symbolFlags
	filterFlags
	minBytes string
	limit    int
	all      bool
	failOn   string
}

func (a *app) growthCommand() *cobra.Command {
	var f growthFlags
	cmd := &cobra.Command{
		Use:   "growth PATH…",
		Short: "which sites grow over the series, how fast, how sure",
		Long: `Judges every allocation site of a series of snapshots. A site that grows steadily to
the end is called a leak; one that fills up (warming, plateaued), follows the
load (load-driven) or jumped once (grew-then-flat) is not.`,
		Args: somePaths,
		RunE: func(_ *cobra.Command, paths []string) error { return a.growth(&f, paths) },
	}
	f.seriesFlags.add(a, cmd)
	f.symbolFlags.add(cmd)
	f.filterFlags.add(cmd)
	cmd.Flags().StringVar(&f.minBytes, "min-bytes", "1MiB", "name sites that grew by at least `SIZE`")
	cmd.Flags().IntVar(&f.limit, "top", 20, "show `N` sites")
	cmd.Flags().BoolVar(&f.all, "all", false, "show stable sites too")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "", "exit with 1 if a `LABEL` is found: leak, or suspect (leaks and suspects)")
	a.outputFlags(cmd)
	return cmd
}

func (a *app) growth(f *growthFlags, paths []string) error {
	if err := a.checkFormat(); err != nil {
		return err
	}
	if f.failOn != "" && f.failOn != "leak" && f.failOn != "suspect" {
		return fmt.Errorf("--fail-on %s: want leak or suspect", f.failOn)
	}
	minBytes, err := parseSize(f.minBytes)
	if err != nil {
		return fmt.Errorf("--min-bytes: %w", err)
	}
	var columns diff.Collector
	s, err := f.open(a, paths, columns.Visit)
	if err != nil {
		return err
	}
	defer s.Close()
	symbols, err := f.resolve(a, s)
	if err != nil {
		return err
	}
	filter, err := f.filter(symbols)
	if err != nil {
		return err
	}
	result := diff.Growth(s, symbols, &columns, diff.GrowthOptions{MinBytes: minBytes, All: f.all, Filter: filter})
	a.judge(f.failOn, result)
	unnamed := report.NewUnnamed(symbols)
	for id := range s.Stacks.Len() {
		if id := heapfile.StackID(id); filter.Keep(id) {
			unnamed.Add(id, columns.InUse(id, result.Last))
		}
	}
	return a.render(&report.Growth{Series: s, Symbols: symbols, Result: result, Unnamed: unnamed.Done(), Top: f.limit})
}

// judge sets the exit status of --fail-on. Bad input weighs more than a finding.
func (a *app) judge(failOn string, r *diff.GrowthResult) {
	if failOn == "" || a.status == exitFailure {
		return
	}
	for _, s := range r.Sites {
		if s.Label.IsLeak() || (failOn == "suspect" && s.Label == trend.Suspect) {
			a.status = exitFound
			return
		}
	}
	if r.Verdict == diff.VerdictUndecided {
		a.status = exitFailure
		a.complain(fmt.Errorf("no verdict: %s", r.Why))
	}
}
