package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/gate/config"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/internal/units"
)

type gateFlags struct {
	flagset.Run
	flagset.Base
	output.Gate
	baselines       []string
	current, pinned string
	suppressions    []string
	evidence        []string
	config          string // the file that is used, once it is read
	thresholds      map[string]*string
	force, require  bool
}

func (a *app) gateCommand() *cobra.Command {
	f := gateFlags{thresholds: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "gate --baseline PATH [--baseline PATH …] --current PATH",
		Short: "nightly check: fail if a site regressed against earlier runs",
		Long: `Compares a run with earlier good runs, function by function, also across builds. Exits with status 1
if a function regressed: its steady level, its slope, or (with --work) its allocations per unit of
work.

A PATH is a run: snapshots, or a file written by heaplapse baseline save. A directory of such files
is a baseline set. With four or more runs, a change fails only if it also exceeds the noise, which
is how much these runs differ by chance. With fewer, only the thresholds apply. The first run, whose
baseline set is empty or missing, passes.

  heaplapse baseline save baselines/ last-night/
  heaplapse gate --baseline baselines/ --current tonight/
  heaplapse gate --baseline baselines/ --pinned release-1.0/ --current tonight/    also slow drift

Exit status: 0 no regression; 1 a regression; 2 usage error, unreadable input, or runs that are
not comparable.`,
		Args: help.Args(onlyFlags),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.gate(cmd.Context(), &f) },
	}
	f.add(cmd)
	return cmd
}

func (f *gateFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&f.baselines, "baseline", nil, "an earlier good run, or a baseline set, at `PATH` (repeatable; a quoted glob pattern takes all that match)")
		flags.StringVar(&f.current, "current", "", "the run to judge, at `PATH`")
		flags.StringVar(&f.pinned, "pinned", "", "the reference run at `PATH`, which slow drift is measured against (default: that of the baseline set)")
	})
	f.Run.Add(cmd)
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&f.suppressions, "suppressions", nil, "leave out known regressions: `FILE` has one leak:PATTERN per line, as for LeakSanitizer (repeatable)")
		flags.BoolVar(&f.require, "require-baseline", false, "fail with status 2 if there is no earlier run (default: the first run passes)")
		flags.BoolVar(&f.force, "force", false, "compare runs of different workloads or sampling periods, with a note")
	})
	flagset.DefineEvidence(cmd, &f.evidence)
	help.Group(cmd, help.Thresholds, func(flags *pflag.FlagSet) {
		for _, t := range gateThresholds {
			f.thresholds[t.name] = flags.String(t.name, "", t.help)
		}
		flags.StringVar(
			&f.config,
			"config",
			"",
			"read thresholds and suppressions from a YAML `FILE` (default: "+config.Name+" in the current directory, if it exists)",
		)
	})
	f.Gate.Add(cmd)
	f.Base.Add(cmd, "snapshots of earlier runs")
}

// onlyFlags rejects arguments, which most often come from a glob pattern that the shell has
// expanded.
func onlyFlags(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %s: use --baseline PATH for each run, name the directory of baselines, or quote the pattern", args[0])
}

func (a *app) gate(ctx context.Context, f *gateFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	o, err := f.gateOptions()
	if err != nil {
		return err
	}
	snapshots, err := f.Summary()
	if err != nil {
		return err
	}
	p := a.Pipeline()
	losses, err := p.Evidence(ctx, f.evidence, snapshots.Symbols, snapshots.Rules)
	if err != nil {
		return err
	}
	runs, reference, err := p.ReadEarlier(ctx, f.earlier(*snapshots))
	if err != nil {
		return err
	}
	if f.require && len(runs) == 0 {
		return fmt.Errorf("--require-baseline: %s", f.absent())
	}
	current, err := p.ReadRun(ctx, f.current, snapshots)
	if err != nil {
		return err
	}
	result, err := gate.Compare(current, runs, reference, o)
	var notComparable *gate.NotComparableError
	if errors.As(err, &notComparable) {
		return errors.New(gatereport.NotComparable(notComparable) + "; --force compares anyway")
	}
	if err != nil {
		return err
	}
	report := f.Report(result)
	report.Config, report.Losses, report.Absent = f.config, losses, f.absent()
	if err := f.Write(a.Out, report); err != nil {
		return err
	}
	if result.Verdict == gate.Fail && !a.Failed {
		a.status = exitFound
	}
	return nil
}

