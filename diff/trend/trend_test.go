package trend

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/verdict"
)

const mib = 1 << 20

// sample takes n values of a shape, a minute apart, with Gaussian noise.
func sample(n int, seed uint64, noise float64, live func(x float64) float64, rate func(x float64) float64) Points {
	r := rand.New(rand.NewPCG(seed, 1))
	var p Points
	allocated := 0.0
	for i := range n {
		x := float64(i) / float64(n-1)
		y := max(0, live(x)+noise*r.NormFloat64())
		allocated += rate(x)
		if i > 0 {
			allocated += max(0, y-p.Live[i-1])
		} else {
			allocated += y
		}
		p.T = append(p.T, float64(i)*60)
		p.Live = append(p.Live, y)
		p.Objects = append(p.Objects, y/1000)
		p.Alloc = append(p.Alloc, allocated)
	}
	return p
}

func constantRate(float64) float64 { return 4 * mib }

// TestShapes: the labels of each behaviour of a heap. Several are right where the shape itself is
// ambiguous.
func TestShapes(t *testing.T) {
	line := func(a, b float64) func(float64) float64 {
		return func(x float64) float64 { return (a + b*x) * mib }
	}
	cases := []struct {
		name  string
		noise float64
		live  func(float64) float64
		rate  func(float64) float64
		want  []verdict.Site
	}{
		{"constant", 0.2 * mib, line(50, 0), constantRate, []verdict.Site{verdict.Stable}},
		{"noise alone", 5 * mib, line(50, 0), constantRate, []verdict.Site{verdict.Stable}},
		{"steady leak", 0.1 * mib, line(5, 20), constantRate, []verdict.Site{verdict.Leak}},
		{"steady leak in noise", 1 * mib, line(5, 20), constantRate, []verdict.Site{verdict.Leak}},
		{"leak below the threshold", 0.01 * mib, line(5, 0.5), constantRate, []verdict.Site{verdict.Stable}},
		{"shrinking", 0.1 * mib, line(30, -20), constantRate, []verdict.Site{verdict.Shrinking}},
		{"cache that fills early", 0.1 * mib, func(x float64) float64 { return 20 * mib * (1 - math.Exp(-x/0.1)) }, constantRate, []verdict.Site{verdict.Plateaued, verdict.Warming, verdict.Stable}},
		{"cache that fills late", 0.1 * mib, func(x float64) float64 { return 20 * mib * (1 - math.Exp(-x/0.3)) }, constantRate, []verdict.Site{verdict.Warming, verdict.Plateaued, verdict.Suspect}},
		{"bounded fill, then exactly flat", 0, func(x float64) float64 { return 20 * mib * min(1, x/0.35) }, constantRate, []verdict.Site{verdict.Plateaued, verdict.Warming}},
		{"one jump", 0.1 * mib, func(x float64) float64 {
			if x > 0.4 {
				return 30 * mib
			}
			return 10 * mib
		}, constantRate, []verdict.Site{verdict.GrewThenFlat, verdict.Plateaued, verdict.Stable}},
		{"sawtooth", 0.1 * mib, func(x float64) float64 { return 20 * mib * math.Mod(5*x, 1) }, constantRate, []verdict.Site{verdict.Stable}},
		{"daily cycle", 0.1 * mib, func(x float64) float64 { return (30 + 10*math.Sin(8*math.Pi*x)) * mib }, constantRate, []verdict.Site{verdict.Stable}},
		{"load ramp", 0.1 * mib, func(x float64) float64 { return (10 + 20*x) * mib }, func(x float64) float64 { return (100 + 200*x) * mib }, []verdict.Site{verdict.LoadDriven, verdict.Suspect}},
		{"leak under a filling cache", 0.1 * mib, func(x float64) float64 { return 20*mib*(1-math.Exp(-x/0.1)) + 20*mib*x }, constantRate, []verdict.Site{verdict.Leak}},
		{"leak that starts late", 0.1 * mib, func(x float64) float64 { return (5 + 40*max(0, x-0.6)) * mib }, constantRate, []verdict.Site{verdict.LeakLate, verdict.Leak, verdict.Suspect}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(10) {
				v := Judge(sample(24, seed, c.noise, c.live, c.rate), Options{})
				require.True(t, slices.Contains(c.want, v.Label), "seed %d: %s, want one of %v (%+v)", seed, v.Label, c.want, v)
			}
		})
	}
}

