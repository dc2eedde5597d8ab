// Package behaviour defines how simulated functions use memory: those that leak, those that only look
// like it, and functions that do both.
package behaviour

import (
	"math/rand/v2"

	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// Behaviour is a way in which a function uses memory.
type Behaviour struct {
	Name  string
	about string // for the manual
	Leak  bool
	pure  bool // its functions do nothing else
	// weight is the relative frequency among the behaviours that leak, or among those that do not.
	weight float64
	// further limits the growth of a behaviour that does not leak: that of the mean bytes in use in
	// a second span, relative to the maximum in the first span.
	further float64
	build   func(*draw) []Blueprint
}

// Behaviours returns all behaviours of the benchmark, those that leak last.
func Behaviours() []Behaviour {
	return append(harmless(), leaks()...)
}

// harmless returns the behaviours that do not leak. The weight of a cache is proportional to the
// width of the window in which it gets full, so that it gets full at any time with equal
// probability.
func harmless() []Behaviour {
	return []Behaviour{
		{Name: "constant", about: "allocated at the start and kept", weight: 14, build: constant},
		{Name: "noisy-constant", about: "objects of requests under a constant, noisy load", weight: 16, build: noisyConstant},
		{Name: "constant-turnover", about: "a fixed number of objects that are replaced all the time", weight: 6, build: constantTurnover},
		{Name: "warm-up-fast", about: "a finite number of keys, each used once; time constant 0.02 to 0.12 spans", weight: 4, build: warmUpFast},
		{Name: "warm-up-slow", about: "the same, 0.12 to 0.35 spans", weight: 3, further: 0.04, build: warmUpSlow},
		{Name: "warm-up-long", about: "the same, 0.35 to 0.7 spans: still filling at the end", weight: 2, further: 0.2, build: warmUpLong},
		{Name: "cache-fill-early", about: "fills up to a cap at 20 to 42 % of the span, then evicts", weight: 2.5, build: cacheFillEarly},
		{Name: "cache-fill-mid", about: "the same, at 42 to 75 %", weight: 3.8, build: cacheFillMid},
		{Name: "cache-fill-late", about: "the same, at 88 to 98 %", weight: 1.2, further: 0.05, build: cacheFillLate},
		{Name: "lru-churn", about: "a full cache of objects of various sizes", weight: 5, build: lruChurn},
		{Name: "load-ramp", about: "short-lived objects under a load that rises", weight: 4, further: 0.04, build: loadRamp},
		{Name: "load-ramp-medium", about: "the same, with lifetimes of 0.03 to 0.2 spans", weight: 3, further: 0.12, build: loadRampMedium},
		{Name: "load-step", about: "short-lived objects under a load that jumps once", weight: 2, build: loadStep},
		{Name: "cycle-short", about: "a daily cycle, 0.1 to 0.4 spans long", weight: 3, build: cycleShort},
		{Name: "cycle-span", about: "a daily cycle, 0.75 to 1.2 spans long", weight: 3, build: cycleSpan},
		{Name: "cycle-long", about: "a daily cycle, 1.3 to 1.8 spans long", weight: 2, build: cycleLong},
		{Name: "sawtooth", about: "batches that are freed as a whole", weight: 4, build: sawtooth},
		{Name: "garbage", about: "garbage that is collected when it reaches a limit, which rises up to a bound",
			weight: 3, further: 0.1, build: garbage},
		{Name: "step", about: "loaded once, within the span", weight: 3, build: oneStep},
		{Name: "two-steps", about: "loaded in two parts", weight: 2, build: twoSteps},
		{Name: "table-doubling", about: "a growing table that reaches its final size", weight: 3, build: tableDoubling},
		{Name: "realloc-churn", about: "a few buffers that are resized within limits", weight: 3, build: reallocChurn},
		{Name: "queue-backlog", about: "a worker that falls behind and catches up", weight: 3, build: backlog},
		{Name: "spikes", about: "temporary peaks at random moments", weight: 3, build: spikes},
		{Name: "pool-growth", about: "chunks that are added at record demand and never returned", weight: 3, further: 0.08, build: poolGrowth},
		{Name: "startup", about: "allocated while the process starts, partly freed", weight: 6, build: startup},
		{Name: "random-walk", about: "sessions whose number varies around a mean", weight: 4, build: randomWalk},
		{Name: "moved-within", about: "objects move from one call path of a function to another", weight: 1.5, build: movedWithin},
		{Name: "moved-across", about: "objects move from one function to another", weight: 1.5, build: movedAcross},
	}
}

func leaks() []Behaviour {
	list := []Behaviour{
		{Name: "leak-steady", about: "a constant rate", weight: 3, build: leakSteady},
		{Name: "leak-request", about: "a share of the requests, under constant load", weight: 3, build: leakRequest},
		{Name: "leak-request-ramping", about: "a share of the requests, under rising load",
			weight: 2, build: leakRequestRamping},
		{Name: "leak-request-falling", about: "a share of the requests, under falling load",
			weight: 1.5, build: leakRequestFalling},
		{Name: "leak-request-cycling", about: "a share of the requests, under a daily cycle",
			weight: 2, build: leakRequestCycling},
		{Name: "leak-under-cycle", about: "a constant rate under an unrelated daily cycle", weight: 2, build: leakUnderCycle},
		{Name: "leak-under-cache", about: "a constant rate beside a cache that fills", weight: 2, build: leakUnderCache},
		{Name: "leak-after-fill", about: "a constant rate in a function that also fills a cache early", weight: 3, build: leakAfterFill},
		{Name: "leak-retraced", about: "20 to 80 functions with a common caller leak together, each time that something is built anew",
			pure: true, weight: 0.15, build: leakRetraced},
		{Name: "leak-bursty", about: "bursts at random moments, 5 to 60 a span", weight: 2, build: leakBursty},
		{Name: "leak-batch-residue", about: "a part of each batch is never freed", weight: 2, build: leakBatchResidue},
		{Name: "leak-late", about: "begins at 30 to 70 % of the span", weight: 2, build: leakLate},
		{Name: "leak-accelerating", about: "the rate rises as a power of the time", weight: 1.5, build: leakAccelerating},
		{Name: "leak-twins", about: "two functions with the same caller", weight: 1, build: leakTwins},
		{Name: "leak-thin", about: "150 to 250 call paths of one function, each with a small leak", weight: 1.5, build: leakThin},
		{Name: "leak-large-rare", about: "4 to 40 large objects a span", weight: 1.5, build: leakLargeRare},
		{Name: "leak-doubling", about: "a container that grows without limit, in jumps",
			pure: true, weight: 1, build: leakDoubling},
	}
	for i := range list {
		list[i].Leak = true
	}
	return list
}

// Mixture draws a behaviour of the benchmark. leaking is the share of leaks.
func Mixture(rng *rand.Rand, leaking float64) Behaviour { return leakOr(rng, leaking, harmless()) }

// A small program does one thing: in themeShare of them, onTheme of the functions that do not leak behave alike.
const themeShare, onTheme = 0.5, 0.5

// SmallMixture draws what the functions of a small program do, and returns a mixture of it.
func SmallMixture(rng *rand.Rand) func(rng *rand.Rand, leaking float64) Behaviour {
	theme := byWeight(rng, harmless())
	if !random.Chance(rng, themeShare) {
		return Mixture
	}
	return func(rng *rand.Rand, leaking float64) Behaviour {
		if b := Mixture(rng, leaking); b.Leak || !random.Chance(rng, onTheme) {
			return b
		}
		return theme
	}
}

// leakOr draws a leak or one of the others.
func leakOr(rng *rand.Rand, leaking float64, others []Behaviour) Behaviour {
	if random.Chance(rng, leaking) {
		return byWeight(rng, leaks())
	}
	return byWeight(rng, others)
}

func byWeight(rng *rand.Rand, list []Behaviour) Behaviour {
	var sum float64
	for _, b := range list {
		sum += b.weight
	}
	x := sum * rng.Float64()
	for _, b := range list {
		if x -= b.weight; x < 0 {
			return b
		}
	}
	return list[len(list)-1]
}
