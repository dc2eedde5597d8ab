package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/stretchr/testify/require"
)

func scaledSet(p program, n noise, scale func(program) program) []*baseline.Run {
	return scale(p).set(6, n)
}

// TestVerdicts is a table of changes between two builds.
func TestVerdicts(t *testing.T) {
	leak := function{"Metrics::record Server::handle Server::loop main", "metrics.cc", 3 * mib, 4 * mib, 3 * mib}
	for name, c := range map[string]struct {
		p        program
		verdict  Verdict
		function string
		status   Status
	}{
		"nothing":                   {service(), Pass, "Cache::insert", Unchanged},
		"5 % more":                  {service().with("Cache::insert", times(1.05)), Pass, "Cache::insert", Changed},
		"50 % more":                 {service().with("Cache::insert", times(1.5)), Fail, "Cache::insert", Regressed},
		"50 % of a small one":       {service().with("config_read", times(1.5)), Fail, "config_read", Regressed},
		"half as much":              {service().with("Cache::insert", times(0.5)), Pass, "Cache::insert", Improved},
		"a new leak":                {append(service(), leak), Fail, "Metrics::record", Regressed},
		"a small new one":           {append(service(), function{"trace main", "t.cc", mib / 8, 0, 0}), Pass, "trace", New},
		"one is gone":               {service()[1:], Pass, "Cache::insert", Gone},
		"renamed":                   {service().with("Cache::insert", rename("Cache::store Server::handle Server::loop main")), Pass, "Cache::store", Moved},
		"moved to another file":     {service().with("Cache::insert", func(f *function) { f.file = "store.cc" }), Pass, "Cache::insert", Unchanged},
		"another template argument": {service().with("Pool<Node>::grow", rename("Pool<Edge>::grow Index::load main")), Pass, "Pool::grow", Unchanged},
		"its caller inlined":        {service().with("Cache::insert", rename("Cache::insert Server::loop main")), Pass, "Cache::insert", Unchanged},
		"renamed and 50 % more": {service().with("Cache::insert", func(f *function) {
			f.stack, f.bytes = "Cache::store Server::handle Server::loop main", 1.5*f.bytes
		}), Fail, "Cache::store", Regressed},
		"grows and did not": {service().with("Log::buffer", func(f *function) { f.slope = 2 * mib }), Fail, "Log::buffer", Regressed},
	} {
		t.Run(name, func(t *testing.T) {
			r := judged(t, c.p, Options{})
			require.Equal(t, c.verdict, r.Verdict, "%+v", r.Rows)
			require.Equal(t, c.status, status(r, c.function), "%+v", r.Rows)
			if c.verdict == Fail {
				require.Equal(t, c.function, r.Rows[0].Function, "the function that causes it comes first")
			}
		})
	}
}

// TestDrift: 3 % a night passes every comparison with the nights before, and fails against the
// reference run.
func TestDrift(t *testing.T) {
	n := newNoise(5, 0.005)
	var nights []*baseline.Run
	p := service()
	for night := range 11 {
		nights = append(nights, p.run(night, n))
		p = p.with("Cache::insert", times(1.03))
	}
	for night := 4; night <= 10; night++ {
		r, err := Compare(nights[night], nights[1:night], nil, Options{})
		require.NoError(t, err)
		require.Equal(t, Pass, r.Verdict, "night %d", night)
	}
	r, err := Compare(nights[10], nights[1:10], nights[0], Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(r, "Cache::insert"))
	require.Equal(t, BaseReference, r.Rows[0].Values[0].Base)
}

