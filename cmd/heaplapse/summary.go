package main

import (
	"context"
	"fmt"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/summary"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// summaryFlags say how snapshots become the summary of a run.
type summaryFlags struct {
	seriesFlags
	symbolFlags
	rules    string
	workload string
	work     float64
	labels   []string
}

func (f *summaryFlags) add(a *app, cmd *cobra.Command) {
	f.seriesFlags.add(a, cmd)
	f.symbolFlags.add(cmd)
	flags := cmd.Flags()
	_ = flags.MarkHidden("demangle")
	flags.StringVar(&f.rules, "blame-rules", "", "a `FILE` of rules that come before the built-in ones: which frames are passed over")
	flags.StringVar(&f.workload, "workload", "", "`NAME` of what the program was asked to do; runs of different ones do not compare (default: a hash of the recorded command line)")
	flags.Float64Var(&f.work, "work", 0, "the run did `N` units of work, such as requests: what it allocated is compared per unit")
}

// read is the run at a PATH: a baseline's file, or snapshots.
func (f *summaryFlags) read(ctx context.Context, a *app, path string) (*baseline.Run, error) {
	if strings.HasSuffix(path, baseline.Suffix) {
		return baseline.Load(path)
	}
	if baseline.IsSet(path) {
		return nil, fmt.Errorf("%s holds baselines: name one of them, or snapshots", path)
	}
	return f.summarize(ctx, a, []string{path})
}

// summarize sums up snapshots.
func (f *summaryFlags) summarize(ctx context.Context, a *app, paths []string) (*baseline.Run, error) {
	o, err := f.options(paths)
	if err != nil {
		return nil, err
	}
	var columns sites.Collector
	s, err := f.open(a, paths, columns.Visit)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if paths[0] != "-" {
		o.Command = recordedCommand(s.Dir())
	}
	symbols, err := f.resolve(ctx, a, s)
	if err != nil {
		return nil, err
	}
	run, err := summary.New(s, symbols, &columns, o)
	if err != nil {
		return nil, err
	}
	run.Meta.Notes = growthreport.RangeNotes(sites.JudgedRange(s, 0, 0))
	return run, nil
}

func (f *summaryFlags) options(paths []string) (summary.Options, error) {
	o := summary.Options{Name: strings.Join(paths, " "), Workload: f.workload, Work: f.work}
	if f.demangle != "simple" {
		return o, fmt.Errorf("--demangle %s: the summaries of runs have simple names, so that they compare", f.demangle)
	}
	if f.work < 0 {
		return o, fmt.Errorf("--work %v: want a number of units of work, above 0", f.work)
	}
	rules := groupFlags{rules: f.rules}
	var err error
	if o.Rules, err = rules.blameRules(); err != nil {
		return o, err
	}
	for _, l := range f.labels {
		key, value, ok := strings.Cut(l, "=")
		if !ok || key == "" {
			return o, fmt.Errorf("--label %s: want KEY=VALUE", l)
		}
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[key] = value
	}
	return o, nil
}

// recordedCommand is the command line that the recorder kept, nil if there is none.
func recordedCommand(dir string) []string {
	m, err := manifest.Load(dir)
	if err != nil || m == nil || m.Recording == nil {
		return nil // reading the series has warned of an error
	}
	return m.Recording.Command
}
