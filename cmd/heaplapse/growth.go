package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/units"
)

type growthFlags struct {
	stackFlags
	groupFlags
	minBytes     string
	limit        int
	all          bool
	failOn       string
	since, until string
	suppressions string
	memoryLimit  string
	explain      string
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
		RunE: func(cmd *cobra.Command, paths []string) error { return a.growth(cmd.Context(), &f, paths) },
	}
	f.add(a, cmd)
	cmd.Flags().StringVar(&f.explain, "explain", "", "print the numbers behind the verdict on `SITE`: its rank in the table, or a part of its function, file:line or module (or an expression that matches one)")
	return cmd
}

// add adds what growth and watch have in common.
func (f *growthFlags) add(a *app, cmd *cobra.Command) {
	f.addJudgement(a, cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "show stable sites too")
	flags.StringVar(&f.failOn, "fail-on", "", "exit with 1 if a `LABEL` is found: leak, or suspect (leaks and suspects)")
	a.outputFlags(cmd)
}

// addJudgement adds what every command that judges a series has.
func (f *growthFlags) addJudgement(a *app, cmd *cobra.Command) {
	f.stackFlags.add(a, cmd)
	f.groupFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.minBytes, "min-bytes", "1MiB", "name sites that grew by at least `SIZE`")
	flags.IntVar(&f.limit, "top", 20, "show `N` sites")
	flags.StringVar(&f.since, "since", "", "judge from `WHEN` on: a snapshot's number in the series (5), the time since the first one (10m), or a time (2026-01-02T15:04:05Z)")
	flags.StringVar(&f.until, "until", "", "judge up to `WHEN`, included")
	flags.StringVar(&f.suppressions, "suppressions", "", "a `FILE` of known growth, one leak:PATTERN a line, as LeakSanitizer reads it")
	flags.StringVar(&f.memoryLimit, "memory-limit", "", "say when the process will reach `SIZE`")
}

func (a *app) growth(ctx context.Context, f *growthFlags, paths []string) error {
	if err := a.checkFormat(); err != nil {
		return err
	}
	g, err := a.grown(ctx, f, paths)
	if err != nil {
		return err
	}
	defer g.Series.Close()
	a.judge(f.failOn, g.Result)
	g.Width = a.width()
	return a.render(g)
}

// grown reads a series and judges it. The caller closes it.
func (a *app) grown(ctx context.Context, f *growthFlags, paths []string) (*growthreport.Report, error) {
	o, limit, err := f.growthOptions()
	if err != nil {
		return nil, err
	}
	var columns sites.Collector
	s, err := f.open(a, paths, columns.Visit)
	if err != nil {
		return nil, err
	}
	g, err := a.judged(ctx, f, s, &columns, o)
	if err != nil {
		s.Close()
		return nil, err
	}
	g.MemoryLimit = limit
	return g, nil
}

// growthOptions reads what does not depend on the series.
func (f *growthFlags) growthOptions() (o growth.Options, limit int64, err error) {
	if f.failOn != "" && f.failOn != "leak" && f.failOn != "suspect" {
		return o, 0, fmt.Errorf("--fail-on %s: want leak or suspect", f.failOn)
	}
	minBytes, err := units.ParseBytes(f.minBytes)
	if err != nil {
		return o, 0, fmt.Errorf("--min-bytes: %w", err)
	}
	o.MinBytes, o.All, o.KeepStable = max(minBytes, 1), f.all, f.explain != ""
	if err := f.prepare(&o); err != nil {
		return o, 0, err
	}
	limit, err = f.limitBytes()
	return o, limit, err
}

// judged names the stacks of a series that was read, and judges its sites.
func (a *app) judged(ctx context.Context, f *growthFlags, s *series.Series, columns *sites.Collector, o growth.Options) (*growthreport.Report, error) {
	if err := f.choose(s, &o); err != nil {
		return nil, err
	}
	symbols, filter, err := f.named(ctx, a, s)
	if err != nil {
		return nil, err
	}
	o.Filter = filter
	result := growth.Judge(s, symbols, columns, o)
	if result.Kept == 0 && o.Filter != nil {
		return nil, errNothingKept
	}
	a.warnExpired(o.Suppressions)
	unnamed := siteview.NewUnnamed(symbols, o.Rules)
	for id := range s.Stacks.Len() {
		if id := heapfile.StackID(id); o.Filter.Keep(id) {
			unnamed.Add(id, columns.InUse(id, result.Last))
		}
	}
	return &growthreport.Report{
		Series: s, Symbols: symbols, Result: result, Filter: filter, Unnamed: unnamed.Done(), Options: siteview.Options{Top: f.limit, Rules: o.Rules, GroupBy: o.GroupBy},
		Explain: f.explain,
	}, nil
}

