package summary

import (
	"fmt"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Options are what the snapshots do not say. The zero value works.
type Options struct {
	// Rules decide which frame a site is attributed to; nil takes the default ones.
	Rules *class.Rules
	// Name of the run; "" takes the directory of its snapshots.
	Name string
	// Command is the recorded command line. Workload identifies the work that the program did; ""
	// means a hash of Command.
	Command  []string
	Workload string
	// Work is the number of units of work done, 0 if it is unknown.
	Work float64
	// Holder, if not nil, returns what holds nearly all blocks of some sites, in words, or "". It is
	// called with all sites of a function.
	Holder func([]symbolize.SiteID) string
	// Labels are the user's own.
	Labels map[string]string
}

// New returns the summary of a run: of the snapshots that [sites.JudgedRange] takes of the whole
// series. The collector must have visited the series. The run has no notes: they are text, which
// the caller writes.
func New(series *series.Series, symbols *symbolize.Symbols, c *sites.Collector, o Options) (*baseline.Run, error) {
	s, err := scopeOf(series, symbols, c, o.Rules)
	if err != nil {
		return nil, err
	}
	run := &baseline.Run{Meta: s.meta(o), Total: s.total()}
	run.Sites = s.sites(run.Total, o.Holder)
	run.Rest = run.Total
	for i := range run.Sites {
		run.Rest = run.Rest.Sub(run.Sites[i].Level)
	}
	if err := run.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", run.Meta.Name, err)
	}
	return run, nil
}

// scope is the part of a series that is summed up. It is not changed after scopeOf.
type scope struct {
	sites.Range
	series  *series.Series
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	namer   *identity.Namer
	columns *sites.Columns
	half    []int         // the second half of the range, by time
	end     *compare.Side // the last snapshot, which has the cumulative counts
}

func scopeOf(
	series *series.Series,
	symbols *symbolize.Symbols,
	c *sites.Collector,
	rules *class.Rules,
) (*scope, error) {
	judged := sites.JudgedRange(series, 0, 0)
	end, err := compare.NewSide(series, symbols, judged.Last, nil)
	if err != nil {
		return nil, err
	}
	blamer := class.NewBlamer(symbols, rules)
	return &scope{
		Range: judged, series: series, symbols: symbols, blamer: blamer, namer: identity.NewNamer(symbols, blamer),
		columns: c.Columns(series, symbols), half: secondHalf(series.Clock.At, judged), end: end,
	}, nil
}

// secondHalf are the snapshots of a range in the second half of its time.
func secondHalf(at []float64, r sites.Range) (half []int) {
	middle := at[r.First] + (at[r.Last]-at[r.First])/2
	for i := r.First; i <= r.Last; i++ {
		if at[i] >= middle {
			half = append(half, i)
		}
	}
	return half
}
