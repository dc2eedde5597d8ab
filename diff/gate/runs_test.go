package gate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/stretchr/testify/require"
)

// TestARunCountsOnce: the snapshots of a run and their baseline, which has another name, are one
// run. The current run is not its own baseline. Else four times the same run would be a set without
// noise.
func TestARunCountsOnce(t *testing.T) {
	n := newNoise(4, 0.05)
	set := service().set(5, n)
	again := *set[2]
	again.Meta.Name, again.Meta.Labels = "saved", map[string]string{"commit": "f00d"}
	again.Meta.Recorded = again.Meta.Recorded.Add(300 * time.Microsecond)
	current := service().run(9, n)
	tonight := *current
	tonight.Meta.Name = "saved tonight"
	r, err := Compare(current, append(set, &again, &tonight), nil, Options{})
	require.NoError(t, err)
	require.Len(t, r.Baselines, 5)
	require.Subset(t, r.Notes, []Note{{Kind: NoteDuplicateRuns, Count: 1}, {Kind: NoteCurrentAmongBaselines}})

	r, err = Compare(current, []*baseline.Run{set[0], set[0], set[0], set[0]}, nil, Options{})
	require.NoError(t, err)
	require.False(t, r.Significance, "one run four times is no estimate of the noise")

	r, err = Compare(service().with("Cache::insert", times(2)).run(9, n), set[:1], set[0], Options{})
	require.NoError(t, err)
	require.Nil(t, r.Reference, "the only earlier run is compared once")
	require.Len(t, r.Rows[0].Values, 3)

	for nights, counted := range map[int]int{4: 4, 5: 4, 6: 5} {
		set := service().set(nights, n)
		reference := *set[0]
		r, err = Compare(current, set, &reference, Options{})
		require.NoError(t, err)
		require.Len(t, r.Baselines, counted, "the reference run is in the set only if fewer than four others are")
	}
}

// TestOrderOfTheSet: the order of the set does not change the result.
func TestOrderOfTheSet(t *testing.T) {
	n := newNoise(11, 0.05)
	set := service().set(8, n)
	current := service().with("Cache::insert", times(1.5)).with("Index::build", rename("Index::make Index::load main")).run(9, n)
	want, err := Compare(current, set, set[0], Options{})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		got, err := Compare(current, set, want.Reference, Options{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestNotComparable: runs that are not comparable are an error with the reason, or a note if they
// are compared by force.
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
	set := service().set(4, n)
	set[1].Meta.Workload = ""
	_, err := Compare(service().run(9, n), set, nil, Options{})
	require.NoError(t, err, "an unknown workload is no mismatch")
}

// TestFirstRun passes, unless a later run could not be compared with it.
func TestFirstRun(t *testing.T) {
	first := service().run(0, noise{})
	r, err := Compare(first, nil, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, &Result{Verdict: Pass, FirstRun: true, Current: first}, r)
	first.Meta.Snapshots = 3
	_, err = Compare(first, nil, nil, Options{})
	require.EqualError(t, err, "not comparable: too few snapshots night00")
}

// TestAMismatchNamesAllItsRuns: the same mismatch of many runs is one mismatch. The reference run,
// also in the set, is named once.
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

// TestUnrelatedRuns: runs with hardly a site in common are not comparable, unless the functions
// moved.
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

// TestHeapsOfHardlyAnything are comparable, whatever matches: of a program whose memory is freed at
// once, a sampling profiler sees nothing, or by chance a block that no other run has.
func TestHeapsOfHardlyAnything(t *testing.T) {
	idle := func(night int, sampled float64) *baseline.Run {
		p := program{}
		if sampled > 0 {
			p = program{{fmt.Sprintf("make_node%d handle main", night), "cyc.cc", sampled, 0, 0}}
		}
		r := p.run(night, noise{})
		r.Total, r.Rest = baseline.Level{Bytes: sampled}, baseline.Level{}
		return r
	}
	leaking := program{{"add_node handle main", "cyc_v2.cc", 4 * mib, 5 * mib, 0}}.run(9, noise{})
	for name, set := range map[string][]*baseline.Run{
		"nothing":           {idle(0, 0), idle(1, 0), idle(2, 0), idle(3, 0)},
		"a block":           {idle(0, mib/8), idle(1, mib/8), idle(2, mib/8), idle(3, mib/8)},
		"now and then more": {idle(0, 2*mib), idle(1, 0), idle(2, 3*mib), idle(3, 2*mib)},
		"one run":           {idle(0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Compare(idle(8, 0), set, nil, Options{})
			require.NoError(t, err)
			require.Equal(t, Pass, r.Verdict)
			r, err = Compare(leaking, set, nil, Options{})
			require.NoError(t, err, "a function that was renamed, and leaks")
			require.Equal(t, Fail, r.Verdict)
			require.Equal(t, "add_node", r.Rows[0].Function)
		})
	}
}

// TestAHugeNewLeakIsNoOtherProgram: most of the bytes of the current run match nothing, but those of the earlier runs
// do. The same holds the other way round, where a leak was mended.
func TestAHugeNewLeakIsNoOtherProgram(t *testing.T) {
	leaking := append(service(), function{"Leak::keep Server::handle main", "leak.cc", 20_000 * mib, 0, 0})
	r, err := Compare(leaking.run(9, noise{}), service().set(4, noise{}), nil, Options{})
	require.NoError(t, err)
	require.Greater(t, r.UnmatchedShare(), unrelatedShare)
	require.Equal(t, Fail, r.Verdict)
	require.Equal(t, Regressed, r.Rows[0].Status)
	r, err = Compare(service().run(9, noise{}), leaking.set(4, noise{}), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
}

// TestSlopesOfRunsOfOtherLengths are not compared.
func TestSlopesOfRunsOfOtherLengths(t *testing.T) {
	var n noise
	long := service().with("Log::buffer", func(f *function) { f.slope = 20 * mib }).run(9, n)
	long.Meta.Span = 3600
	r, err := Compare(long, service().set(4, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
	require.Equal(t, Note{Kind: NoteSlopesOmitted, Count: 4, Of: 4, Seconds: 3600, Shortest: 600, Longest: 600}, r.Notes[0])
}

// TestSlopesWithoutAShortNight: slopes are compared with the nights of about the same length, and a
// note says how many were not.
func TestSlopesWithoutAShortNight(t *testing.T) {
	var n noise
	set := service().set(6, n)
	set[3].Meta.Span = 60
	r, err := Compare(service().with("Log::buffer", func(f *function) { f.slope = 20 * mib }).run(9, n), set, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(r, "Log::buffer"))
	require.Equal(t, Note{Kind: NoteSlopesOmitted, Count: 1, Of: 6, Seconds: 600, Shortest: 60, Longest: 600}, r.Notes[0])
}
