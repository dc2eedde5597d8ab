package growth

import (
	"context"

	"github.com/heaplapse/heaplapse/diff/processes"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
)

// Judge judges series, and makes reports on them.
type Judge struct {
	Pipeline  *pipeline.Pipeline
	Judgement *pipeline.Judgement
	// View is how the reports show sites. The rules and the grouping are those of the judgement.
	View siteview.Options
	// Each, if not nil, is called with the reports as [pipeline.Judgement] says.
	Each func(g *Report, all int) error
}

// Report judges all processes that are recorded at some paths, or the one that Judgement chooses,
// and returns the report on the worst of them. The caller closes it.
func (j *Judge) Report(ctx context.Context, paths []string) (*Report, error) {
	described, o := map[*processes.Judged]Process{}, *j.Judgement
	o.Visit = func(judged *pipeline.Judged) { described[judged.Process] = j.on(judged).OwnProcess() }
	report := func(judged *pipeline.Judged) *Report {
		g := j.on(judged)
		for _, verdict := range judged.All {
			p := described[verdict]
			p.Judged, p.Shown = verdict, verdict == judged.Process
			g.Processes = append(g.Processes, p)
		}
		return g
	}
	if j.Each != nil {
		o.Each = func(judged *pipeline.Judged, all int) error { return j.Each(report(judged), all) }
	}
	worst, err := j.Pipeline.Judge(ctx, paths, &o)
	if err != nil {
		return nil, err
	}
	return report(worst), nil
}

// ForEach judges the processes at some paths, or the one that is chosen, and calls use with a
// report on each by itself, as [pipeline.Pipeline.JudgeEach] does.
func (j *Judge) ForEach(ctx context.Context, paths []string, use func(*Report) error) error {
	return j.Pipeline.JudgeEach(ctx, paths, j.Judgement, func(judged *pipeline.Judged) error { return use(j.on(judged)) })
}

func (j *Judge) on(judged *pipeline.Judged) *Report {
	view := j.View
	view.Rules, view.GroupBy = j.Judgement.Rules, j.Judgement.GroupBy
	return &Report{Judged: judged, Options: view}
}
