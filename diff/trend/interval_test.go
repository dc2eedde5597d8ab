package trend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/verdict"
)

// recorded is a site that a sampling engine records. It leaks objects of one size at a constant rate, and holds others
// of that size for a moment.
type recorded struct {
	size           float64
	leaked, before float64 // bytes from the first point to the last, and before it
	churn          float64 // bytes that are in use at a point, and at no other one
	points         int
}

const period = 128 << 10

// rate is the rate of the leak, per unit of time: there is one from point to point.
func (c recorded) rate() float64 { return c.leaked / float64(c.points-1) }

// record draws a recording: an object is sampled with the probability 1 − e^(−size/period).
func (c recorded) record(r *rand.Rand) Points {
	p := Points{Period: period}
	chance := p.chance(c.size)
	sampled := func(objects int) float64 { return float64(binomial(r, objects, chance)) / chance }
	objects := func(bytes float64) int { return int(math.Round(bytes / c.size)) }
	leak, done := sampled(objects(c.before)), 0
	for i := range c.points {
		leaked := objects(c.rate() * float64(i))
		leak += sampled(leaked - done)
		done = leaked
		found := leak + sampled(objects(c.churn))
		p.T = append(p.T, float64(i))
		p.Live = append(p.Live, found*c.size)
		p.Objects = append(p.Objects, found)
	}
	return p
}

// binomial draws how many of n objects are sampled, each with a probability.
func binomial(r *rand.Rand, n int, chance float64) (found int) {
	for i := geometric(r, chance); i < n; i += 1 + geometric(r, chance) {
		found++
	}
	return found
}

// geometric draws the number of objects before the next one that is sampled.
func geometric(r *rand.Rand, chance float64) int {
	if chance >= 1 {
		return 0
	}
	return int(min(1<<40, math.Log1p(-r.Float64())/math.Log1p(-chance)))
}

// TestIntervalHoldsTheRateOfALeak: in 95 of 100 recordings of samples, or nearly so, whatever the size and the number
// of the objects, and what else the site holds.
func TestIntervalHoldsTheRateOfALeak(t *testing.T) {
	const draws = 500
	r := rand.New(rand.NewPCG(1, 1))
	all, count := 0., 0.
	for _, c := range []recorded{
		{size: 64, leaked: mib, points: 12},
		{size: 64, leaked: 17 * mib, points: 41},
		{size: 1536, leaked: mib, before: 4 * mib, points: 41},
		{size: 1536, leaked: 4 * mib, churn: 4 * mib, points: 24},
		{size: 1536, leaked: 17 * mib, points: 8},
		{size: 1536, leaked: 17 * mib, points: 41},
		{size: 1536, leaked: 17 * mib, churn: 17 * mib, points: 41},
		{size: 1536, leaked: 100 * mib, before: 50 * mib, points: 100},
		{size: 40 << 10, leaked: 4 * mib, points: 12},
		{size: 40 << 10, leaked: 100 * mib, points: 41},
		{size: 256 << 10, leaked: 17 * mib, churn: 8 * mib, points: 24},
		{size: 256 << 10, leaked: 100 * mib, points: 41},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			held := 0.
			for range draws {
				v := Judge(c.record(r), Options{MinGrowth: math.MaxFloat64}) // the line only
				if low, high := v.Interval(); low <= c.rate() && c.rate() <= high {
					held++
				}
			}
			assert.GreaterOrEqual(t, held/draws, 0.90)
			assert.LessOrEqual(t, held/draws, 0.99)
			all, count = all+held, count+draws
		})
	}
	assert.InDelta(t, 0.95, all/count, 0.015)
}

// TestIntervalOfALateLeak: that of the part in which it leaks.
func TestIntervalOfALateLeak(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	held, count := 0., 0.
	for range 100 {
		late := recorded{size: 1536, leaked: 40 * mib, points: 20}
		p := late.record(r)
		for i := range p.T {
			p.T[i] += 20
		}
		for i := range 20 {
			p.T = slices.Insert(p.T, i, float64(i))
			p.Live, p.Objects = slices.Insert(p.Live, i, 0), slices.Insert(p.Objects, i, 0)
		}
		v := Judge(p, Options{})
		if v.Label != verdict.LeakLate {
			continue
		}
		count++
		if low, high := v.Interval(); low <= late.rate() && late.rate() <= high {
			held++
		}
	}
	require.Greater(t, count, 50.)
	assert.GreaterOrEqual(t, held/count, 0.90)
}

// TestSlopeErrorIsThatOfTheSamples: 17 MiB of samples of 128 KiB are 136 of them.
func TestSlopeErrorIsThatOfTheSamples(t *testing.T) {
	c := recorded{size: 1, leaked: 17 * mib, points: 60}
	p := Points{Period: period}
	for i := range c.points {
		p.T = append(p.T, float64(i))
		p.Live = append(p.Live, c.rate()*float64(i))
		p.Objects = append(p.Objects, c.rate()*float64(i))
	}
	v := Judge(p, Options{})
	require.InEpsilon(t, v.Slope*math.Sqrt(6./5/136), v.SlopeError, 0.02)
	low, high := v.Interval()
	require.InEpsilon(t, 1.96*v.SlopeError, v.Slope-low, 1e-9, "the points do not scatter")
	require.InEpsilon(t, 1.96*v.SlopeError, high-v.Slope, 1e-9)
}

// TestIntervalOfExactCounts is that of the scatter, and so is, for samples too, the interval by which sites are ranked.
func TestIntervalOfExactCounts(t *testing.T) {
	sampled := recorded{size: 1536, leaked: 17 * mib, points: 41}.record(rand.New(rand.NewPCG(3, 1)))
	exact := sampled
	exact.Period = 0
	v := Judge(exact, Options{})
	low, high := v.Interval()
	require.Zero(t, v.SlopeError)
	require.Equal(t, []float64{v.Low, v.High}, []float64{low, high})
	s := Judge(sampled, Options{})
	require.Equal(t, []float64{v.Low, v.Slope, v.High}, []float64{s.Low, s.Slope, s.High})
	low, high = s.Interval()
	require.Less(t, low, s.Low)
	require.Greater(t, high, s.High)
}
