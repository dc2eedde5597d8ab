package main

import (
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
	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/gate/config"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/record"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/internal/units"
)

type gateFlags struct {
	flagset.Run
	flagset.Base
	output.Gate
	flagset.Baselines
	current        string
	suppressions   []string
	evidence       []string
	thresholds     gate.Override
	force, require bool
	next           string // a command about the run that is judged; it may be empty
}

func (a *app) gateCommand() *cobra.Command {
	var f gateFlags
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
  heaplapse gate --baseline baselines/ --current tonight/ -o text=- -o junit=gate.xml
  heaplapse gate --baseline baselines/ --baseline pinned=v1.0/ --current tonight/

Exit status: 0 no regression; 1 a regression; 2 usage error, unreadable input, or runs that are
not comparable.`,
		Args: help.Args(onlyFlags),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.next = f.growthCommand(cmd.Flags())
			return a.gate(cmd.Context(), &f)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *gateFlags) add(cmd *cobra.Command) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.Var(f.Value(), "baseline", "an earlier good run, or a baseline set, at `PATH` (repeatable; a quoted glob pattern takes all that match); pinned=PATH is the reference run, which slow drift is measured against (default: that of the baseline set)")
		flags.StringVar(&f.current, "current", "", "the run to judge, at `PATH`")
	})
	help.Alias(cmd, "pinned", "baseline", f.Reference())
	f.Run.Add(cmd)
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&f.suppressions, "suppressions", nil, "leave out known regressions: `FILE` has one leak:PATTERN per line, as for LeakSanitizer (repeatable)")
		flags.BoolVar(&f.require, "require-baseline", false, "fail with status 2 if there is no earlier run (default: the first run passes)")
		flags.BoolVar(&f.force, "force", false, "compare runs of different workloads or sampling periods, with a note")
	})
	flagset.DefineEvidence(cmd, &f.evidence)
	help.Group(cmd, help.Thresholds, func(flags *pflag.FlagSet) {
		for _, t := range gateThresholds {
			flags.Var(threshold{t.read, t.want, t.of(&f.thresholds)}, t.name, t.help)
		}
	})
	f.Gate.Add(cmd)
	f.Base.Add(cmd, "snapshots of earlier runs")
	help.Levels(cmd, "baseline current require-baseline workload work force bytes output top",
		"percent suppressions share-of-total z binary sysroot debuginfod")
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
	o, err := f.gateOptions(a.settings.Config)
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
		return fmt.Errorf("--require-baseline: %s: heaplapse baseline save adds a run", f.absent())
	}
	current, err := p.ReadRun(ctx, f.current, snapshots)
	if err != nil {
		return err
	}
	result, err := gate.Compare(current, runs, reference, o)
	var notComparable *gate.NotComparableError
	if errors.As(err, &notComparable) {
		report := f.Report(gate.Refuse(current, runs, reference))
		report.Refusal = gatereport.NotComparable(notComparable)
		return errors.Join(errors.New(report.Refusal), f.Write(a.Out, report))
	}
	if err != nil {
		return err
	}
	report := f.Report(result)
	report.Losses, report.Absent, report.Next = losses, f.absent(), f.next
	if c := a.settings.Config; c != nil && c.OfGate() {
		report.Config = a.settings.Path
	}
	if err := f.Write(a.Out, report); err != nil {
		return err
	}
	if result.Verdict == gate.Fail && !a.Failed {
		a.status = exitFound
	}
	return nil
}

// growthCommand is the command that judges the run by itself, from the same files; "" if they cannot be read again.
func (f *gateFlags) growthCommand(flags *pflag.FlagSet) string {
	if f.current == "-" || strings.HasSuffix(f.current, baseline.Suffix) {
		return ""
	}
	words := []string{"heaplapse growth", record.ShellQuote(f.current)}
	for _, name := range []string{
		"process", "blame-rules", "binary", "sysroot", "debug-dir", "debuginfod", "perf-map",
	} {
		flag := flags.Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+name, record.ShellQuote(v))
		}
	}
	return strings.Join(words, " ")
}

// absent tells which paths have no earlier runs.
func (f *gateFlags) absent() string {
	var list []string
	for _, path := range f.Paths {
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
	case len(f.Paths) == 0 && f.Pinned == "":
		return errors.New("--baseline is missing: an earlier good run, or a directory of them; see heaplapse gate --help")
	}
	return f.Gate.Check()
}

// gateThresholds are what a change must reach, all of them, to be a regression.
var gateThresholds = []struct {
	name, help, want string
	read             func(string) (float64, error)
	of               func(*gate.Override) **float64
}{
	{"bytes", "a regression is a change by at least `SIZE` (default 1MiB)", "a size, such as 64KiB or 1MiB", config.Bytes, func(o *gate.Override) **float64 { return &o.Bytes }},
	{"share-of-total", "and by at least `PERCENT` of the previous heap (default 0.5)", "a percentage, such as 10 or 0.5%", config.Share, func(o *gate.Override) **float64 { return &o.Share }},
	{"percent", "and by at least `PERCENT` of the previous memory of the function (default 10)", "a percentage, such as 10 or 0.5%", units.ParsePercent, func(o *gate.Override) **float64 { return &o.Percent }},
	{"z", "and by at least `N` standard deviations of the noise between runs (default 3; 0 ignores the noise)", "a number, 0 or more", units.ParseNumber, func(o *gate.Override) **float64 { return &o.Z }},
}

// gateOptions returns how the runs are compared. Flags override the configuration, which may be
// nil.
func (f *gateFlags) gateOptions(c *config.Config) (gate.Options, error) {
	o := gate.Options{Force: f.force, Suppressions: &suppress.List{}}
	if c != nil {
		o.Thresholds, o.Total, o.Sites, o.Suppressions = c.Thresholds, c.Total, c.Sites, &c.Suppressions
	}
	for _, t := range gateThresholds {
		if v := *t.of(&f.thresholds); v != nil {
			*t.of(&o.Thresholds), *t.of(&o.Total) = v, v
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

// threshold is the value of a flag that sets one of the thresholds.
type threshold struct {
	read func(string) (float64, error)
	want string
	to   **float64
}

func (t threshold) Set(text string) error {
	v, err := t.read(text)
	if err != nil {
		return errors.New("want " + t.want)
	}
	*t.to = &v
	return nil
}

// String is that of a flag without a default: the defaults depend on heaplapse.yaml.
func (t threshold) String() string { return "" }

// Type is that of a number in the help.
func (t threshold) Type() string { return "number" }

// earlier returns which runs the current one is compared with. Those that are snapshots have done
// an unknown amount of work.
func (f *gateFlags) earlier(snapshots pipeline.Summary) *pipeline.Earlier {
	snapshots.Source = f.Base.Of(snapshots.Source)
	snapshots.Work = 0
	return &pipeline.Earlier{
		Paths:     f.Paths,
		Reference: f.Pinned,
		Current:   f.current,
		Force:     f.force,
		Snapshots: snapshots,
	}
}
