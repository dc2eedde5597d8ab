package behaviour

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// Many functions also allocate short-lived objects, whose cumulative counts are larger than those
// of the behaviour.

// busyShare is the share of functions with short-lived objects.
const busyShare = 0.35

// Plans returns the functions of a behaviour. Some of them also allocate short-lived objects.
func (b Behaviour) Plans(d *draw) []Blueprint {
	list := b.build(d)
	if b.pure {
		return list
	}
	return withTraffic(d, list)
}

// withTraffic adds short-lived objects to some functions, with their own load. Few of them are live
// at any time, but many may be allocated in total.
func withTraffic(d *draw, plans []Blueprint) []Blueprint {
	if !random.Chance(d.params, busyShare) {
		return plans
	}
	life := random.LogUniform(d.params, 1e-4, 0.01)
	level := d.objects(d.bytes) * random.LogUniform(d.params, 1e-4, 0.1)
	load, l := d.load(d.trafficCurve()), d.lives(life)
	for i := range plans {
		for k, path := range plans[i].Paths {
			plans[i].Paths[k] = both(path, requests(level/float64(len(plans[i].Paths)), life, load, l))
		}
	}
	return plans
}

// trafficCurve returns a constant load or, less often, a ramp or a cycle.
func (d *draw) trafficCurve() func(float64) float64 {
	switch d.params.IntN(5) {
	case 0:
		return RampCurve(1, random.Uniform(d.params, 0.3, 3), 0, 1)
	case 1:
		period, phase := random.Uniform(d.params, 0.2, 1.5), random.Uniform(d.params, 0, 2*math.Pi)
		swing := random.Uniform(d.params, 0.1, 0.8)
		return func(t float64) float64 { return 1 + swing*math.Sin(2*math.Pi*t/period+phase) }
	}
	return Flat
}

// both returns an actor that runs a and b.
func both(a, b actor) actor {
	return func(u *memory.Unit, i int, t float64) {
		a(u, i, t)
		b(u, i, t)
	}
}

// In a wide population, functions may have a second behaviour, and there are additional harmless
// behaviours. The model of the detector is fitted to both populations, so that it does not learn
// that leaks have no other behaviour.

// secondShare is the share of the functions of a wide population with a second behaviour.
const secondShare = 0.35

// wideHarmless returns the additional harmless behaviours of a wide population.
func wideHarmless() []Behaviour {
	return []Behaviour{
		{Name: "warm-up-popular", about: "a finite number of keys, drawn by Zipf's law",
			weight: 4, further: 0.2, build: warmUpPopular},
		{Name: "rollout", about: "a feature that its users adopt one after another: a logistic curve", weight: 2, further: 0.12, build: rollout},
		{Name: "expiring-cache", about: "entries that live for a fixed time", weight: 4, further: 0.1, build: expiringCache},
	}
}

// secondBehaviours returns the behaviours that can be the second one of a function. They do not
// change its sizes.
func secondBehaviours() (out []Behaviour) {
	names := strings.Fields(`constant noisy-constant warm-up-fast warm-up-slow warm-up-long cache-fill-early
		cache-fill-mid load-ramp load-ramp-medium load-step cycle-short cycle-span cycle-long sawtooth step two-steps
		queue-backlog spikes startup random-walk`)
	for _, b := range harmless() {
		if slices.Contains(names, b.Name) {
			b.weight = 1
			out = append(out, b)
		}
	}
	return append(out, wideHarmless()...)
}

// WideMixture draws a behaviour of the wide population.
func WideMixture(rng *rand.Rand, leaking float64) Behaviour {
	return leakOr(rng, leaking, append(harmless(), wideHarmless()...))
}

// WithSecond adds a second behaviour to some functions, on their first call path.
func WithSecond(d *draw, b Behaviour, plans []Blueprint) []Blueprint {
	if b.pure || !random.Chance(d.params, secondShare) {
		return plans
	}
	plan := &plans[0]
	beside := *d
	beside.bytes *= random.LogUniform(d.params, 0.05, 5)
	beside.sizes, beside.shares = plan.Sizes, plan.shares
	other := byWeight(d.params, secondBehaviours()).build(&beside)
	if &beside.sizes[0] != &plan.Sizes[0] {
		return plans // the second behaviour needs other sizes
	}
	for _, path := range other[0].Paths {
		plan.Paths[0] = both(plan.Paths[0], path)
	}
	return plans
}

