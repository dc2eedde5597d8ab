package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/period"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/units"
)

// judgeFlags are the flags of all commands that judge a series.
type judgeFlags struct {
	flagset.Stacks
	flagset.Grouping
	minBytes     flagset.Size
	limit        int
	since, until string
	suppressions string
	evidence     []string // of growth and report
	memoryLimit  flagset.Size
	failOn       string // of growth and watch
	confidence   float64
	all          bool   // lists stable sites, too
	explain      string // of growth

	each func(g *growthreport.Report, all int) error // of report
	most int                                         // processes that each is called with
}

type growthFlags struct {
	judgeFlags
	output.Flags
	output.Style
	stacks int
}

func (a *app) growthCommand() *cobra.Command {
	var f growthFlags
	cmd := &cobra.Command{
		Use:   "growth PATH…",
		Short: "find the sites that grow, how fast, and with what confidence",
		Long: `Judges every allocation site of a series of snapshots. The verdict "leak" is for sites that grow
steadily until the end. Sites that fill a cache (warming, plateaued), follow the load
(load-driven) or grew once (grew-then-flat) have other verdicts. If there are several processes, all
are judged, and the sites are those of the worst.

  heaplapse growth DIR
  heaplapse growth DIR --since 10m --explain 1    # why the first site of the table has its verdict
  heaplapse growth DIR --fail-on leak             # ends with status 1 if there is a leak`,
		Args: help.SomePath(),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if f.all && !cmd.Flags().Changed("top") {
				f.limit = math.MaxInt
			}
			return a.growth(cmd.Context(), &f, paths)
		},
	}
	f.judgeFlags.add(cmd)
	flagset.DefineEvidence(cmd, &f.evidence)
	f.addFailOn(cmd)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.all, "all", false, "list all sites, stable ones, too")
		flags.Var(flagset.Count(&f.stacks, 0), "stacks", "show `N` call paths of each site with all frames")
		flags.Lookup("stacks").NoOptDefVal = "1"
		flags.StringVar(&f.explain, "explain", "", "print the numbers that the verdict on `SITE` is based on: its rank in the table, a part of its function, file:line or module, or a regular expression")
	})
	f.Flags.Add(cmd, "text", "json", "csv", "md")
	f.Style.Add(cmd)
	help.Levels(
		cmd,
		"since group-by process focus output format top fail-on explain",
		"stacks until min-bytes suppressions binary sysroot debuginfod",
	)
	return cmd
}

func (f *judgeFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.since, "since", "", "judge from `WHEN` on: the number of a snapshot (5), the time since the first one (10m) or a time (2026-01-02T15:04:05Z)")
		flags.StringVar(&f.until, "until", "", "judge up to `WHEN`, inclusive")
	})
	f.Grouping.Add(cmd)
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.Var(&f.minBytes, "min-bytes",
			"list sites that grew by at least `SIZE` (default: by the length and the sampling of the recording, at most 1MiB)")
		flags.StringVar(&f.suppressions, "suppressions", "", "leave out known growth: `FILE` has one leak:PATTERN per line, as for LeakSanitizer")
		flags.Var(&f.memoryLimit, "memory-limit", "forecast when the process reaches `SIZE`")
	})
	f.Usual = "all are judged, and the worst is shown"
	f.Stacks.Add(cmd)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.Var(flagset.Count(&f.limit, 20), "top", "list `N` sites")
	})
}

var failLabels = flagset.NewChoice("fail-on", verdict.FailOn...)

func (f *judgeFlags) addFailOn(cmd *cobra.Command) {
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		failLabels.Var(
			flags,
			&f.failOn,
			"",
			"exit with status 1 if a site has the verdict `LABEL`: leak, or suspect (leaks included)",
		)
	})
	failLabels.Complete(cmd)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.Float64Var(&f.confidence, "confidence", trend.LeakConfidence, "call a site a leak from a confidence of `P` on, 0 to 1")
	})
}

// detached returns an error if a path is the number that was meant for --stacks, whose value is
// optional.
func (f *growthFlags) detached(paths []string) error {
	for _, path := range paths {
		if n, err := strconv.Atoi(path); err == nil && f.stacks == 1 {
			if _, err := os.Stat(path); err != nil {
				return fmt.Errorf("--stacks %d: write --stacks=%[1]d", n)
			}
		}
	}
	return nil
}

