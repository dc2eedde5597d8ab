package pipeline

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/processes"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
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
	// Evidence are the paths of reports of memcheck and LeakSanitizer.
	Evidence []string
	// Each, if not nil, is called with the processes that were judged, the worst first, and at most
	// Most of them. Those after the first are read again.
	Each func(Judged) error
	Most int
	// Survival tells also how much of what was allocated in each part of the series survives the next ones.
	Survival bool
}

// builtinEngine is the name of the engine whose snapshots tell when memory was allocated.
const builtinEngine = "builtin"

// Judged is the report on a process, and how many were judged.
type Judged struct {
	*growthreport.Report
	Processes  int
	FromBundle bool
}

// Judge reads the series of all processes at some paths, or of the one that is chosen, and judges
// them one after another. The report is on the worst, and has the verdicts on all of them. The
// caller closes it.
func (p *Pipeline) Judge(ctx context.Context, paths []string, o *Judgement) (*growthreport.Report, error) {
	index, err := p.Evidence(ctx, o.Evidence, o.Symbols, o.Rules)
	if err != nil {
		return nil, err
	}
	r, err := p.Find(paths, &o.Source)
	if err != nil {
		return nil, err
	}
	var report *growthreport.Report
	var j judgeAll
	losses := lossesOf{index, r.Processes}
	if o.Process == "" && len(r.Processes) > 1 {
		p.tellProblems(r.Problems, o.Strict)
		p.tellList(r.Warnings, o.Strict)
		all := *o
		all.KeepStable = true // what one process does not list is evidence for another
		j = judgeAll{Pipeline: p.once(), recording: r, losses: losses, Judgement: &all}
		report, err = j.run(ctx)
	} else if report, err = p.judgeOne(ctx, r, losses, o); err == nil {
		report.Processes = []growthreport.Process{report.Judged()}
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	show(report)
	report.Input = r
	if o.Each != nil {
		if err := j.each(ctx, report, r.bundle != nil, o); err != nil {
			return nil, errors.Join(err, report.Close())
		}
	}
	return report, nil
}

// show tells a report which of its processes it is on, and what other tools found in all of them.
func show(report *growthreport.Report) {
	for i := range report.Processes {
		q := &report.Processes[i]
		q.Shown = q.Prefix == report.Series.Process.Prefix && q.String() == report.Series.Process.String()
		if report.Losses != nil {
			report.Losses.Found(q.Records)
		}
	}
}

// JudgeEach judges the processes at some paths, or the one that is chosen, and calls use with each
// report, which is valid until use returns. A process that cannot be judged is left out, with a
// notice, unless there is no other.
func (p *Pipeline) JudgeEach(
	ctx context.Context,
	paths []string,
	o *Judgement,
	use func(*growthreport.Report) error,
) error {
	r, err := p.Find(paths, &o.Source)
	if err != nil {
		return err
	}
	defer r.Close()
	losses := lossesOf{nil, r.Processes}
	if o.Process != "" || len(r.Processes) == 1 {
		report, err := p.judgeOne(ctx, r, losses, o)
		if err != nil {
			return err
		}
		return use(report)
	}
	p.tellProblems(r.Problems, o.Strict)
	p.tellList(r.Warnings, o.Strict)
	j := judgeAll{Pipeline: p.once(), recording: r, losses: losses, Judgement: o}
	used := false
	for _, process := range r.mainFirst() {
		report, err := j.report(ctx, process)
		if why := notJudged(err); why != "" {
			j.notJudged = cmp.Or(j.notJudged, err)
			about := r.Processes[process]
			text := "process " + about.Name() + ": " + why
			j.Tell(Notice{Kind: UnusableFile, Doubtful: true, Subject: about.Prefix, Text: text})
			continue
		}
		if err == nil {
			err = use(report)
		}
		if err != nil {
			return err
		}
		used = true
	}
	if !used {
		return j.notJudged
	}
	return nil
}

// judgeOne judges the process that is chosen.
func (p *Pipeline) judgeOne(
	ctx context.Context,
	r *Recording,
	losses lossesOf,
	o *Judgement,
) (*growthreport.Report, error) {
	var columns sites.Collector
	in, err := p.openOne(r, &o.Source, columns.Visit)
	if err != nil {
		return nil, err
	}
	return p.judge(ctx, in, &columns, losses, o)
}

// judgeAll judges the processes of a recording one after another, and then all together. It keeps
// only one report, that of the process that is worst by itself, because a report takes as much
// memory as its series.
type judgeAll struct {
	*Pipeline
	*Judgement
	recording *Recording
	losses    lossesOf

	worst     *growthreport.Report
	verdict   processes.Judged // of the worst
	process   int              // index of the worst
	all       []judgedProcess
	pools     processes.Pools
	notJudged error // the first reason
}

type judgedProcess struct {
	growthreport.Process
	index int // in the recording
}

func (j *judgeAll) run(ctx context.Context) (*growthreport.Report, error) {
	for _, i := range j.recording.mainFirst() { // the first of equals makes the report
		if err := j.add(ctx, i); err != nil {
			return nil, err
		}
	}
	if j.worst == nil {
		return nil, j.notJudged
	}
	return j.together(ctx)
}

// together judges the processes by what all of them show, and returns the report of the worst.
func (j *judgeAll) together(ctx context.Context) (*growthreport.Report, error) {
	all := make([]*processes.Judged, len(j.all))
	for i := range j.all {
		all[i] = &j.all[i].Judged
	}
	j.pools = processes.PoolsOf(all)
	for i := range j.all {
		j.all[i].Process = j.all[i].Pooled(j.pools, j.Options)
	}
	slices.SortStableFunc(j.all, func(a, b judgedProcess) int { return processes.Worse(&b.Judged, &a.Judged) })
	report := j.worst
	if worst := j.all[0].index; worst != j.process {
		var err error
		if report, err = j.report(ctx, worst); err != nil {
			return nil, err
		}
	}
	report.Pool(j.pools, j.Options)
	for i := range j.all {
		report.Processes = append(report.Processes, j.all[i].Process)
	}
	report.Result = report.Result.WithShort(processes.Short(growthreport.JudgedOf(report.Processes)))
	return report, nil
}

// add judges a process. One that has too few snapshots is not read, unless it is the main one.
func (j *judgeAll) add(ctx context.Context, process int) error {
	about := j.recording.Processes[process]
	if about.Files < verdict.MinPoints && process != j.recording.Main {
		j.all = append(j.all, judgedProcess{growthreport.Process{Judged: processes.TooShort(about)}, process})
		return nil
	}
	report, err := j.report(ctx, process)
	if why := notJudged(err); why != "" {
		j.notJudged = cmp.Or(j.notJudged, err)
		j.all = append(j.all, judgedProcess{growthreport.Process{Judged: processes.NotJudged(about, why)}, process})
		return nil
	}
	if err != nil {
		return err
	}
	verdict := report.Judged()
	j.all = append(j.all, judgedProcess{verdict, process})
	if j.worst == nil || processes.Worse(&verdict.Judged, &j.verdict) > 0 {
		j.worst, j.verdict, j.process = report, verdict.Judged, process
	}
	return nil
}

// each calls Each with the worst process, whose report is given, and with the others; j may be the
// zero value if there are none.
func (j *judgeAll) each(ctx context.Context, worst *growthreport.Report, fromBundle bool, o *Judgement) error {
	var others []int
	for i := range j.all {
		if p := &j.all[i]; i > 0 && p.Heap != nil && p.Files >= verdict.MinPoints {
			others = append(others, p.index)
		}
	}
	all := len(others) + 1
	if err := o.Each(Judged{worst, all, fromBundle}); err != nil {
		return err
	}
	for _, index := range others[:min(len(others), max(o.Most-1, 0))] {
		report, err := j.report(ctx, index)
		if err != nil {
			return err
		}
		report.Pool(j.pools, j.Options)
		report.Processes = slices.Clone(worst.Processes)
		show(report)
		if err := o.Each(Judged{report, all, fromBundle}); err != nil {
			return err
		}
	}
	return nil
}

func (j *judgeAll) report(ctx context.Context, process int) (*growthreport.Report, error) {
	var columns sites.Collector
	in, err := j.openProcess(j.recording, process, &j.Source, columns.Visit)
	var unusable *series.UnusableError
	if errors.As(err, &unusable) {
		j.tellProblems(unusable.Problems, j.Strict)
	}
	if err != nil {
		return nil, err
	}
	return j.judge(ctx, in, &columns, j.losses, j.Judgement)
}

// notJudged returns why the other processes of a recording are judged without one; "" if they are
// not.
func notJudged(err error) string {
	var unusable *series.UnusableError
	switch {
	case errors.As(err, &unusable):
		return "no snapshot can be used"
	case errors.Is(err, ErrNothingKept):
		return ErrNothingKept.Error()
	}
	var outside *periodError
	if errors.As(err, &outside) {
		return outside.Error()
	}
	return ""
}

// periodError is the error of a period that the snapshots of a process do not have.
type periodError struct{ error }

func (e *periodError) Unwrap() error { return e.error }

func (p *Pipeline) judge(
	ctx context.Context,
	in *Input,
	columns *sites.Collector,
	losses lossesOf,
	o *Judgement,
) (*growthreport.Report, error) {
	options := o.Options
	if o.Period != nil {
		var err error
		if options.From, options.To, err = o.Period(in.Series); err != nil {
			return nil, &periodError{err}
		}
	}
	if err := p.Name(ctx, in, &o.Source); err != nil {
		return nil, err
	}
	options.Filter = in.Filter
	options.KeepStable = o.KeepStable || len(o.Evidence) > 0
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
	report := &growthreport.Report{
		Series: in.Series, Symbols: in.Symbols, Result: result, Filter: in.Filter, Unnamed: unnamed.Done(),
		Options: siteview.Options{Rules: o.Rules, GroupBy: o.GroupBy, Flags: p.Flags},
	}
	seen := p.holders(in)
	report.Holders, report.Resident, report.NoHolders = seen.sites, seen.resident, seen.refused
	if m := in.Manifest; m != nil && m.Recording != nil && m.Recording.Engine == builtinEngine {
		ofJudged := ages.Options{First: result.First, Last: result.Last, Whole: o.Survival}
		var err error
		if report.Ages, err = ages.Read(in.Series, in.Symbols, ofJudged); err != nil {
			return nil, err
		}
	}
	if losses.index != nil {
		report.Losses = evidence.Join(result, in.Symbols, losses.of(&in.Process), o.Rules)
	}
	return report, nil
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
