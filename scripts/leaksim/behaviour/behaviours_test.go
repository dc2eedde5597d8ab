package behaviour

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// draws returns the number of functions over which the mean of a behaviour is computed.
func draws() uint64 {
	if testutil.Full() {
		return 200
	}
	return 30
}

// live simulates one function of a behaviour for two spans and returns its counts after each step. It may vary as where
// births are recorded.
func live(b Behaviour, seed uint64, varied bool) (Grid, [][]memory.Point) {
	params := random.New(seed, 1)
	g := Grid{End: 2}
	if random.Chance(params, 0.5) {
		g.Burn = random.Uniform(params, 0.03, 0.5)
	}
	var out [][]memory.Point
	sc := NewScene(params)
	sc.Varied = varied
	for _, plan := range b.build(NewDraw(params, random.New(seed, 2), g, sc, b.Leak)) {
		history := plan.Run(random.New(seed, 3), g, 0, Watch{}, false).History
		curve := make([]memory.Point, g.Steps())
		for _, path := range history {
			for i, p := range path {
				curve[i] = curve[i].Add(p)
			}
		}
		out = append(out, curve)
	}
	return g, out
}

// mean returns the mean of the bytes in use between two times.
func mean(g Grid, curve []memory.Point, from, to float64) float64 {
	var sum float64
	a, b := g.Index(from), g.Index(to)
	for _, p := range curve[a : b+1] {
		sum += float64(p.Bytes)
	}
	return sum / float64(b-a+1)
}

// most returns the maximum over the first span of the mean over a tenth of a span, or the mean at
// its end.
func most(g Grid, curve []memory.Point) (high float64) {
	high = mean(g, curve, 0.985, 1)
	for t := Dt; t < 0.9; t += 0.05 {
		high = max(high, mean(g, curve, t, t+0.1))
	}
	return high
}

// TestHarmlessIsBounded checks that the mean in a second span does not exceed the maximum of the
// first span by more than the definition of the behaviour allows, and that nothing leaks.
func TestHarmlessIsBounded(t *testing.T) {
	for _, b := range slices.Concat(harmless(), wideHarmless(), variedHarmless()) {
		t.Run(b.Name, func(t *testing.T) {
			var sum float64
			n := 0
			for seed := range draws() {
				g, curves := live(b, seed, seed%2 == 1)
				for _, c := range curves {
					require.Zero(t, c[len(c)-1].Leaked)
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
		b := harmless()[slices.IndexFunc(harmless(), func(b Behaviour) bool { return b.Name == name })]
		var sum, squares, n float64
		for seed := range 4 * draws() {
			g, curves := live(b, seed, seed%2 == 1)
			for _, c := range curves {
				if high := most(g, c); high > 0 {
					x := (mean(g, c, 0.67, 1) - mean(g, c, Dt, 0.33)) / high
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
	for _, b := range append(leaks(), variedLeaks()...) {
		t.Run(b.Name, func(t *testing.T) {
			var first, second, grown float64
			n := draws()
			if b.Name == "leak-thin" {
				n = 1 + n/10 // of 200 stacks each
			}
			for seed := range n {
				g, curves := live(b, seed, seed%2 == 1)
				for _, c := range curves {
					lost := func(from, to float64) float64 { return float64(c[g.Index(to)].Leaked - c[g.Index(from)].Leaked) }
					scale := 1 + lost(Dt, 2) // gives each function the same weight
					first += lost(Dt, 1) / scale
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
	for _, b := range append(Behaviours(), Varied()...) {
		for seed := range uint64(3) {
			_, curves := live(b, seed, seed%2 == 1)
			for _, c := range curves {
				var before memory.Point
				for i, p := range c {
					ok := p.Live >= 0 && p.Live <= p.Allocs && p.Bytes <= p.AllocBytes && (p.Live == 0) == (p.Bytes == 0) &&
						p.Allocs >= before.Allocs && p.AllocBytes >= before.AllocBytes && p.Leaked >= before.Leaked && p.Leaked <= p.Bytes
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
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "growth-benchmark.md"))
	require.NoError(t, err)
	manual := string(text)
	seen := map[string]bool{}
	for _, b := range append(Behaviours(), Varied()...) {
		require.False(t, seen[b.Name], b.Name)
		seen[b.Name] = true
		require.Positive(t, b.weight, b.Name)
		require.Contains(t, manual, "| `"+b.Name+"` | "+b.about+" |\n")
	}
}