// TestChangesBeforeTheSet: functions that were renamed or shrank after the reference run and before
// the set are not listed night after night. A function that has grown since then is.
func TestChangesBeforeTheSet(t *testing.T) {
	n := newNoise(6, 0.002)
	now := service().with("Cache::insert", rename("Cache::store Server::handle Server::loop main")).with("Index::build", times(0.5)).
		with("Session::open", times(1.05))
	var set []*baseline.Run
	for night := range 5 {
		set = append(set, now.run(10+night, n))
	}
	r, err := Compare(now.run(20, n), set, service().run(0, n), Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	require.Equal(t, Unchanged, status(r, "Cache::store"))
	require.Equal(t, Unchanged, status(r, "Cache::insert"))
	require.Equal(t, Unchanged, status(r, "Index::build"))
	require.Equal(t, Changed, status(r, "Session::open"))
}

// TestRegressionOfTheWholeHeap: no function is large enough to fail, all together are.
func TestRegressionOfTheWholeHeap(t *testing.T) {
	thin := func(bytes float64) (p program) {
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"} {
			p = append(p, function{name + " main", name + ".cc", bytes, 0, 0})
		}
		return p
	}
	var n noise
	r, err := Compare(thin(2.23*mib).run(9, n), thin(2*mib).set(5, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Fail, r.Verdict)
	require.Equal(t, Regressed, r.Total.Status)
	for i := range r.Rows {
		require.Equal(t, Changed, r.Rows[i].Status)
	}
}

// TestMovedShare is that of the current and the latest earlier run: nothing is unmatched once the
// latest baseline has the new name.
func TestMovedShare(t *testing.T) {
	var n noise
	renamed := service().with("Cache::insert", rename("Cache::store Server::handle Server::loop main"))
	set := service().set(3, n)
	r, err := Compare(renamed.run(9, n), set, nil, Options{})
	require.NoError(t, err)
	require.InDelta(t, 0.4, r.MovedShare, 1e-9)
	require.InDelta(t, r.UnmatchedShare(), r.MovedShare, 1e-9)
	r, err = Compare(renamed.run(9, n), append(set, renamed.run(4, n)), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Moved, status(r, "Cache::store"))
	require.Zero(t, r.MovedShare)
}

// TestTheHeapWithoutWhatRegressed: the heap as a whole regresses by itself only if it does so without
// the functions that regressed.
func TestTheHeapWithoutWhatRegressed(t *testing.T) {
	leak := function{"Metrics::record Server::handle Server::loop main", "metrics.cc", 30 * mib, 0, 0}
	r := judged(t, append(service(), leak), Options{})
	require.Equal(t, Regressed, status(r, "Metrics::record"))
	require.Equal(t, Changed, r.Total.Status)
	require.True(t, r.Total.Values[0].Exceeds)
	require.Len(t, r.Same, r.Unchanged)
	require.Equal(t, 8, len(r.Rows)+len(r.Same), "every function is in the result")

	thin := append(service(), leak)
	for i := range 40 {
		thin = append(thin, function{fmt.Sprintf("f%d main", i), "thin.cc", 0.9 * mib, 0, 0})
	}
	r, err := Compare(thin.run(9, noise{}), service().set(3, noise{}), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, "Metrics::record", r.Rows[0].Function)
	require.Equal(t, New, r.Rows[1].Status)
	require.Equal(t, Regressed, r.Total.Status)
	require.Equal(t, Fail, r.Verdict)
}

// TestFewBaselines: without an estimate of the noise, only the thresholds apply, and a note says
// so.
func TestFewBaselines(t *testing.T) {
	var n noise
	r, err := Compare(service().with("Cache::insert", times(1.5)).run(9, n), service().set(3, n), nil, Options{})
	require.NoError(t, err)
	require.False(t, r.Significance)
	require.Equal(t, Fail, r.Verdict)
	require.Zero(t, r.Rows[0].Values[0].Z)
	require.Equal(t, Note{Kind: NoteFewBaselines, Count: 3}, r.Notes[0])
}

// TestTighterThresholds: 8 % fails with a lower threshold, for all functions or for one.
func TestTighterThresholds(t *testing.T) {
	three := 3.0
	p := service().with("Cache::insert", times(1.08))
	r := judged(t, p, Options{Thresholds: Override{Percent: &three}})
	require.Equal(t, Regressed, status(r, "Cache::insert"))
	pattern, err := suppress.Compile("^Cache::*")
	require.NoError(t, err)
	r = judged(t, p, Options{Sites: []SiteRule{{Pattern: pattern, Override: Override{Percent: &three}}}})
	require.Equal(t, Regressed, status(r, "Cache::insert"))
	require.Equal(t, three, listed(r, "Cache::insert").Thresholds.Percent)
	require.NotContains(t, kinds(r), NoteUnusedRule)
	nothing, err := suppress.Compile("Cashe")
	require.NoError(t, err)
	r = judged(t, p, Options{Sites: []SiteRule{{Pattern: nothing, Override: Override{Percent: &three}}}})
	require.Contains(t, r.Notes, Note{Kind: NoteUnusedRule, Text: "Cashe"})
	r = judged(t, service().with("Session::open", times(1.08)), Options{Sites: []SiteRule{{Pattern: pattern, Override: Override{Percent: &three}}}})
	require.Equal(t, Pass, r.Verdict)
}

// TestChosenZ: a change of 5 % is two and a half times the smallest noise. With many functions the
// default requires more than 3; a z that the caller chose is not raised.
func TestChosenZ(t *testing.T) {
	var many program
	for i := range 200 {
		many = append(many, function{fmt.Sprintf("f%03d main", i), "f.cc", 40 * mib, 0, 0})
	}
	worse := append(program{}, many...)
	worse[7].bytes *= 1.05
	two, three, zero := 2.0, 3.0, 0.0
	of := func(o Override) *Result {
		r, err := Compare(worse.run(9, noise{}), many.set(6, noise{}), nil, Options{Thresholds: o})
		require.NoError(t, err)
		return r
	}
	require.Equal(t, Fail, of(Override{Percent: &three, Share: &zero, Z: &two}).Verdict)
	require.Equal(t, Fail, of(Override{Percent: &three, Share: &zero, Z: &zero}).Verdict)
	r := of(Override{Percent: &three, Share: &zero})
	require.Equal(t, Pass, r.Verdict)
	require.InDelta(t, 3.48, r.Rows[0].Values[0].Need, 0.01)
}

// TestExcludedFromTheWholeHeap: the heap as a whole does not fail for a function that may grow.
func TestExcludedFromTheWholeHeap(t *testing.T) {
	sixty := 60.0
	pattern, err := suppress.Compile("Cache::insert")
	require.NoError(t, err)
	o := Options{Sites: []SiteRule{{Pattern: pattern, Override: Override{Percent: &sixty}}}}
	require.Equal(t, Pass, judged(t, service().with("Cache::insert", times(1.5)), o).Verdict)
	require.Equal(t, Fail, judged(t, service().with("Cache::insert", times(1.8)), o).Verdict)
}

// TestSuppressed: a known regression passes, and is listed. A call path of the same function
// without a suppression is not hidden by it. An expired suppression does not apply, and is
// reported.
func TestSuppressed(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	list := func(text string) Options {
		l, err := suppress.Parse(text, "known.txt", now)
		require.NoError(t, err)
		return Options{Suppressions: l}
	}
	worse := service().with("Cache::insert", times(1.5))
	r := judged(t, worse, list("# until 2026-12-31: next release\nleak:Cache::insert\n"))
	require.Equal(t, Pass, r.Verdict)
	require.Equal(t, Suppressed, status(r, "Cache::insert"))
	require.Equal(t, "next release", listed(r, "Cache::insert").Suppression.Reason)
	require.Equal(t, Note{Kind: NoteExcluded, Count: 1, Bytes: listed(r, "Cache::insert").Values[0].After}, r.Notes[0])

	r = judged(t, worse, list("# until 2026-02-28: last release\nleak:Cache::insert\n"))
	require.Equal(t, Fail, r.Verdict)
	require.Len(t, r.Expired, 1)

	twin := append(service(), function{"Cache::insert Importer::run main", "cache.cc", 30 * mib, 0, 0})
	r = judged(t, twin, list("leak:Importer\n"))
	require.Equal(t, Pass, r.Verdict)
	r = judged(t, twin.with("Cache::insert Server::handle", times(1.5)), list("leak:Importer\n"))
	require.Equal(t, Fail, r.Verdict)
}

// TestAllocatedPerUnitOfWork: twice the work allocates twice as much, which is no regression. Twice
// as much for the same work is one. Without an amount of work it is shown, and does not fail.
func TestAllocatedPerUnitOfWork(t *testing.T) {
	var n noise
	worked := func(p program, night int, work, factor float64) *baseline.Run {
		p = append(program{}, p...)
		for i := range p {
			p[i].alloc *= factor
		}
		r := p.run(night, n)
		r.Meta.Work = work
		return r
	}
	var set []*baseline.Run
	for night := range 5 {
		set = append(set, worked(service(), night, 1000, 1))
	}
	r, err := Compare(worked(service(), 9, 2000, 2), set, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	churn := service().with("parse_request", func(f *function) { f.alloc *= 2 })
	r, err = Compare(worked(churn, 9, 2000, 2), set, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Fail, r.Verdict)
	row := listed(r, "parse_request")
	require.Equal(t, MetricAllocated, row.Values[0].Metric)
	require.InEpsilon(t, 800*mib/1000.0, row.Values[0].Before, 1e-9)
	require.InEpsilon(t, 1600*mib/1000.0, row.Values[0].After, 1e-9)

	r, err = Compare(churn.run(9, n), service().set(5, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	require.Equal(t, Changed, status(r, "parse_request"))
	require.False(t, listed(r, "parse_request").Values[0].Judged)

	r, err = Compare(worked(churn, 9, 2000, 2), service().set(5, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	require.Contains(t, r.Notes, Note{Kind: NoteAllocatedOmitted, Count: 5, Of: 5})
}

// TestSamplingNoise: two samples of 512 KiB do not prove a regression of 1 MiB.
func TestSamplingNoise(t *testing.T) {
	sampled := func(p program, night int) *baseline.Run {
		r := p.run(night, noise{})
		r.Meta.Period = 524288
		for i := range r.Sites {
			r.Sites[i].Noise = 1024 * 1.0
		}
		r.Sites[len(r.Sites)-1].Noise = mib
		return r
	}
	fresh := append(service(), function{"Trace::note main", "trace.cc", 1.5 * mib, 0, 0})
	for _, set := range []int{2, 6} {
		var earlier []*baseline.Run
		for night := range set {
			earlier = append(earlier, sampled(service(), night))
		}
		r, err := Compare(sampled(fresh, 9), earlier, nil, Options{})
		require.NoError(t, err)
		require.Equal(t, Pass, r.Verdict)
		require.Equal(t, New, status(r, "Trace::note"))
		v := listed(r, "Trace::note").Values[0]
		require.Equal(t, map[int]Doubt{2: DoubtSampling, 6: DoubtNoise}[set], v.Doubt)
		require.GreaterOrEqual(t, v.Chance, 3.0*mib)
	}
}

// TestACacheThatIsEmptiedNowAndThen: a run that ends at a peak is no regression if the only earlier one fell and rose
// by as much. It is one if the cache reaches twice that, or if the earlier runs tell the noise.
func TestACacheThatIsEmptiedNowAndThen(t *testing.T) {
	sawtooth := func(night int, level, swing float64) *baseline.Run {
		r := append(service(), function{"Cache::put main", "cache.cc", level, 0, 0}).run(night, noise{})
		for i := range r.Sites {
			if r.Sites[i].Bytes == level {
				r.Sites[i].Swing = swing
			}
		}
		r.Total.Swing = swing
		return r
	}
	valley := sawtooth(1, 4*mib, 18*mib)
	peak, err := Compare(sawtooth(2, 15*mib, 0), []*baseline.Run{valley}, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, peak.Verdict)
	require.Equal(t, DoubtUnsteady, listed(peak, "Cache::put").Values[0].Doubt)

	higher, err := Compare(sawtooth(2, 30*mib, 36*mib), []*baseline.Run{valley}, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(higher, "Cache::put"))

	steady, err := Compare(sawtooth(2, 15*mib, 18*mib), []*baseline.Run{sawtooth(1, 4*mib, 0)}, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(steady, "Cache::put"), "the swing is new")

	var nights []*baseline.Run
	for night := range 5 {
		nights = append(nights, sawtooth(night, 4*mib, 18*mib))
	}
	many, err := Compare(sawtooth(9, 15*mib, 18*mib), nights, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(many, "Cache::put"))
}

// TestTruncation: of a function that truncated snapshots of the base may hide, only what is beyond
// that is a regression.
func TestTruncation(t *testing.T) {
	truncated := func(hidden float64) *Result {
		var set []*baseline.Run
		for night := range 5 {
			r := service().run(night, noise{})
			r.Meta.AbsentMax = 4 * mib
			r.Rest.Bytes = hidden
			set = append(set, r)
		}
		r, err := Compare(append(service(), function{"Trace::note main", "trace.cc", 3 * mib, 0, 0}).run(9, noise{}), set, nil, Options{})
		require.NoError(t, err)
		return r
	}
	require.Equal(t, Pass, truncated(5*mib).Verdict)
	require.Equal(t, Fail, truncated(mib).Verdict, "the snapshots hide only 1 MiB")
}

// TestARunAgainstItself passes, and no row is listed.
func TestARunAgainstItself(t *testing.T) {
	run := service().run(1, noise{})
	r, err := Compare(run, []*baseline.Run{run, run, run, run, run}, run, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	require.Empty(t, r.Rows)
	require.Equal(t, Unchanged, r.Total.Status)
	require.Equal(t, 7, r.Unchanged)
	require.Zero(t, r.UnmatchedShare())
}

// TestScale: a program of a thousand times the size, with thresholds of a thousand times the size,
// has the same statuses.
func TestScale(t *testing.T) {
	scale := func(p program, by float64) (out program) {
		for _, f := range p {
			f.bytes, f.slope, f.alloc = f.bytes*by, f.slope*by, f.alloc*by
			out = append(out, f)
		}
		return out
	}
	for _, change := range []program{service(), service().with("Cache::insert", times(1.5)), service().with("parse_request", times(1.12))} {
		statuses := func(by float64) (out []Status) {
			n, limit := newNoise(2, 0.03), mib*by
			r, err := Compare(scale(change, by).run(9, n), scaledSet(service(), n, func(p program) program { return scale(p, by) }), nil, Options{Thresholds: Override{Bytes: &limit}})
			require.NoError(t, err)
			for i := range r.Rows {
				out = append(out, r.Rows[i].Status)
			}
			return append(out, r.Total.Status)
		}
		require.Equal(t, statuses(1), statuses(1000))
	}
}

// TestExtremeRuns: the result is finite for any numbers that a baseline's file may hold.
func TestExtremeRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	extreme := func() float64 {
		return []float64{0, 1, -1, 1e19, -1e19, 1e-300, 3e6, 5e7, r.NormFloat64() * 1e8}[r.IntN(9)]
	}
	run := func(night int) *baseline.Run {
		out := shuffled(r).run(night, noise{})
		for i := range out.Sites {
			s := &out.Sites[i]
			s.Level = baseline.Level{Bytes: extreme(), Objects: extreme(), Peak: extreme(), Slope: extreme(), SlopeError: extreme(), AllocBytes: extreme(), Noise: extreme(), Swing: extreme()}
			if r.IntN(5) == 0 {
				s.Identity, s.Frames, s.Blame = identity.Site{Blame: -1}, nil, -1
			}
		}
		out.Total.Bytes, out.Rest.Bytes = extreme(), extreme()
		out.Meta.Span = []float64{0, 1e-6, 600, 1e19}[r.IntN(4)]
		out.Meta.Work = []float64{0, 1e-6, 1, 1e19}[r.IntN(4)]
		out.Meta.AbsentMax = int64(r.IntN(3)) * mib
		require.NoError(t, out.Check())
		return out
	}
	for range 300 {
		var set []*baseline.Run
		for night := range r.IntN(12) {
			set = append(set, run(night))
		}
		result, err := Compare(run(20), set, run(0), Options{Force: true})
		require.NoError(t, err)
		for _, row := range append(result.Rows, result.Total) {
			for _, v := range row.Values {
				for _, x := range []float64{v.Before, v.After, v.Moved, v.Noise, v.Z, v.Need, v.Delta()} {
					require.False(t, math.IsNaN(x) || math.IsInf(x, 0), "%s: %+v", row.Function, v)
				}
			}
		}
	}
}
