package processes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Judged is the verdict on a process of a recording.
type Judged struct {
	series.Process
	Verdict verdict.Series
	// Why is the reason of the verdict. NotJudged is the reason why the process was not judged at all; "" if it was.
	Why, NotJudged string
	// DataMissing reports whether there is no verdict because data are missing.
	DataMissing bool
	// Chance is the probability that the process leaks; nil without a verdict.
	Chance *float64
	// Leaks and Suspects are the numbers of sites and causes with these labels.
	Leaks, Suspects int
	// Result is without the curves of the sites; nil if the process was not read.
	Result *growth.Result

	// keys are those of the sites that may leak, by their first member.
	keys     map[symbolize.SiteID]Key
	evidence map[Key]growth.Evidence
	// judgedFor is how long the process was judged, in units of the clock.
	judgedFor float64
	// alone is the probability that the process leaks by what it shows itself.
	alone float64
	// leaked is the number of bytes that the worst site has leaked at least, times its confidence.
	leaked float64
}

// Judge returns the verdict on the process of a series. It does not refer to the series. key returns the key of a site.
func Judge(s *series.Series, r *growth.Result, key func(*growth.Site) Key) Judged {
	judgedFor := s.Clock.At[r.Last] - s.Clock.At[r.First]
	p := Judged{
		Process: s.Process, Result: r.WithoutCurves(), keys: map[symbolize.SiteID]Key{},
		evidence: evidenceOf(&s.Process, r, judgedFor, key), judgedFor: judgedFor, alone: r.Chance,
	}
	for i := range r.Sites {
		if s := &r.Sites[i]; s.CanLeak {
			p.keys[s.Members[0]] = key(s)
		}
	}
	p.Files = len(s.Heads)
	switch r.Why {
	case verdict.TooFewSnapshots:
		p.NotJudged = tooShort
	case verdict.NothingRecorded:
		p.NotJudged = "no allocation was recorded"
	}
	p.conclude()
	return p
}

// Key returns the key of a site of the result; the zero value if it cannot be called a leak.
func (p *Judged) Key(s *growth.Site) Key { return p.keys[s.Members[0]] }

// conclude sets the verdict that follows from the result.
func (p *Judged) conclude() {
	r := p.Result
	p.Verdict, p.Why, p.DataMissing = r.Verdict, r.Reason(), r.Why.DataMissing()
	p.Leaks, p.Suspects = r.Leaks+r.LeakingCauses, r.Suspects
	p.Chance, p.leaked = nil, 0
	if !p.DataMissing {
		chance := r.Chance
		p.Chance = &chance
	}
	if s, _ := p.Worst(); s != nil {
		p.leaked = s.Low * p.judgedFor * s.Confidence
	}
}

// Worst returns the cause or the site that leaks, or may leak; nil if there is none. isCause reports which of them it
// is.
func (p *Judged) Worst() (s *growth.Site, isCause bool) {
	if p.Result == nil {
		return nil, false
	}
	if c := p.Result.LeakingCause(); c != nil {
		return &c.Site, true
	}
	if list := p.Result.Sites; len(list) > 0 && list[0].Label.IsSuspicious() {
		return &list[0], false
	}
	return nil, false
}

// tooShort is why a process with too few snapshots is not judged.
var tooShort = fmt.Sprintf("fewer than %d snapshots", verdict.MinPoints)

// TooShort is a process that wrote too few snapshots to be judged.
func TooShort(p series.Process) Judged { return NotJudged(p, tooShort) }

// NotJudged is a process that was not judged, for a reason.
func NotJudged(p series.Process, why string) Judged {
	return Judged{Process: p, Verdict: verdict.SeriesUndecided, Why: why, DataMissing: true, NotJudged: why}
}

// Worse compares two processes. A leak is worse than missing data, which is worse than no leak. Of
// two leaks that which has leaked more is worse: a process that ran for a short time shows little,
// however fast it grew. So the chance of a leak decides together with the time. If these are nearly the
// same, as for processes of one program, what a process shows itself decides. A process with too few
// snapshots tells least.
func Worse(p, q *Judged) int {
	const nearly = 1.1
	chance := func(p *Judged) float64 {
		if p.Chance == nil {
			return math.Inf(-1)
		}
		return math.Round(math.Log(*p.Chance*p.judgedFor) / math.Log(nearly))
	}
	byBytes := 0
	if p.Verdict == verdict.SeriesLeak && q.Verdict == verdict.SeriesLeak {
		byBytes = cmp.Compare(p.leaked, q.leaked)
	}
	return cmp.Or(cmp.Compare(p.severity(), q.severity()), byBytes, cmp.Compare(chance(p), chance(q)),
		cmp.Compare(p.alone*p.judgedFor, q.alone*q.judgedFor))
}

func (p *Judged) severity() int {
	switch {
	case p.NotJudged == "":
	case p.Result == nil: // it was not read
		return -1
	default:
		return 0
	}
	return len(verdict.AllSeries()) - p.Verdict.Rank()
}

// Short is the number of processes that ran to the end of the recording, have too few snapshots,
// and had more memory than those that were judged; 0 if they had less.
func Short(all []*Judged) (n int) {
	var last time.Time
	running := false
	for _, p := range all {
		switch end := p.End; {
		case end == nil:
			running = true
		case end.Time.After(last):
			last = end.Time
		}
	}
	var judged, short int64
	for _, p := range all {
		atEnd := p.End == nil || !running && last.Sub(p.End.Time) < atTheEnd
		switch {
		case p.NotJudged == "":
			judged += p.PeakInuse
		case p.NotJudged == tooShort && atEnd:
			short += p.PeakInuse
			n++
		}
	}
	if short <= judged {
		return 0
	}
	return n
}

// atTheEnd is the time within which the processes of a program end that is stopped.
const atTheEnd = 5 * time.Second

// LeaksIn is the number of processes in which a site leaks.
func LeaksIn(all []*Judged, key Key) (n int) {
	for _, p := range all {
		if p.Result != nil && slices.ContainsFunc(p.Result.Sites, func(s growth.Site) bool {
			return s.Label.IsLeak() && p.Key(&s) == key
		}) {
			n++
		}
	}
	return n
}
