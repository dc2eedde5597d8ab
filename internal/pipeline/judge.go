package pipeline

import (
	"context"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
)

// Judgement is how a series is judged.
type Judgement struct {
	Source
	// Options are those of the judge, except for the range of snapshots and the filter.
	growth.Options
	// Period, if not nil, returns the range of snapshots to judge: from, up to but not including
	// to.
	Period func(*series.Series) (from, to int, err error)
}

// Judge reads a series and judges it. The caller closes it.
func (p *Pipeline) Judge(ctx context.Context, paths []string, o *Judgement) (*growthreport.Report, error) {
	var columns sites.Collector
	in, err := p.Open(paths, &o.Source, columns.Visit)
	if err != nil {
		return nil, err
	}
	report, err := p.judge(ctx, in, &columns, o)
	if err != nil {
		in.Close()
		return nil, err
	}
	return report, nil
}

func (p *Pipeline) judge(
	ctx context.Context,
	in *Input,
	columns *sites.Collector,
	o *Judgement,
) (*growthreport.Report, error) {
	options := o.Options
	if o.Period != nil {
		var err error
		if options.From, options.To, err = o.Period(in.Series); err != nil {
			return nil, err
		}
	}
	if err := p.Name(ctx, in, &o.Source); err != nil {
		return nil, err
	}
	options.Filter = in.Filter
	result := growth.Judge(in.Series, in.Symbols, columns, options)
	if result.Kept == 0 && in.Filter != nil {
		return nil, ErrNothingKept
	}
	p.tellExpired(o.Suppressions)
	unnamed := siteview.NewUnnamed(in.Symbols, o.Rules)
	for id := range in.Stacks.Len() {
		if id := heapfile.StackID(id); in.Filter.Keep(id) {
			unnamed.Add(id, columns.InUse(id, result.Last))
		}
	}
	return &growthreport.Report{
		Series: in.Series, Symbols: in.Symbols, Result: result, Filter: in.Filter, Unnamed: unnamed.Done(),
		Options: siteview.Options{Rules: o.Rules, GroupBy: o.GroupBy, Flags: p.Flags},
	}, nil
}

// Unnamed returns how much memory of the last snapshot was allocated by functions without names.
func (p *Pipeline) Unnamed(ctx context.Context, in *Input, o *Source) (*siteview.Unnamed, error) {
	if err := p.Resolve(ctx, in, o.Symbols); err != nil {
		return nil, err
	}
	unnamed := siteview.NewUnnamed(in.Symbols, nil)
	snap, err := in.Read(len(in.Heads) - 1)
	if err != nil {
		return nil, err
	}
	for _, row := range snap.Samples {
		unnamed.Add(row.Stack, snap.Estimate(row).InuseBytes)
	}
	return unnamed.Done(), nil
}
