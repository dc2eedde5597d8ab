package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
)

// rowOf finds a row by its function, nil if it is not listed.
func listed(r *Result, function string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Function == function {
			return &r.Rows[i]
		}
	}
	return nil
}

// statusOf a function; Unchanged where it is not listed.
func status(r *Result, function string) Status {
	if row := listed(r, function); row != nil {
		return row.Status
	}
	return Unchanged
}

// kinds are those of the notes.
func kinds(r *Result) (out []NoteKind) {
	for _, n := range r.Notes {
		out = append(out, n.Kind)
	}
	return out
}

// judged compares a program with six quiet nights of the service.
func judged(t *testing.T, p program, o Options) *Result {
	t.Helper()
	n := newNoise(3, 0.01)
	r, err := Compare(p.run(10, n), service().set(6, n), nil, o)
	require.NoError(t, err)
	return r
}

func rename(stack string) func(*function) { return func(f *function) { f.stack = stack } }

// TestWhatFailsAndWhatDoesNot is a table of what happens to programs between builds.
func TestWhatFailsAndWhatDoesNot(t *testing.T) {
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
		"a small new one":           {append(service(), function{"trace main", "t.cc", mib / 4, 0, 0}), Pass, "trace", New},
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
				require.Equal(t, c.function, r.Rows[0].Function, "what is to blame comes first")
			}
		})
	}
}

// TestSplitFunctions: what one half lost the other gained. A split does not hide that the two hold more than the one did.
func TestSplitFunctions(t *testing.T) {
	split := func(rest, part float64) program {
		return append(service().with("Cache::insert", times(rest)),
			function{"Cache::allocate_entry Cache::insert Server::handle Server::loop main", "cache.cc", part * 40 * mib, 0, 0})
	}
	r := judged(t, split(0.4, 0.6), Options{})
	require.Equal(t, Pass, r.Verdict)
	require.Equal(t, Moved, status(r, "Cache::allocate_entry"))
	require.Equal(t, Moved, status(r, "Cache::insert"))
	require.Equal(t, []string{"Cache::insert"}, listed(r, "Cache::allocate_entry").MovedWith)

	r = judged(t, split(0.4, 1.1), Options{})
	require.Equal(t, Fail, r.Verdict)
	row := listed(r, "Cache::allocate_entry")
	require.Equal(t, Regressed, row.Status)
	require.InDelta(t, 24*mib, row.Values[0].Moved, 2*mib)
	require.InDelta(t, 20*mib, row.Values[0].Rest(), 2*mib)
}

// TestALossIsUsedOnce: two new functions cannot both be explained by one that is gone.
func TestALossIsUsedOnce(t *testing.T) {
	p := service().with("Cache::insert", rename("Cache::store Server::handle Server::loop main"))
	p = append(p, function{"Cache::shadow Server::handle Server::loop main", "cache.cc", 39 * mib, 0, 0})
	r := judged(t, p, Options{})
	require.Equal(t, Fail, r.Verdict)
	require.Equal(t, Moved, status(r, "Cache::store"))
	require.Equal(t, Regressed, status(r, "Cache::shadow"))
}

// TestALossElsewhereHidesNothing: a function of another part of the program that holds less is no explanation.
func TestALossElsewhereHidesNothing(t *testing.T) {
	r := judged(t, service().with("Session::open", times(1.5)).with("Index::build", times(0.1)), Options{})
	require.Equal(t, Regressed, status(r, "Session::open"))
	require.Equal(t, Improved, status(r, "Index::build"))
}

// TestALossThatEarlierNightsHadHidesNothing: a neighbour that is small on some nights, as a queue is, is small tonight by chance. The median
// absolute deviation of its pool is small all the same.
func TestALossThatEarlierNightsHadHidesNothing(t *testing.T) {
	n := newNoise(7, 0.01)
	small := func(p program) program { return p.with("parse_request", times(0.1)) }
	var pool []*baseline.Run
	for night := range 12 {
		p := service()
		if night%4 == 0 {
			p = small(p)
		}
		pool = append(pool, p.run(night, n))
	}
	r, err := Compare(small(service().with("Cache::insert", times(1.3))).run(20, n), pool, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Fail, r.Verdict, "%+v", r.Rows)
	require.Equal(t, Regressed, status(r, "Cache::insert"))
	require.Empty(t, listed(r, "Cache::insert").MovedWith)
}

