package pipeline

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/processes"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
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
	// Visit, if not nil, is called with each process while its series is in memory. It has the
	// verdict on it alone.
	Visit func(*Judged)
	// Each, if not nil, is called with the processes that were judged, the worst first, and at most
	// Most of them, and with the number of all. Those after the first are read again.
	Each func(j *Judged, all int) error
	Most int
}

// builtinEngine is the name of the engine whose snapshots tell when memory was allocated.
const builtinEngine = "builtin"

// Judged is a series with its verdicts, and what else is known of its sites. It is not safe for
// concurrent use.
type Judged struct {
	Series  *series.Series
	Symbols *symbolize.Symbols
	Result  *growth.Result
	// Filter selects the stacks that were judged; nil selects all.
	Filter *symbolize.Filter
	// Process is the verdict on the process of the series, and All are those on all processes of the
	// recording, worst first.
	Process *processes.Judged
	All     []*processes.Judged
	// Unnamed is of the last snapshot that was judged; it may be nil.
	Unnamed *class.Unnamed
	// Losses are what other tools found; it may be nil.
	Losses *evidence.Joined
	// Holders are what holds the blocks of the sites; it may be nil.
	Holders Holders
	// NoHolders is why they are not known; "" if they are, or that is not known either.
	NoHolders string
	// Ages tell when the memory of the sites was allocated; it may be nil.
	Ages *ages.Ages
	// Looked is when the recorder looked last.
	Looked time.Time
	// Resident is where the resident memory was, as the recorder saw it last; it may be nil.
	Resident *rss.Result

	recording *Recording
	keys      *processes.Keys
}

// Close frees what reading the snapshots took.
func (j *Judged) Close() error {
	if j.recording == nil {
		return nil
	}
	return j.recording.Close()
}

// FromBundle reports whether the snapshots are in a bundle.
func (j *Judged) FromBundle() bool { return j.recording != nil && j.recording.bundle != nil }

// Key returns the key of a site in all processes.
func (j *Judged) Key(s *growth.Site) processes.Key { return j.keys.Of(s) }

// conclude sets the verdict on the process by itself.
func (j *Judged) conclude(o *Judgement) {
	verdict := processes.Judge(j.Series, j.Result, j.Key)
	j.Process, j.All = &verdict, []*processes.Judged{&verdict}
	if o.Visit != nil {
		o.Visit(j)
	}
}

