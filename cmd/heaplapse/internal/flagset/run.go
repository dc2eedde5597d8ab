package flagset

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/diff/summary"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/holders"
)

// Run has the flags that tell how the snapshots of a run become its summary.
type Run struct {
	Series
	Symbols
	Grouping
	// Labels are those of a flag that the command defines.
	Labels []string

	workload string
	work     float64
}

// Add adds the flags.
func (f *Run) Add(cmd *cobra.Command) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.workload, "workload", "", "the `NAME` of the workload: only runs of the same workload are comparable (default: the recorded command line)")
		flags.Float64Var(&f.work, "work", 0, "the run did `N` units of work, such as requests: allocations are compared per unit")
		f.DefineRules(flags)
		f.Usual = "the sum of all"
		f.Series.Define(flags)
	})
	f.Files.Add(cmd)
	help.Refuse(cmd, "demangle", "summaries contain simple names, so that they are comparable")
	f.Demangle = "simple"
}

// Summary returns how the snapshots of a run are summarized.
func (f *Run) Summary() (*pipeline.Summary, error) {
	if f.work < 0 {
		return nil, fmt.Errorf("--work %v: want a number of units of work, above 0", f.work)
	}
	source, err := f.Source(&f.Symbols)
	if err != nil {
		return nil, err
	}
	o := &pipeline.Summary{
		Source: *source, Options: summary.Options{Workload: f.workload, Work: f.work},
		Words: pipeline.Words{Held: holders.Line, Range: growth.RangeNotes, Pooled: growth.PooledNote},
	}
	if o.Labels, err = ParseLabels(f.Labels); err != nil {
		return nil, err
	}
	o.Rules, err = f.BlameRules()
	return o, err
}

// ParseLabels returns the labels of the flag --label.
func ParseLabels(list []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, l := range list {
		key, value, ok := strings.Cut(l, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--label %s: want KEY=VALUE", l)
		}
		if other, ok := labels[key]; ok {
			return nil, fmt.Errorf("--label %s: %s is %q already: give each KEY once", l, key, other)
		}
		labels[key] = value
	}
	return labels, nil
}