func TestTooFewPointsAreInsufficient(t *testing.T) {
	for n := 2; n < verdict.MinPoints; n++ {
		require.Equal(t, verdict.Insufficient, Judge(sample(n, 1, 0, func(x float64) float64 { return 100 * mib * x }, constantRate), Options{}).Label)
	}
	require.Equal(t, verdict.Insufficient, Judge(Points{}, Options{}).Label)
}

func TestConfidenceFallsWithNoise(t *testing.T) {
	judge := func(noise float64) float64 {
		return Judge(sample(24, 3, noise, func(x float64) float64 { return (5 + 20*x) * mib }, constantRate), Options{}).Confidence
	}
	require.Greater(t, judge(0.1*mib), 0.9)
	require.Less(t, judge(8*mib), judge(0.1*mib))
}

// TestRecordHighsRiseByConstruction: a series that is most of the heap, and was seen only at record
// highs of the heap, is no evidence, unless it keeps what it allocates.
func TestRecordHighsRiseByConstruction(t *testing.T) {
	p := sample(24, 3, 0.1*mib, func(x float64) float64 { return (5 + 20*x) * mib }, constantRate)
	p.HighWater, p.Dominates = true, true
	require.LessOrEqual(t, Judge(p, Options{}).Confidence, 0.5)
	p.Alloc = slices.Clone(p.Live)
	require.Greater(t, Judge(p, Options{}).Confidence, 0.6)
}

func TestSlopeIsPerUnitOfTimeWithAnInterval(t *testing.T) {
	p := sample(24, 5, 0.5*mib, func(x float64) float64 { return (5 + 23*x) * mib }, constantRate) // 23 minutes: 1 MiB a minute
	v := Judge(p, Options{})
	require.InEpsilon(t, mib/60.0, v.Slope, 0.1)
	require.LessOrEqual(t, v.Low, v.Slope)
	require.GreaterOrEqual(t, v.High, v.Slope)
	require.InEpsilon(t, 23*mib, v.Growth, 0.1)
}

func TestResizingIsBytesWithoutObjects(t *testing.T) {
	p := sample(24, 5, 0, func(x float64) float64 { return (5 + 23*x) * mib }, constantRate)
	require.False(t, Judge(p, Options{}).Resizing)
	for i := range p.Objects {
		p.Objects[i] = 3
	}
	require.True(t, Judge(p, Options{}).Resizing)
}

// TestLongSeriesAreJudgedByWindows: the cost of the statistics is quadratic, and must not be that
// of 5,000 points.
func TestLongSeriesAreJudgedByWindows(t *testing.T) {
	leak := sample(5000, 1, 3*mib, func(x float64) float64 { return (5 + 20*x) * mib }, constantRate)
	v := Judge(leak, Options{})
	require.Equal(t, verdict.Leak, v.Label)
	require.Equal(t, 5000, v.Points)
	require.Len(t, leak.windowed(maxWindows).T, maxWindows)
	require.InEpsilon(t, 20*mib, v.Growth, 0.05)
	flat := sample(5000, 1, 3*mib, func(float64) float64 { return 50 * mib }, constantRate)
	require.Equal(t, verdict.Stable, Judge(flat, Options{}).Label)
}