// prepare reads what does not depend on the series.
func (f *growthFlags) prepare(o *growth.Options) (err error) {
	if o.GroupBy, err = f.groupBy(); err != nil {
		return err
	}
	if o.Rules, err = f.blameRules(); err != nil {
		return err
	}
	if f.suppressions == "" {
		return nil
	}
	text, err := os.ReadFile(f.suppressions)
	if err != nil {
		return fmt.Errorf("--suppressions: %w", err)
	}
	if o.Suppressions, err = suppress.Parse(string(text), f.suppressions, time.Now()); err != nil {
		return fmt.Errorf("--suppressions: %w", err)
	}
	return nil
}

func (f *growthFlags) limitBytes() (int64, error) {
	if f.memoryLimit == "" {
		return 0, nil
	}
	n, err := units.ParseBytes(f.memoryLimit)
	if err != nil {
		return 0, fmt.Errorf("--memory-limit: %w", err)
	}
	return n, nil
}

func (a *app) warnExpired(l *suppress.List) {
	if l == nil {
		return
	}
	for _, e := range l.Expired {
		a.warn(fmt.Sprintf("%s:%d: leak:%s expired on %s and no longer applies", l.Name, e.Line, e.Pattern, e.Until.Format(time.DateOnly)))
	}
}

// choose turns --since and --until into snapshots.
func (f *growthFlags) choose(s *series.Series, o *growth.Options) (err error) {
	if o.From, err = moment(s, "--since", f.since, 0); err != nil {
		return err
	}
	last, err := moment(s, "--until", f.until, len(s.Heads)-1)
	if err != nil {
		return err
	}
	o.To = last + 1
	if o.From >= o.To {
		return fmt.Errorf("no snapshot lies between --since %s and --until %s", cmp.Or(f.since, "the first"), cmp.Or(f.until, "the last"))
	}
	return nil
}

// moment is the first snapshot at or after a moment for --since, the last one at or before it for --until.
func moment(s *series.Series, flag, text string, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > len(s.Heads) {
			return 0, fmt.Errorf("%s %d: the series has snapshots 1 to %d", flag, n, len(s.Heads))
		}
		return n - 1, nil
	}
	seconds, err := sinceFirst(s, text)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", flag, text, err)
	}
	if flag == "--since" { // times may fall where a process restarted
		first := slices.IndexFunc(s.Clock.At, func(t float64) bool { return t >= seconds })
		if first < 0 {
			first = len(s.Heads)
		}
		return first, nil
	}
	for i := len(s.Clock.At) - 1; i >= 0; i-- {
		if s.Clock.At[i] <= seconds {
			return i, nil
		}
	}
	return -1, nil
}

// sinceFirst is a duration, or a time, as seconds since the first snapshot.
func sinceFirst(s *series.Series, text string) (float64, error) {
	if !s.Clock.Source.IsTime() {
		return 0, errors.New("the times of the snapshots are not known: give a snapshot's number")
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), nil
	}
	t, err := parseTime(text)
	if err != nil {
		return 0, err
	}
	return t.Sub(slices.MinFunc(s.Clock.Times, time.Time.Compare)).Seconds(), nil
}

// parseTime reads a time as RFC 3339 has it, or as tables show it: in UTC, without a zone.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("want a snapshot's number (5), the time since the first one (10m) or a time (2026-01-02T15:04:05Z)")
}

// judge sets the exit status of --fail-on. Bad input weighs more than a finding.
func (a *app) judge(failOn string, r *growth.Result) {
	if failOn == "" || a.status == exitFailure {
		return
	}
	for _, s := range r.Sites {
		if s.Label.IsLeak() || (failOn == "suspect" && s.Label == trend.Suspect) {
			a.status = exitFound
			return
		}
	}
	if r.Verdict == growth.VerdictUndecided {
		a.status = exitFailure
		a.complain(fmt.Errorf("no verdict: %s", growthreport.Reason(r)))
	}
}
