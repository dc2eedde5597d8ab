package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/gate/config"
	"github.com/heaplapse/heaplapse/diff/suppress"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

type gateFlags struct {
	summaryFlags
	baselines           []string
	current, pinned     string
	baseBinary, baseDir string
	baseWork            float64
	suppressions        []string
	config              string // the file that is used, once it is read
	thresholds          map[string]*string
	force               bool
	gateFormFlags
}

func (a *app) gateCommand() *cobra.Command {
	f := gateFlags{thresholds: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "gate --baseline PATH [--baseline PATH …] --current PATH",
		Short: "nightly check: fails when a site regressed against earlier runs",
		Long: `Compares a run with earlier good ones, function by function, also across builds, and exits with 1 if one
regressed: its steady level, its slope, or (with --work) what it allocates for a unit of work.

A PATH is a run: snapshots, or a file made by heaplapse baseline save. A directory of such files is a pool of runs; four
or more tell the noise between runs, so that what is large and no accident fails, and nothing else.

  heaplapse baseline save pool/ last-night/
  heaplapse gate --baseline pool/ --current tonight/
  heaplapse gate --baseline pool/ --pinned release-1.0/ --current tonight/    a slow drift, too

Exit status: 0 nothing regressed; 1 something did; 2 usage error, unreadable input, or runs that do not compare.`,
		Args: usageArgs(onlyFlags),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.gate(cmd.Context(), &f) },
	}
	f.add(a, cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.baselines, "baseline", nil, "an earlier good run, or a directory of baselines: `PATH` (repeatable; a quoted pattern that finds several takes all)")
	flags.StringVar(&f.current, "current", "", "the run to judge: `PATH`")
	flags.StringVar(&f.pinned, "pinned", "", "an old run that slow drift is measured against: `PATH` (default: the one that is pinned in the directory of baselines)")
	flags.StringVar(&f.baseBinary, "base-binary", "", "like --binary, for snapshots of earlier runs where it differs")
	flags.StringVar(&f.baseDir, "base-sysroot", "", "like --sysroot, for snapshots of earlier runs where it differs")
	flags.Float64Var(&f.baseWork, "base-work", 0, "like --work, for snapshots of earlier runs")
	flags.StringVar(&f.config, "config", "", "thresholds and suppressions: a YAML `FILE` (default: "+config.Name+" in the working directory, if it is there)")
	for _, t := range gateThresholds {
		f.thresholds[t.name] = flags.String(t.name, "", t.help)
	}
	flags.StringArrayVar(&f.suppressions, "suppressions", nil, "a `FILE` of known regressions, one leak:PATTERN a line, as LeakSanitizer reads it (repeatable)")
	flags.BoolVar(&f.force, "force", false, "compare runs of different workloads or sampling periods, and say so")
	f.addForms(cmd)
	return cmd
}

// onlyFlags refuses what stands alone, most often the rest of a pattern that the shell replaced.
func onlyFlags(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s stands alone: each PATH wants --baseline before it; or name the directory of baselines, or put the pattern in quotes", args[0])
}

func (a *app) gate(ctx context.Context, f *gateFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	pool, pinned, err := f.earlier(ctx, a)
	if err != nil {
		return err
	}
	current, err := f.read(ctx, a, f.current)
	if err != nil {
		return err
	}
	result, err := gate.Compare(current, pool, pinned, o)
	var notComparable *gate.NotComparableError
	if errors.As(err, &notComparable) {
		return errors.New(gatereport.NotComparable(notComparable) + "; --force compares anyway")
	}
	if err != nil {
		return err
	}
	form := f.form(result)
	form.Config = f.config
	if err := f.write(a, form); err != nil {
		return err
	}
	if result.Verdict == gate.Fail && a.status != exitFailure {
		a.status = exitFound
	}
	return nil
}

func (f *gateFlags) check() error {
	switch {
	case f.current == "":
		return errors.New("--current is missing: the run to judge; see heaplapse gate --help")
	case len(f.baselines) == 0 && f.pinned == "":
		return errors.New("--baseline is missing: an earlier good run, or a directory of them; see heaplapse gate --help")
	}
	return f.checkForms()
}