// TestTiedTimesChangeNothing: files may have the same time if it counts whole seconds.
func TestTiedTimesChangeNothing(t *testing.T) {
	p := sample(24, 1, 0.1*mib, func(x float64) float64 { return 20 * mib * (1 - math.Exp(-x/0.2)) }, constantRate)
	want := Judge(p, Options{})
	for _, at := range []int{1, 12, 23} {
		tied := p
		tied.T = slices.Clone(p.T)
		tied.T[at-1] = tied.T[at]
		got := Judge(tied, Options{})
		require.Equal(t, want.Label, got.Label, "point %d", at)
		require.InDelta(t, want.Confidence, got.Confidence, 0.1)
	}
}

// TestNaNIsInsufficient: a NaN is not equal to itself, so that loops over ties may not end.
func TestNaNIsInsufficient(t *testing.T) {
	p := sample(24, 1, 0, func(x float64) float64 { return 20 * mib * x }, constantRate)
	p.Live[5] = math.NaN()
	require.Equal(t, verdict.Insufficient, Judge(p, Options{}).Label)
}

func BenchmarkJudge(b *testing.B) {
	p := sample(48, 1, 0.1*mib, func(x float64) float64 { return 20 * mib * x }, constantRate)
	for b.Loop() {
		Judge(p, Options{})
	}
}

// TestAnExactLineIsALine: a series that a line fits exactly is not judged by rounding, which
// decides whether a wave or a curve fits better than the line.
func TestAnExactLineIsALine(t *testing.T) {
	for n := verdict.MinPoints; n <= 40; n++ {
		for _, step := range []float64{333, 61440, 80000, 131040, 1e6} {
			var p Points
			for i := range n {
				y := 320 + float64(i)*step
				p.T, p.Live = append(p.T, float64(i)), append(p.Live, y)
				p.Objects, p.Alloc = append(p.Objects, float64(i)), append(p.Alloc, y)
			}
			s, ok := prepare(p, Options{})
			require.True(t, ok)
			l := s.line()
			f := s.features(l, s.curves(), s.growth(l))
			for _, feature := range []Feature{FeatureCycleLine, FeatureLine} {
				require.InDelta(t, 1, f[feature], 1e-6, "%s of %d points, %v bytes apart", feature, n, step)
			}
			for _, feature := range []Feature{FeatureCycleLineT, FeatureLineT} {
				require.InDelta(t, 1000, f[feature], 1e-3, "%s of %d points, %v bytes apart", feature, n, step)
			}
		}
	}
}

// TestConfidenceAloneDecides: a series that grew is a leak or a suspect if its confidence says so, and
// not otherwise, whatever the shape.
func TestConfidenceAloneDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	seen := map[verdict.Site]int{}
	for seed := range uint64(300) {
		a, b, tau, knee := 20*r.Float64(), 30*r.Float64(), r.Float64(), r.Float64()
		live := func(x float64) float64 {
			return (3 + a*(1-math.Exp(-x/tau)) + b*max(0, x-knee)) * mib
		}
		p := sample(8+r.IntN(30), seed, r.Float64()*mib, live, constantRate)
		for _, least := range []float64{0, 0.3, 0.9} {
			v := Judge(p, Options{LeakConfidence: least})
			large := v.Features[FeatureSize] >= 1 && p.Live[len(p.Live)-1] > p.Live[0]
			want := least
			if least == 0 {
				want = LeakConfidence
			}
			require.Equal(t, large && v.Confidence >= want, v.Label.IsLeak(), "%+v", v)
			require.Equal(t, large && v.Confidence >= SuspectConfidence && v.Confidence < want, v.Label == verdict.Suspect, "%+v", v)
			seen[v.Label]++
		}
	}
	require.Greater(t, len(seen), 4, "%v", seen)
}

// TestABusyMachineHidesNoLeak: a process that leaks with each request gets less and less processor time.
// Over time its leak slows down; over its work it is a line.
func TestABusyMachineHidesNoLeak(t *testing.T) {
	for seed := range uint64(5) {
		work := func(x float64) float64 { return 1 - math.Exp(-2*x) }
		p := sample(30, seed, 0.05*mib, func(x float64) float64 { return (5 + 20*work(x)) * mib }, constantRate)
		over := p
		over.Alloc = nil
		for i := range p.T {
			done := work(p.T[i] / p.T[len(p.T)-1])
			over.Work, over.Alloc = append(over.Work, done), append(over.Alloc, 200*mib*done)
		}
		p.Alloc = nil
		byTime, byWork := Judge(p, Options{}), Judge(over, Options{})
		require.Less(t, byTime.Confidence, LeakConfidence, "%+v", byTime)
		require.GreaterOrEqual(t, byWork.Confidence, LeakConfidence, "%+v", byWork)
	}
}