// Judge reads the series of all processes at some paths, or of the one that is chosen, and judges
// them one after another. It returns the worst. The caller closes it.
func (p *Pipeline) Judge(ctx context.Context, paths []string, o *Judgement) (*Judged, error) {
	index, err := p.Evidence(ctx, o.Evidence, o.Symbols, o.Rules)
	if err != nil {
		return nil, err
	}
	r, err := p.Find(paths, &o.Source)
	if err != nil {
		return nil, err
	}
	var judged *Judged
	var j judgeAll
	losses := lossesOf{index, r.Processes}
	if o.Process == "" && len(r.Processes) > 1 {
		p.tellProblems(r.Problems, o.Strict)
		p.tellList(r.Warnings, o.Strict)
		all := *o
		all.KeepStable = true // what one process does not list is evidence for another
		j = judgeAll{Pipeline: p.once(), recording: r, losses: losses, Judgement: &all}
		judged, err = j.run(ctx)
	} else if judged, err = p.judgeOne(ctx, r, losses, o); err == nil {
		judged.conclude(o)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	judged.recording = r
	if o.Each != nil {
		if err := j.each(ctx, judged, o); err != nil {
			return nil, errors.Join(err, judged.Close())
		}
	}
	return judged, nil
}

// JudgeEach judges the processes at some paths, or the one that is chosen, and calls use with each,
// which is valid until use returns. A process that cannot be judged is left out, with a notice,
// unless there is no other.
func (p *Pipeline) JudgeEach(ctx context.Context, paths []string, o *Judgement, use func(*Judged) error) error {
	r, err := p.Find(paths, &o.Source)
	if err != nil {
		return err
	}
	defer r.Close()
	losses := lossesOf{nil, r.Processes}
	if o.Process != "" || len(r.Processes) == 1 {
		judged, err := p.judgeOne(ctx, r, losses, o)
		if err != nil {
			return err
		}
		return use(judged)
	}
	p.tellProblems(r.Problems, o.Strict)
	p.tellList(r.Warnings, o.Strict)
	j := judgeAll{Pipeline: p.once(), recording: r, losses: losses, Judgement: o}
	used := false
	for _, process := range r.mainFirst() {
		judged, err := j.read(ctx, process)
		if why := notJudged(err); why != "" {
			j.notJudged = cmp.Or(j.notJudged, err)
			about := r.Processes[process]
			text := "process " + about.Name() + ": " + why
			j.Tell(Notice{Kind: UnusableFile, Doubtful: true, Subject: about.Prefix, Text: text})
			continue
		}
		if err == nil {
			err = use(judged)
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
func (p *Pipeline) judgeOne(ctx context.Context, r *Recording, losses lossesOf, o *Judgement) (*Judged, error) {
	var columns sites.Collector
	in, err := p.openOne(r, &o.Source, columns.Visit)
	if err != nil {
		return nil, err
	}
	return p.judge(ctx, in, &columns, losses, o)
}

// judgeAll judges the processes of a recording one after another, and then all together. It keeps
// only one series, that of the process that is worst by itself, because a series takes much memory.
type judgeAll struct {
	*Pipeline
	*Judgement
	recording *Recording
	losses    lossesOf

	worst     *Judged
	all       []judgedProcess
	pools     processes.Pools
	records   []*evidence.Record // that belong to a site of any process
	notJudged error              // the first reason
}

type judgedProcess struct {
	*processes.Judged
	index int // in the recording
}

func (j *judgeAll) run(ctx context.Context) (*Judged, error) {
	for _, i := range j.recording.mainFirst() { // the first of equals is returned
		if err := j.add(ctx, i); err != nil {
			return nil, err
		}
	}
	if j.worst == nil {
		return nil, j.notJudged
	}
	return j.together(ctx)
}

// together judges the processes by what all of them show, and returns the worst.
func (j *judgeAll) together(ctx context.Context) (*Judged, error) {
	j.pools = processes.PoolsOf(j.verdicts())
	for _, p := range j.all {
		*p.Judged = j.pools.Pooled(*p.Judged, j.Options)
	}
	slices.SortStableFunc(j.all, func(a, b judgedProcess) int { return processes.Worse(b.Judged, a.Judged) })
	judged := j.worst
	if worst := j.all[0]; worst.Judged != judged.Process {
		var err error
		if judged, err = j.read(ctx, worst.index); err != nil {
			return nil, err
		}
	}
	j.pool(judged, j.all[0].Judged)
	judged.Result = judged.Result.WithShort(processes.Short(judged.All))
	return judged, nil
}

func (j *judgeAll) verdicts() (out []*processes.Judged) {
	for _, p := range j.all {
		out = append(out, p.Judged)
	}
	return out
}

// pool gives a process the verdicts that all processes show together.
func (j *judgeAll) pool(judged *Judged, verdict *processes.Judged) {
	judged.Process, judged.All = verdict, j.verdicts()
	judged.Result = j.pools.Result(judged.Result, &judged.Series.Process, judged.Key, j.Options)
	if judged.Losses != nil {
		judged.Losses.Found(j.records)
	}
}

// add judges a process. One that has too few snapshots is not read, unless it is the main one.
func (j *judgeAll) add(ctx context.Context, process int) error {
	about := j.recording.Processes[process]
	if about.Files < verdict.MinPoints && process != j.recording.Main {
		short := processes.TooShort(about)
		j.all = append(j.all, judgedProcess{&short, process})
		return nil
	}
	judged, err := j.read(ctx, process)
	if why := notJudged(err); why != "" {
		j.notJudged = cmp.Or(j.notJudged, err)
		without := processes.NotJudged(about, why)
		j.all = append(j.all, judgedProcess{&without, process})
		return nil
	}
	if err != nil {
		return err
	}
	judged.conclude(j.Judgement)
	j.all = append(j.all, judgedProcess{judged.Process, process})
	if judged.Losses != nil {
		j.records = append(j.records, judged.Losses.Records()...)
	}
	if j.worst == nil || processes.Worse(judged.Process, j.worst.Process) > 0 {
		j.worst = judged
	}
	return nil
}

// each calls Each with the worst process, which is given, and with the others; j may be the zero
// value if there are none.
func (j *judgeAll) each(ctx context.Context, worst *Judged, o *Judgement) error {
	var others []judgedProcess
	for i, p := range j.all {
		if i > 0 && p.Result != nil && p.Files >= verdict.MinPoints {
			others = append(others, p)
		}
	}
	all := len(others) + 1
	if err := o.Each(worst, all); err != nil {
		return err
	}
	for _, other := range others[:min(len(others), max(o.Most-1, 0))] {
		judged, err := j.read(ctx, other.index)
		if err != nil {
			return err
		}
		j.pool(judged, other.Judged)
		judged.recording = j.recording
		if err := o.Each(judged, all); err != nil {
			return err
		}
	}
	return nil
}

// read judges a process by itself.
func (j *judgeAll) read(ctx context.Context, process int) (*Judged, error) {
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
) (*Judged, error) {
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
	born, err := agesOf(in, options)
	if err != nil {
		return nil, err
	}
	options.Ages = born
	result := growth.Judge(in.Series, in.Symbols, columns, options)
	if result.Kept == 0 && in.Filter != nil {
		return nil, ErrNothingKept
	}
	p.tellExpired(o.Suppressions)
	unnamed := class.NewUnnamed(in.Symbols, o.Rules)
	for id := range in.Stacks.Len() {
		if id := heapfile.StackID(id); in.Filter.Keep(id) {
			unnamed.Add(id, columns.InUse(id, result.Last))
		}
	}
	judged := &Judged{
		Series: in.Series, Symbols: in.Symbols, Result: result, Filter: in.Filter, Unnamed: unnamed.Done(), Ages: born,
		keys: processes.NewKeys(in.Series, in.Symbols, o.Rules, o.GroupBy),
	}
	seen := p.holders(in)
	judged.Holders, judged.Resident, judged.NoHolders, judged.Looked = seen.sites, seen.resident, seen.refused, seen.time
	if losses.index != nil {
		judged.Losses = evidence.Join(result, in.Symbols, losses.of(&in.Process), o.Rules)
	}
	return judged, nil
}

// agesOf reads when the memory of the judged snapshots was allocated; nil if they do not tell it.
func agesOf(in *Input, o growth.Options) (*ages.Ages, error) {
	if m := in.Manifest; m == nil || m.Recording == nil || m.Recording.Engine != builtinEngine {
		return nil, nil
	}
	judged := sites.JudgedRange(in.Series, o.From, o.To)
	return ages.Read(in.Series, in.Symbols, ages.Options{First: judged.First, Last: judged.Last})
}

// Unnamed returns how much memory of the last snapshot was allocated by functions without names.
func (p *Pipeline) Unnamed(ctx context.Context, in *Input, o *Source) (*class.Unnamed, error) {
	if err := p.Resolve(ctx, in, o.Symbols); err != nil {
		return nil, err
	}
	unnamed := class.NewUnnamed(in.Symbols, nil)
	snap, err := in.Read(len(in.Heads) - 1)
	if err != nil {
		return nil, err
	}
	for _, row := range snap.Samples {
		unnamed.Add(row.Stack, snap.Estimate(row).InuseBytes)
	}
	return unnamed.Done(), nil
}