// warmUpPopular allocates once for each of a finite number of keys. Requests use key k with a
// probability proportional to k^−s (Zipf's law).
func warmUpPopular(d *draw) []Blueprint {
	n := d.manyObjects(d.bytes)
	start := max(-d.grid.Burn, random.Uniform(d.params, -0.1, 0.1))
	s, reached := random.Uniform(d.params, 0.6, 1.2), random.Uniform(d.params, 0.85, 0.995)
	load := d.load(Flat)
	return []Blueprint{d.site(func(share float64) actor {
		keys := popularKeys(n*share, s)
		rate := keys.rate(reached)
		return func(u *memory.Unit, i int, t float64) {
			if t < start {
				return
			}
			for k := range keys {
				g := &keys[k]
				drawn := random.Binomial(u.Rng, g.left, -math.Expm1(-rate*g.weight*load[i]*Dt))
				u.AllocMany(drawn)
				g.left -= drawn
			}
		}
	})}
}

// popular holds groups of keys with similar popularity.
type popular []struct {
	left   int64
	weight float64
}

// popularKeys divides n keys into groups. The ranks in a group differ by at most 30 %.
func popularKeys(n, s float64) (out popular) {
	for from := 1.0; from <= n; {
		to := min(max(from+1, math.Floor(from*1.3)), math.Floor(n)+1)
		out = append(out, struct {
			left   int64
			weight float64
		}{int64(to - from), math.Pow((from+to-1)/2, -s)})
		from = to
	}
	return out
}

// rate returns the number of uses per span of the most popular key, such that the given share of
// the keys is used within a span.
func (p popular) rate(reached float64) float64 {
	return math.Exp(random.Bisect(0, 60, func(x float64) bool { return p.touched(math.Exp(x)) < reached }))
}

// touched returns the share of the keys that are used within a span.
func (p popular) touched(rate float64) float64 {
	var some, all float64
	for _, g := range p {
		some -= float64(g.left) * math.Expm1(-rate*g.weight)
		all += float64(g.left)
	}
	return some / all
}

func rollout(d *draw) []Blueprint {
	n := d.manyObjects(d.bytes)
	middle, width := random.Uniform(d.params, 0.15, 0.7), random.Uniform(d.params, 0.03, 0.12)
	adopted := func(t float64) float64 { return 1 / (1 + math.Exp(-(t-middle)/width)) }
	return []Blueprint{d.site(func(share float64) actor {
		var have int64
		return func(u *memory.Unit, _ int, t float64) {
			k := int64(n*share*adopted(t)) - have
			u.AllocMany(k)
			have += k
		}
	})}
}

func expiringCache(d *draw) []Blueprint {
	n := d.manyObjects(d.bytes)
	life := random.Uniform(d.params, 0.05, 0.9)
	start := max(-d.grid.Burn, random.Uniform(d.params, -0.3, 0.1))
	load := d.load(Flat)
	return []Blueprint{d.site(func(share float64) actor {
		var live memory.Queue
		var came []int64 // number of objects of each step
		return func(u *memory.Unit, i int, t float64) {
			var k int64
			if t >= start {
				k = random.Poisson(u.Rng, n*share/life*load[i]*Dt)
			}
			live.Push(u.AllocMany(k))
			came = append(came, k)
			if old := i - int(life*StepsPerSpan); old >= 0 {
				live.Pop(u, came[old])
			}
		}
	})}
}

// busyAtStart is the share of the functions that allocate in the start-up phase of their process.
const busyAtStart = 0.5

// WithStartUp adds to some functions what they allocate in the start-up phase, and partly free at
// its end.
func WithStartUp(d *draw, b Behaviour, plans []Blueprint) []Blueprint {
	if d.scene.StartUp == 0 || b.pure || !random.Chance(d.params, busyAtStart) {
		return plans
	}
	n := d.objects(d.bytes) * random.LogUniform(d.params, 0.1, 6)
	freed := random.Uniform(d.params, -0.5, 0.95)
	plans[0].Paths[0] = both(plans[0].Paths[0], startUpPhase(d, n, d.scene.StartUp, freed))
	return plans
}