// absent tells which paths have no earlier runs.
func (f *gateFlags) absent() string {
	var list []string
	for _, path := range f.baselines {
		why, absent := pipeline.Absent(path)
		if !absent {
			why = "has no other run"
		}
		list = append(list, path+" "+why)
	}
	return strings.Join(list, ", ")
}

func (f *gateFlags) check() error {
	switch {
	case f.current == "":
		return errors.New("--current is missing: the run to judge; see heaplapse gate --help")
	case len(f.baselines) == 0 && f.pinned == "":
		return errors.New("--baseline is missing: an earlier good run, or a directory of them; see heaplapse gate --help")
	}
	return f.Gate.Check()
}

// gateThresholds are what a change must reach, all of them, to be a regression.
var gateThresholds = []struct {
	name, help string
	read       func(string) (float64, error)
	of         func(*gate.Override) **float64
}{
	{"bytes", "a regression is a change by at least `SIZE` (default 1MiB)", config.Bytes, func(o *gate.Override) **float64 { return &o.Bytes }},
	{"share-of-total", "and by at least `PERCENT` of the previous heap (default 0.5)", config.Share, func(o *gate.Override) **float64 { return &o.Share }},
	{"percent", "and by at least `PERCENT` of the previous memory of the function (default 10)", units.ParsePercent, func(o *gate.Override) **float64 { return &o.Percent }},
	{"z", "and by at least `N` standard deviations of the noise between runs (default 3; 0 ignores the noise)", units.ParseNumber, func(o *gate.Override) **float64 { return &o.Z }},
}

// gateOptions returns how the runs are compared. Flags override the configuration.
func (f *gateFlags) gateOptions() (gate.Options, error) {
	o, err := f.configured()
	if err != nil {
		return o, err
	}
	for _, t := range gateThresholds {
		if text := *f.thresholds[t.name]; text != "" {
			v, err := t.read(text)
			if err != nil {
				return o, fmt.Errorf("--%s: %w", t.name, err)
			}
			*t.of(&o.Thresholds), *t.of(&o.Total) = &v, &v
		}
	}
	for _, path := range f.suppressions {
		list, err := suppress.Read(path, time.Now())
		if err != nil {
			return o, fmt.Errorf("--suppressions: %w", err)
		}
		o.Suppressions.Entries = append(o.Suppressions.Entries, list.Entries...)
		o.Suppressions.Expired = append(o.Suppressions.Expired, list.Expired...)
	}
	return o, nil
}

// configured returns the options of the configuration file, and keeps its name.
func (f *gateFlags) configured() (gate.Options, error) {
	o := gate.Options{Force: f.force, Suppressions: &suppress.List{}}
	read := config.ReadDefault
	if f.config != "" {
		read = func(now time.Time) (*config.Config, error) { return config.Read(f.config, now) }
	}
	c, err := read(time.Now())
	if err != nil || c == nil {
		return o, err
	}
	f.config = cmp.Or(f.config, config.Name)
	o.Thresholds, o.Total, o.Sites, o.Suppressions = c.Thresholds, c.Total, c.Sites, &c.Suppressions
	return o, nil
}

// earlier returns which runs the current one is compared with. Those that are snapshots have done
// an unknown amount of work.
func (f *gateFlags) earlier(snapshots pipeline.Summary) *pipeline.Earlier {
	snapshots.Source = f.Base.Of(snapshots.Source)
	snapshots.Work = 0
	return &pipeline.Earlier{
		Paths:     f.baselines,
		Reference: f.pinned,
		Current:   f.current,
		Force:     f.force,
		Snapshots: snapshots,
	}
}
