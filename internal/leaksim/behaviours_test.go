package leaksim

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// draws returns the number of functions over which the mean of a behaviour is computed.
func draws() uint64 {
	if testutil.Full() {
		return 200
	}
	return 30
}

// live simulates one function of a behaviour for two spans and returns its counts after each step.
func live(b Behaviour, seed uint64) (grid, [][]point) {
	params := NewRand(seed, streamParams)
	g := grid{end: 2}
	if Chance(params, 0.5) {
		g.burn = uniform(params, 0.03, 0.5)
	}
	var out [][]point
	for _, plan := range b.build(newDraw(params, NewRand(seed, streamChaos), g, newScene(params), b.leak)) {
		im := &image{grid: g}
		s := site{plan: plan, stacks: make([][]uint64, len(plan.paths))}
		im.runSite(&s, NewRand(seed, streamUnits), 0)
		curve := make([]point, g.steps())
		for i := range curve {
			curve[i] = im.siteAt(&s, i)
		}
		out = append(out, curve)
	}
	return g, out
}

// mean returns the mean of the bytes in use between two times.
func mean(g grid, curve []point, from, to float64) float64 {
	var sum float64
	a, b := g.index(from), g.index(to)
	for _, p := range curve[a : b+1] {
		sum += float64(p.bytes)
	}
	return sum / float64(b-a+1)
}

// most returns the maximum over the first span of the mean over a tenth of a span, or the mean at
// its end.
func most(g grid, curve []point) (high float64) {
	high = mean(g, curve, 0.985, 1)
	for t := dt; t < 0.9; t += 0.05 {
		high = max(high, mean(g, curve, t, t+0.1))
	}
	return high
}

// TestHarmlessIsBounded checks that the mean in a second span does not exceed the maximum of the
// first span by more than the definition of the behaviour allows, and that nothing leaks.
func TestHarmlessIsBounded(t *testing.T) {
	for _, b := range append(harmless(), wideHarmless()...) {
		t.Run(b.Name, func(t *testing.T) {
			var sum float64
			n := 0
			for seed := range draws() {
				g, curves := live(b, seed)
				for _, c := range curves {
					require.Zero(t, c[len(c)-1].leaked)
					if high := most(g, c); high > 0 {
						sum += mean(g, c, 1.8, 2)/high - 1
						n++
					}
				}
			}
			require.Positive(t, n)
			require.LessOrEqual(t, sum/float64(n), b.further+0.01, "expected further growth")
		})
	}
}

// TestStationary compares the means of the first and the last third of the first span.
func TestStationary(t *testing.T) {
	for _, name := range []string{
		"constant", "noisy-constant", "constant-turnover", "lru-churn", "realloc-churn", "random-walk", "spikes",
		"moved-within",
	} {
		b := behaviourNamed(t, name)
		var sum, squares, n float64
		for seed := range 4 * draws() {
			g, curves := live(b, seed)
			for _, c := range curves {
				if high := most(g, c); high > 0 {
					x := (mean(g, c, 0.67, 1) - mean(g, c, dt, 0.33)) / high
					sum, squares, n = sum+x, squares+x*x, n+1
				}
			}
		}
		m := sum / n
		require.LessOrEqual(t, math.Abs(m), 4*math.Sqrt((squares/n-m*m)/n)+1e-3, "%s: %v over %v functions", name, m, n)
	}
}

// TestLeaksContinue checks that every leak continues in a second span, and that the bytes in use
// grow accordingly.
func TestLeaksContinue(t *testing.T) {
	testutil.NoRace(t)
	for _, b := range leaks() {
		t.Run(b.Name, func(t *testing.T) {
			var first, second, grown float64
			n := draws()
			if b.Name == "leak-thin" {
				n = 1 + n/10 // of 200 stacks each
			}
			for seed := range n {
				g, curves := live(b, seed)
				for _, c := range curves {
					lost := func(from, to float64) float64 { return float64(c[g.index(to)].leaked - c[g.index(from)].leaked) }
					scale := 1 + lost(dt, 2) // gives each function the same weight
					first += lost(dt, 1) / scale
					second += lost(1, 2) / scale
					grown += (mean(g, c, 1.9, 2) - mean(g, c, 0.9, 1)) / scale
				}
			}
			require.Greater(t, second, first/3)
			require.Greater(t, grown, second/2)
		})
	}
}