// gateThresholds are what a change must reach, all of them.
var gateThresholds = []struct {
	name, help string
	read       func(string) (float64, error)
	of         func(*gate.Override) **float64
}{
	{"bytes", "a regression is a change of at least `SIZE` (default 1MiB)", config.Bytes, func(o *gate.Override) **float64 { return &o.Bytes }},
	{"share-of-total", "and of at least `PERCENT` of the heap before (default 0.5)", config.Share, func(o *gate.Override) **float64 { return &o.Share }},
	{"percent", "and of at least `PERCENT` of what the function had before (default 10)", units.ParsePercent, func(o *gate.Override) **float64 { return &o.Percent }},
	{"z", "and of at least `N` standard deviations of the noise between runs (default 3; 0 does without)", units.ParseNumber, func(o *gate.Override) **float64 { return &o.Z }},
}

// configured are the options of the configuration, and over them those of flags.
func (f *gateFlags) configured() (gate.Options, error) {
	o := gate.Options{Force: f.force, Suppressions: &suppress.List{}}
	if _, err := os.Stat(config.Name); f.config == "" && err == nil {
		f.config = config.Name
	}
	if f.config != "" {
		text, err := os.ReadFile(f.config)
		if err != nil {
			return o, fmt.Errorf("--config: %w", err)
		}
		c, err := config.Parse(text, f.config, time.Now())
		if err != nil {
			return o, err
		}
		o.Thresholds, o.Total, o.Sites, o.Suppressions = c.Thresholds, c.Total, c.Sites, &c.Suppressions
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
	return o, nil
}

// options are how the runs are compared.
func (f *gateFlags) options() (gate.Options, error) {
	o, err := f.configured()
	if err != nil {
		return o, err
	}
	for _, path := range f.suppressions {
		text, err := os.ReadFile(path)
		if err != nil {
			return o, fmt.Errorf("--suppressions: %w", err)
		}
		list, err := suppress.Parse(string(text), path, time.Now())
		if err != nil {
			return o, fmt.Errorf("--suppressions: %w", err)
		}
		o.Suppressions.Entries = append(o.Suppressions.Entries, list.Entries...)
		o.Suppressions.Expired = append(o.Suppressions.Expired, list.Expired...)
	}
	return o, nil
}

// earlier reads the runs to compare with.
func (f *gateFlags) earlier(ctx context.Context, a *app) (pool []*baseline.Run, pinned *baseline.Run, err error) {
	base := f.base()
	paths, err := runsAt(f.baselines)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		if !baseline.IsSet(path) {
			run, err := base.read(ctx, a, path)
			if err != nil {
				return nil, nil, err
			}
			pool = append(pool, run)
			continue
		}
		runs, old, err := f.pool(a, path)
		if err != nil {
			return nil, nil, err
		}
		pool = append(pool, runs...)
		if pinned == nil {
			pinned = old
		}
	}
	if f.pinned != "" {
		pinned, err = base.read(ctx, a, f.pinned)
	}
	return pool, pinned, err
}

// runsAt replaces patterns that find baselines, directories or bundles by what they find: each is a run, or a pool, of its own. One that finds snapshots is
// a run as it is.
func runsAt(paths []string) (out []string, err error) {
	for _, path := range paths {
		found, err := matches(path)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, isRun) {
			found = []string{path}
		}
		out = append(out, found...)
	}
	return out, nil
}

// matches are what a pattern finds, in order; a file that has such a name is itself.
func matches(pattern string) ([]string, error) {
	if _, err := os.Lstat(pattern); err == nil {
		return []string{pattern}, nil
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("--baseline %s: not a valid pattern: %w", pattern, err)
	}
	return found, nil
}

// isRun says whether a path is a run, and not one of the snapshots of a run.
func isRun(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() || strings.HasSuffix(path, baseline.Suffix) || bundle.Is(path)
}

// pool reads a directory of baselines, without the run that is judged.
func (f *gateFlags) pool(a *app, dir string) (runs []*baseline.Run, pinned *baseline.Run, err error) {
	p, err := baseline.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	if len(p.Problems) > 0 && !f.force {
		return nil, nil, errors.Join(p.Problems...)
	}
	for _, problem := range p.Problems {
		a.warn(problem.Error() + "; left out, as --force asks for")
	}
	entries := slices.DeleteFunc(p.Entries, func(e baseline.Entry) bool { return sameFile(e.Path, f.current) })
	for _, e := range entries {
		if e.Reference {
			pinned = e.Run
		}
		runs = append(runs, e.Run)
	}
	return runs, pinned, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// base are the flags for snapshots of earlier runs.
func (f *gateFlags) base() *summaryFlags {
	out := f.summaryFlags
	out.work = f.baseWork
	if f.baseBinary != "" {
		out.binary = f.baseBinary
	}
	if f.baseDir != "" {
		out.sysroot = f.baseDir
	}
	return &out
}