func (a *app) growth(ctx context.Context, f *growthFlags, paths []string) error {
	if err := f.detached(paths); err != nil {
		return err
	}
	g, err := f.judge(ctx, a.Pipeline(), paths)
	if err != nil {
		return err
	}
	defer g.Close()
	a.fail(f.failOn, g)
	if manifest.Busy(g.Series.Dir()) {
		a.Say("%s is still being recorded: the verdict is on the snapshots so far", g.Series.Dir())
	}
	g.Style, g.Stacks = f.Style.On(a.Out, !f.ToStdout()), f.stacks
	return f.Render(a.Out, g)
}

// judgement checks the flags, reads the files that they name, and returns how a series is judged.
func (f *judgeFlags) judgement() (*pipeline.Judgement, error) {
	source, err := f.Source()
	if err != nil {
		return nil, err
	}
	o := &pipeline.Judgement{
		Source:  *source,
		Options: growth.Options{All: f.all, KeepStable: f.explain != ""},
		Period:  f.period, Evidence: f.evidence, Most: f.most,
	}
	if f.confidence < 0 || f.confidence > 1 {
		return nil, fmt.Errorf("--confidence %g: want a number from 0 to 1", f.confidence)
	}
	o.LeakConfidence = f.confidence
	if f.minBytes.IsSet() {
		o.MinBytes = max(f.minBytes.Bytes, 1)
	}
	o.GroupBy = f.GroupBy()
	if o.Rules, err = f.BlameRules(); err != nil {
		return nil, err
	}
	if f.suppressions != "" {
		if o.Suppressions, err = suppress.Read(f.suppressions, time.Now()); err != nil {
			return nil, fmt.Errorf("--suppressions: %w", err)
		}
	}
	return o, nil
}

// period returns the range of snapshots that --since and --until select: from, up to but not
// including to.
func (f *judgeFlags) period(s *series.Series) (from, to int, err error) {
	to = len(s.Heads)
	if f.since != "" {
		if from, err = period.Start(s, f.since); err != nil {
			return 0, 0, fmt.Errorf("--since %s: %w", f.since, err)
		}
	}
	if f.until != "" {
		if to, err = period.End(s, f.until); err != nil {
			return 0, 0, fmt.Errorf("--until %s: %w", f.until, err)
		}
		to++
	}
	if from >= to {
		return 0, 0, fmt.Errorf("no snapshot lies between --since %s and --until %s: the series has snapshots 1 to %d%s",
			cmp.Or(f.since, "the first"), cmp.Or(f.until, "the last"), len(s.Heads), spanOf(s))
	}
	return from, to, nil
}

// spanOf is the time from the first snapshot to the last one; "" if times are not known.
func spanOf(s *series.Series) string {
	if !s.Clock.Source.IsTime() {
		return ""
	}
	return ", which span " + units.Duration(s.Clock.Span())
}

// judge reads a series and judges it. The caller closes it.
func (f *judgeFlags) judge(ctx context.Context, p *pipeline.Pipeline, paths []string) (*growthreport.Report, error) {
	o, err := f.judgement()
	if err != nil {
		return nil, err
	}
	judge := growthreport.Judge{Pipeline: p, Judgement: o, Each: f.each}
	report, err := judge.Report(ctx, paths)
	if err != nil {
		return nil, err
	}
	report.Top, report.Explain, report.MemoryLimit = f.limit, f.explain, f.memoryLimit.Bytes
	return report, nil
}

// failsOn reports whether --fail-on applies to one of the processes of a report.
func failsOn(failOn string, g *growthreport.Report) bool {
	return slices.ContainsFunc(g.Processes, func(p growthreport.Process) bool {
		return verdict.Fails(failOn, p.Leaks, p.Suspects)
	})
}

// fail sets the exit status of --fail-on. A failure to read the input takes precedence over a
// finding.
func (a *app) fail(failOn string, g *growthreport.Report) {
	switch {
	case failOn == "" || a.Failed:
	case failsOn(failOn, g):
		a.status = exitFound
	case g.Result.Why.DataMissing():
		a.status = exitFailure
		a.Complain(fmt.Errorf("no verdict: %s", g.Result.Reason()))
	}
}