// TestCountsAreConsistent checks every behaviour after each step. Live objects were allocated,
// cumulative counts do not decrease, objects and bytes are zero at the same time, and leaked
// objects are live.
func TestCountsAreConsistent(t *testing.T) {
	for _, b := range Behaviours() {
		for seed := range uint64(3) {
			_, curves := live(b, seed)
			for _, c := range curves {
				var before point
				for i, p := range c {
					ok := p.live >= 0 && p.live <= p.allocs && p.bytes <= p.allocBytes && (p.live == 0) == (p.bytes == 0) &&
						p.allocs >= before.allocs && p.allocBytes >= before.allocBytes && p.leaked >= before.leaked && p.leaked <= p.bytes
					require.True(t, ok, "%s, seed %d, step %d: %+v after %+v", b.Name, seed, i, p, before)
					before = p
				}
			}
		}
	}
}

// TestBehaviourNames checks that names are unique, weights are positive, and the manual lists each
// behaviour.
func TestBehaviourNames(t *testing.T) {
	manual := content(t, filepath.Join("..", "..", "docs", "growth-benchmark.md"))
	seen := map[string]bool{}
	for _, b := range Behaviours() {
		require.False(t, seen[b.Name], b.Name)
		seen[b.Name] = true
		require.Positive(t, b.weight, b.Name)
		require.Contains(t, manual, "| `"+b.Name+"` | "+b.about+" |\n")
	}
}

// TestDistributions compares means and variances with their formulas, for each method of drawing.
func TestDistributions(t *testing.T) {
	const n = 20000
	for name, c := range map[string]struct {
		draw           func(*rand.Rand) int64
		mean, variance float64
	}{
		"poisson, small":        {func(r *rand.Rand) int64 { return poisson(r, 3.3) }, 3.3, 3.3},
		"poisson, large":        {func(r *rand.Rand) int64 { return poisson(r, 250) }, 250, 250},
		"binomial, few":         {func(r *rand.Rand) int64 { return binomial(r, 20, 0.3) }, 6, 4.2},
		"binomial, rare":        {func(r *rand.Rand) int64 { return binomial(r, 1000, 0.004) }, 4, 3.984},
		"binomial, many":        {func(r *rand.Rand) int64 { return binomial(r, 1000, 0.4) }, 400, 240},
		"binomial, likely":      {func(r *rand.Rand) int64 { return binomial(r, 1000, 0.9) }, 900, 90},
		"hypergeometric, few":   {func(r *rand.Rand) int64 { return hypergeometric(r, 100, 20, 30) }, 6, 30 * 0.2 * 0.8 * 70 / 99},
		"hypergeometric, many":  {func(r *rand.Rand) int64 { return hypergeometric(r, 1000, 400, 300) }, 120, 300 * 0.4 * 0.6 * 700 / 999},
		"hypergeometric, whole": {func(r *rand.Rand) int64 { return hypergeometric(r, 10, 4, 10) }, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRand(1, 1)
			var sum, squares float64
			for range n {
				x := float64(c.draw(r))
				sum += x
				squares += (x - c.mean) * (x - c.mean)
			}
			require.InDelta(t, c.mean, sum/n, 5*math.Sqrt(c.variance/n)+1e-9)
			require.InDelta(t, c.variance, squares/n, 0.06*c.variance+1e-9)
		})
	}
}

// TestWideFunctions checks that in a wide population some functions have two behaviours, and
// harmless ones do not leak.
func TestWideFunctions(t *testing.T) {
	p := Simulate(7, 8, true)
	im := p.images[0]
	last, other := im.grid.steps()-1, 0
	for i := range im.sites {
		s := &im.sites[i]
		if !s.behaviour.leak {
			require.Zero(t, im.siteAt(s, last).leaked, s.behaviour.Name)
		}
		if s.behaviour.Name == "constant" && im.siteAt(s, last).bytes != im.siteAt(s, 0).bytes {
			other++
		}
	}
	require.Positive(t, other, "some constant functions have a second behaviour")
}