// TestAnIdleNightHidesNoLeak: the process does nothing in the second half.
func TestAnIdleNightHidesNoLeak(t *testing.T) {
	work := func(x float64) float64 { return min(x, 0.5) + 0.04*max(0, x-0.5) }
	p := sample(30, 1, 0.1*mib, func(x float64) float64 { return (5 + 40*work(x)) * mib }, constantRate)
	p.Objects, p.Alloc = nil, nil
	over := p
	for i := range p.T {
		over.Work = append(over.Work, work(p.T[i]/p.T[len(p.T)-1]))
	}
	require.Greater(t, Judge(over, Options{}).Confidence, Judge(p, Options{}).Confidence+0.2)
}

// TestWorkIsOptional: a clock that does not rise, or falls, is not used.
func TestWorkIsOptional(t *testing.T) {
	p := sample(24, 1, 0.1*mib, func(x float64) float64 { return (5 + 20*x) * mib }, constantRate)
	without := Judge(p, Options{})
	for _, work := range [][]float64{make([]float64, 24), slices.Repeat([]float64{2, 1}, 12)} {
		p.Work = work
		require.Equal(t, without, Judge(p, Options{}))
	}
}

// TestCodeThatRunsOnceHasItsName: what grew while modules were imported, and does not leak, is loading.
func TestCodeThatRunsOnceHasItsName(t *testing.T) {
	curve := func(x float64) float64 { return 20 * mib * min(1, x/0.9) }
	for seed := range uint64(10) {
		p := sample(24, seed, 0.1*mib, curve, constantRate)
		leak := Judge(p, Options{})
		p.ImportShare = 1
		once := Judge(p, Options{})
		require.Equal(t, leak.Confidence, once.Confidence, "seed %d", seed)
		once = once.Of(Judge(Points{}, Options{}), Options{}) // all of it is imported
		require.Equal(t, verdict.Loading, once.Label, "seed %d", seed)
		require.Zero(t, once.Confidence)
	}
}

// TestLineBesideLoad: what lives for a short time follows the rate of allocation. The line beside that
// rate is what stays.
func TestLineBesideLoad(t *testing.T) {
	rate := func(x float64) float64 { return (100 + 80*math.Sin(6*x) + 100*x) * mib }
	for _, leak := range []float64{0, 12 * mib} {
		p := sample(24, 3, 0.01*mib, func(x float64) float64 { return 0.1*rate(x) + leak*x }, rate)
		f := Judge(p, Options{}).Features
		s, ok := prepare(p, Options{})
		require.True(t, ok)
		require.InDelta(t, leak/s.growth(s.line()), f[FeatureBesideLoad], 0.15)
		require.Less(t, f[FeatureLoadFit], -2.0)
		require.Equal(t, leak > 0, f[FeatureBesideLoadT] > 8, "t is %.1f", f[FeatureBesideLoadT])
	}
}

// TestSampleError: small objects are sampled by chance, and large ones always.
func TestSampleError(t *testing.T) {
	of := func(size, period float64) float64 {
		return Points{Live: []float64{10 * size}, Objects: []float64{10}, Period: period}.sampleError()
	}
	require.Zero(t, of(64, 0), "every allocation is recorded")
	require.InEpsilon(t, 512<<10, of(64, 512<<10), 0.001)
	require.Less(t, of(8<<20, 512<<10), 1.0)
	require.Equal(t, 100.0, Points{Live: []float64{1}, Period: 100}.sampleError(), "the objects are not known")
}