// TestAnOutlierDoesNotMakeMovesRegressions: that one night of the pool ended early does not make a chance of what moved.
func TestAnOutlierDoesNotMakeMovesRegressions(t *testing.T) {
	n := newNoise(1, 0.02)
	pool := service().set(13, n)
	pool = append(pool, service().with("Cache::insert", times(0.3)).run(20, n))
	split := append(service().with("Cache::insert", times(0.4)),
		function{"Cache::allocate_entry Cache::insert Server::handle Server::loop main", "cache.cc", 24 * mib, 0, 0})
	r, err := Compare(split.run(30, n), pool, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict, "%+v", r.Rows)
	require.Equal(t, Moved, status(r, "Cache::allocate_entry"))
}

// TestADriftIsSeenAgainstThePinnedRun: 3 % a night passes every comparison with the nights before.
func TestADriftIsSeenAgainstThePinnedRun(t *testing.T) {
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

// TestWhatChangedBeforeThePoolIsNoNews: a function that was renamed, and one that shrank, since the pinned run and before the pool are not
// listed night after night; one that has grown since then is.
func TestWhatChangedBeforeThePoolIsNoNews(t *testing.T) {
	n := newNoise(6, 0.002)
	now := service().with("Cache::insert", rename("Cache::store Server::handle Server::loop main")).with("Index::build", times(0.5)).
		with("Session::open", times(1.05))
	var pool []*baseline.Run
	for night := range 5 {
		pool = append(pool, now.run(10+night, n))
	}
	r, err := Compare(now.run(20, n), pool, service().run(0, n), Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	require.Equal(t, Unchanged, status(r, "Cache::store"))
	require.Equal(t, Unchanged, status(r, "Cache::insert"))
	require.Equal(t, Unchanged, status(r, "Index::build"))
	require.Equal(t, Changed, status(r, "Session::open"))
}

// TestAThinRegressionIsSeenInTheTotal: no function is large enough to fail, all together are.
func TestAThinRegressionIsSeenInTheTotal(t *testing.T) {
	thin := func(bytes float64) (p program) {
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"} {
			p = append(p, function{name + " main", name + ".cc", bytes, 0, 0})
		}
		return p
	}
	var n noise
	r, err := Compare(thin(2.8*mib).run(9, n), thin(2*mib).set(5, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Fail, r.Verdict)
	require.Equal(t, Regressed, r.Total.Status)
	for i := range r.Rows {
		require.Equal(t, Changed, r.Rows[i].Status)
	}
}

// TestFewBaselinesAreComparedByThresholds, and it is said.
func TestFewBaselinesAreComparedByThresholds(t *testing.T) {
	var n noise
	r, err := Compare(service().with("Cache::insert", times(1.5)).run(9, n), service().set(3, n), nil, Options{})
	require.NoError(t, err)
	require.False(t, r.Significance)
	require.Equal(t, Fail, r.Verdict)
	require.Zero(t, r.Rows[0].Values[0].Z)
	require.Equal(t, Note{Kind: NoteFewBaselines, Count: 3}, r.Notes[0])
}

// TestTighterThresholds: 5 % fails where it is asked for, for all functions or for one.
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

// TestAChosenZIsTakenAsItIs: 5 % is two and a half times the noise that is taken for granted; of many functions the default asks for more than 3.
func TestAChosenZIsTakenAsItIs(t *testing.T) {
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

// TestALooserThresholdIsNotTrippedByTheTotal: what may grow is left out of the heap as a whole.
func TestALooserThresholdIsNotTrippedByTheTotal(t *testing.T) {
	sixty := 60.0
	pattern, err := suppress.Compile("Cache::insert")
	require.NoError(t, err)
	o := Options{Sites: []SiteRule{{Pattern: pattern, Override: Override{Percent: &sixty}}}}
	require.Equal(t, Pass, judged(t, service().with("Cache::insert", times(1.5)), o).Verdict)
	require.Equal(t, Fail, judged(t, service().with("Cache::insert", times(1.8)), o).Verdict)
}

// TestSuppressed: a regression that is known passes, and is listed; its twin that is not does not hide behind it; an
// expired entry holds no longer and is reported.
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

// TestWhatWasAllocatedCountsPerUnitOfWork: twice the work allocates twice as much, and is no regression; twice as much for the same work is one. Without
// --work it is shown, and does not fail.
func TestWhatWasAllocatedCountsPerUnitOfWork(t *testing.T) {
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
	var pool []*baseline.Run
	for night := range 5 {
		pool = append(pool, worked(service(), night, 1000, 1))
	}
	r, err := Compare(worked(service(), 9, 2000, 2), pool, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	churn := service().with("parse_request", func(f *function) { f.alloc *= 2 })
	r, err = Compare(worked(churn, 9, 2000, 2), pool, nil, Options{})
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

// TestNotComparable: runs that are not comparable give an error with the reason, or a note if they are compared by force.
func TestNotComparable(t *testing.T) {
	var n noise
	for name, c := range map[string]struct {
		change func(*baseline.Meta)
		want   Mismatch
	}{
		"period":    {func(m *baseline.Meta) { m.Period = 524288 }, Mismatch{Kind: MismatchPeriod, EarlierPeriod: 524288}},
		"format":    {func(m *baseline.Meta) { m.Format = "jemalloc heap_v2" }, Mismatch{Kind: MismatchFormat, Earlier: "jemalloc heap_v2", Current: "heapprofile"}},
		"workload":  {func(m *baseline.Meta) { m.Workload = "import" }, Mismatch{Kind: MismatchWorkload, Earlier: "import", Current: "replay"}},
		"snapshots": {func(m *baseline.Meta) { m.Snapshots = 3 }, Mismatch{Kind: MismatchSnapshots, Snapshots: 3, Least: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			set := service().set(4, n)
			c.change(&set[2].Meta)
			c.want.Runs = []string{"night02"}
			r, err := Compare(service().run(9, n), set, nil, Options{})
			require.Nil(t, r)
			var notComparable *NotComparableError
			require.ErrorAs(t, err, &notComparable)
			require.Equal(t, []Mismatch{c.want}, notComparable.Mismatches)
			require.EqualError(t, err, fmt.Sprintf("not comparable: %s night02", c.want.Kind))
			r, err = Compare(service().run(9, n), set, nil, Options{Force: true})
			require.NoError(t, err)
			require.Equal(t, Note{Kind: NoteForced, Mismatch: &c.want}, r.Notes[0])
		})
	}
	_, err := Compare(service().run(9, n), nil, nil, Options{})
	require.ErrorContains(t, err, "no baseline")
	set := service().set(4, n)
	set[1].Meta.Workload = ""
	_, err = Compare(service().run(9, n), set, nil, Options{})
	require.NoError(t, err, "an unknown workload is no mismatch")
}

// TestAMismatchNamesAllItsRuns: the same mismatch of many runs is one mismatch. The reference run, also in the set, is named once.
func TestAMismatchNamesAllItsRuns(t *testing.T) {
	current := service().run(20, noise{})
	current.Meta.Workload = "import"
	set := service().set(4, noise{})
	_, err := Compare(current, set, set[0], Options{})
	var notComparable *NotComparableError
	require.ErrorAs(t, err, &notComparable)
	want := Mismatch{Kind: MismatchWorkload, Earlier: "replay", Current: "import", Runs: []string{"night03", "night02", "night01", "night00"}}
	require.Equal(t, []Mismatch{want}, notComparable.Mismatches)
}

// TestUnrelatedRuns: runs with hardly a site in common are not comparable, unless the functions moved.
func TestUnrelatedRuns(t *testing.T) {
	other := program{{"alpha one two", "a.cc", 50 * mib, 0, 0}, {"beta three four", "b.cc", 50 * mib, 0, 0}}
	_, err := Compare(other.run(9, noise{}), service().set(4, noise{}), nil, Options{})
	var notComparable *NotComparableError
	require.ErrorAs(t, err, &notComparable)
	require.Equal(t, []Mismatch{{Kind: MismatchUnrelated, Share: 1}}, notComparable.Mismatches)
	require.EqualError(t, err, "not comparable: unrelated")
	r, err := Compare(other.run(9, noise{}), service().set(4, noise{}), nil, Options{Force: true})
	require.NoError(t, err)
	require.Equal(t, Fail, r.Verdict)
	require.Equal(t, MismatchUnrelated, r.Notes[0].Mismatch.Kind)

	var renamed program
	for _, f := range service() {
		_, callers, _ := strings.Cut(f.stack, " ")
		f.stack = "renamed::" + f.file + " " + callers
		renamed = append(renamed, f)
	}
	r, err = Compare(renamed.run(9, noise{}), service().set(4, noise{}), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict, "%+v", r.Rows)
}

// TestARunCountsOnce: as its snapshots and as their baseline, which has another name, it is one run, and none where it is the one that is judged. Else four
// times the same would be a pool without noise.
func TestARunCountsOnce(t *testing.T) {
	n := newNoise(4, 0.05)
	pool := service().set(5, n)
	again := *pool[2]
	again.Meta.Name, again.Meta.Labels = "saved", map[string]string{"commit": "f00d"}
	again.Meta.Recorded = again.Meta.Recorded.Add(300 * time.Microsecond)
	current := service().run(9, n)
	tonight := *current
	tonight.Meta.Name = "saved tonight"
	r, err := Compare(current, append(pool, &again, &tonight), nil, Options{})
	require.NoError(t, err)
	require.Len(t, r.Baselines, 5)
	require.Subset(t, r.Notes, []Note{{Kind: NoteDuplicateRuns, Count: 1}, {Kind: NoteCurrentAmongBaselines}})

	r, err = Compare(current, []*baseline.Run{pool[0], pool[0], pool[0], pool[0]}, nil, Options{})
	require.NoError(t, err)
	require.False(t, r.Significance, "one run four times tells no noise")

	r, err = Compare(service().with("Cache::insert", times(2)).run(9, n), pool[:1], pool[0], Options{})
	require.NoError(t, err)
	require.Nil(t, r.Reference, "the only run before is not told twice")
	require.Len(t, r.Rows[0].Values, 3)

	for nights, counted := range map[int]int{4: 4, 5: 4, 6: 5} {
		pool := service().set(nights, n)
		pinned := *pool[0]
		r, err = Compare(current, pool, &pinned, Options{})
		require.NoError(t, err)
		require.Len(t, r.Baselines, counted, "the pinned run is one of the pool only if fewer than four others are there")
	}
}

// TestRunsOfOtherLengthsHaveNoSlopes to compare.
func TestRunsOfOtherLengthsHaveNoSlopes(t *testing.T) {
	var n noise
	long := service().with("Log::buffer", func(f *function) { f.slope = 20 * mib }).run(9, n)
	long.Meta.Span = 3600
	r, err := Compare(long, service().set(4, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	require.Equal(t, Note{Kind: NoteSlopesOmitted, Count: 4, Of: 4, Seconds: 3600, Shortest: 600, Longest: 600}, r.Notes[0])
}

// TestAShortNightInThePoolDoesNotEndSlopes: the others are compared, and it is said.
func TestAShortNightInThePoolDoesNotEndSlopes(t *testing.T) {
	var n noise
	pool := service().set(6, n)
	pool[3].Meta.Span = 60
	r, err := Compare(service().with("Log::buffer", func(f *function) { f.slope = 20 * mib }).run(9, n), pool, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(r, "Log::buffer"))
	require.Equal(t, Note{Kind: NoteSlopesOmitted, Count: 1, Of: 6, Seconds: 600, Shortest: 60, Longest: 600}, r.Notes[0])
}

// TestFunctionsOfOneName in two files are two rows: half as much again of the small one is not lost in the large one. One that moves to another
// file is one row.
func TestFunctionsOfOneName(t *testing.T) {
	p := append(service(),
		function{"{anonymous}::grow Importer::run main", "importer.cc", 30 * mib, 0, 0},
		function{"{anonymous}::grow Exporter::run main", "exporter.cc", 4 * mib, 0, 0})
	n := newNoise(3, 0.01)
	worse := append(program{}, p...)
	worse[8].bytes *= 1.5
	r, err := Compare(worse.run(9, n), p.set(6, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Fail, r.Verdict)
	require.Equal(t, "/src/exporter.cc", r.Rows[0].Site.Frames[0].File)
	require.InEpsilon(t, 4*mib, r.Rows[0].Values[0].Before, 0.05)

	moved := append(program{}, p...)
	moved[8].file = "importer.cc"
	r, err = Compare(moved.run(9, n), p.set(6, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
}

// TestWhatSamplingMayHaveMadeIsNoRegression: two samples of 512 KiB are no proof of 1 MiB.
func TestWhatSamplingMayHaveMadeIsNoRegression(t *testing.T) {
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
	for _, pool := range []int{2, 6} {
		var earlier []*baseline.Run
		for night := range pool {
			earlier = append(earlier, sampled(service(), night))
		}
		r, err := Compare(sampled(fresh, 9), earlier, nil, Options{})
		require.NoError(t, err)
		require.Equal(t, Pass, r.Verdict)
		require.Equal(t, New, status(r, "Trace::note"))
	}
}

// TestWhatTruncationMayHideIsNotNew: a function that the base's cut snapshots may have hidden has regressed by no more than what is beyond that.
func TestWhatTruncationMayHideIsNotNew(t *testing.T) {
	cut := func(hidden float64) *Result {
		var pool []*baseline.Run
		for night := range 5 {
			r := service().run(night, noise{})
			r.Meta.AbsentMax = 4 * mib
			r.Rest.Bytes = hidden
			pool = append(pool, r)
		}
		r, err := Compare(append(service(), function{"Trace::note main", "trace.cc", 3 * mib, 0, 0}).run(9, noise{}), pool, nil, Options{})
		require.NoError(t, err)
		return r
	}
	require.Equal(t, Pass, cut(5*mib).Verdict)
	require.Equal(t, Fail, cut(mib).Verdict, "all that is hidden is 1 MiB")
}

// TestARunAgainstItselfPasses, and nothing is listed.
func TestARunAgainstItselfPasses(t *testing.T) {
	run := service().run(1, noise{})
	r, err := Compare(run, []*baseline.Run{run, run, run, run, run}, run, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	require.Empty(t, r.Rows)
	require.Equal(t, Unchanged, r.Total.Status)
	require.Equal(t, 7, r.Unchanged)
	require.Zero(t, r.UnmatchedShare())
}

// TestTheOrderOfThePoolMeansNothing.
func TestTheOrderOfThePoolMeansNothing(t *testing.T) {
	n := newNoise(11, 0.05)
	pool := service().set(8, n)
	current := service().with("Cache::insert", times(1.5)).with("Index::build", rename("Index::make Index::load main")).run(9, n)
	want, err := Compare(current, pool, pool[0], Options{})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		got, err := Compare(current, pool, want.Reference, Options{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestScalingChangesNoVerdict: a program of a thousand times the size, with thresholds to match.
func TestScalingChangesNoVerdict(t *testing.T) {
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
			r, err := Compare(scale(change, by).run(9, n), scalePool(service(), n, func(p program) program { return scale(p, by) }), nil, Options{Thresholds: Override{Bytes: &limit}})
			require.NoError(t, err)
			for i := range r.Rows {
				out = append(out, r.Rows[i].Status)
			}
			return append(out, r.Total.Status)
		}
		require.Equal(t, statuses(1), statuses(1000))
	}
}

func scalePool(p program, n noise, scale func(program) program) []*baseline.Run {
	return scale(p).set(6, n)
}

// TestSitesAddUp: in every run, the rows and the rest are the total, however sites were matched.
func TestSitesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	list, err := suppress.Parse("leak:Index\n", "s", time.Now())
	require.NoError(t, err)
	for range 50 {
		runs := []*baseline.Run{shuffled(r).run(9, newNoise(r.Uint64(), 0.1))}
		for night := range 5 {
			runs = append(runs, shuffled(r).run(night, newNoise(r.Uint64(), 0.1)))
		}
		sites, _ := matchSites(runs, list)
		rows := groupSites(sites, Options{})
		for i, run := range runs {
			sum := run.Rest
			for _, row := range rows {
				sum = sum.Add(row.levels[i])
			}
			require.InEpsilon(t, run.Total.Bytes, sum.Bytes, 1e-9)
			require.InEpsilon(t, run.Total.AllocBytes, sum.AllocBytes, 1e-9)
		}
	}
}

// shuffled is the service in another build: some functions are gone, renamed, instantiated otherwise, called by others.
func shuffled(r *rand.Rand) (out program) {
	callers := []string{"main", "Server::handle Server::loop main", "std::invoke Server::loop main", "Index::load main"}
	for _, f := range service() {
		name := []string{f.stack[:len(f.stack)-5], "Pool<Edge>::grow", "Cache::insert", "Index::build"}[r.IntN(4)]
		if r.IntN(5) > 0 {
			f.stack = name + " " + callers[r.IntN(len(callers))]
			out = append(out, f)
		}
	}
	return append(out, function{"start main", "start.cc", mib, 0, mib})
}

// TestHowSitesWereMatchedIsTold.
func TestHowSitesWereMatchedIsTold(t *testing.T) {
	r := judged(t, service().with("Pool<Node>::grow", rename("Pool<Edge>::grow Index::load main")).with("config_read", rename("settings main")), Options{})
	require.Equal(t, 10, r.Tiers[identity.ByNames].Sites)
	require.Equal(t, 2, r.Tiers[identity.ByCallers].Sites)
	require.Equal(t, 2, r.Tiers[identity.Unmatched].Sites)
	require.InDelta(t, 0.04, r.UnmatchedShare(), 0.005)
}

// TestAFingerprintIsThatOfTheFunction, in every build and run.
func TestAFingerprintIsThatOfTheFunction(t *testing.T) {
	a := judged(t, service().with("Pool<Node>::grow", times(2)), Options{})
	b := judged(t, service().with("Pool<Node>::grow", func(f *function) {
		f.stack, f.file, f.bytes = "Pool<Edge>::grow Index::reload main", "other.h", 3*f.bytes
	}), Options{})
	require.Equal(t, listed(a, "Pool::grow").Fingerprint, listed(b, "Pool::grow").Fingerprint)
	require.Len(t, listed(a, "Pool::grow").Fingerprint, 32)
}

// TestWildRunsGiveFiniteAnswers: a baseline's file may hold any numbers within its bounds.
func TestWildRunsGiveFiniteAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	wild := func() float64 {
		return []float64{0, 1, -1, 1e19, -1e19, 1e-300, 3e6, 5e7, r.NormFloat64() * 1e8}[r.IntN(9)]
	}
	run := func(night int) *baseline.Run {
		out := shuffled(r).run(night, noise{})
		for i := range out.Sites {
			s := &out.Sites[i]
			s.Level = baseline.Level{Bytes: wild(), Objects: wild(), Peak: wild(), Slope: wild(), SlopeError: wild(), AllocBytes: wild(), Noise: wild()}
			if r.IntN(5) == 0 {
				s.Identity, s.Frames, s.Blame = identity.Site{Blame: -1}, nil, -1
			}
		}
		out.Total.Bytes, out.Rest.Bytes = wild(), wild()
		out.Meta.Span = []float64{0, 1e-6, 600, 1e19}[r.IntN(4)]
		out.Meta.Work = []float64{0, 1e-6, 1, 1e19}[r.IntN(4)]
		out.Meta.AbsentMax = int64(r.IntN(3)) * mib
		require.NoError(t, out.Check())
		return out
	}
	for range 300 {
		var pool []*baseline.Run
		for night := range r.IntN(12) {
			pool = append(pool, run(night))
		}
		result, err := Compare(run(20), pool, run(0), Options{Force: true})
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
