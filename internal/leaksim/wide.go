package leaksim

import (
	"math"
	"math/rand/v2"
)

// A wide population is one in which functions do more than one thing, and some harmless ones do
// what the benchmark does not know. The model is fitted to both kinds of processes, so that it does
// not learn that a leak comes alone.

// secondShare is the share of a wide population's functions that do a second thing.
const secondShare = 0.35

// wideHarmless are the harmless behaviours of a wide population that the benchmark does not have.
func wideHarmless() []behaviour {
	return []behaviour{
		{Name: "warm-up-popular", about: "a finite number of keys, drawn by Zipf's law", weight: 4, further: 0.2, build: warmUpPopular},
		{Name: "rollout", about: "a feature that its users adopt one after another: a logistic curve", weight: 2, further: 0.12, build: rollout},
		{Name: "expiring-cache", about: "entries that live for a fixed time", weight: 4, further: 0.1, build: expiringCache},
	}
}

// seconds are behaviours that can go beside another at the same function: they leave its sizes as
// they are.
func seconds() (out []behaviour) {
	names := map[string]bool{
		"constant": true, "noisy-constant": true, "warm-up-fast": true, "warm-up-slow": true, "warm-up-long": true, "cache-fill-early": true,
		"cache-fill-mid": true, "load-ramp": true, "load-ramp-medium": true, "load-step": true, "cycle-short": true, "cycle-span": true,
		"cycle-long": true, "sawtooth": true, "step": true, "two-steps": true, "queue-backlog": true, "spikes": true, "startup": true, "random-walk": true,
	}
	for _, b := range harmless() {
		if names[b.Name] {
			b.weight = 1
			out = append(out, b)
		}
	}
	return append(out, wideHarmless()...)
}

// wideMixture is the mixture with the further behaviours in it.
func wideMixture(rng *rand.Rand) behaviour { return leakOr(rng, append(harmless(), wideHarmless()...)) }

// withSecond lets some functions do a second thing, on their first call path.
func withSecond(d *draw, b behaviour, plans []blueprint) []blueprint {
	if b.pure || !Chance(d.params, secondShare) {
		return plans
	}
	plan := &plans[0]
	beside := *d
	beside.bytes *= logUniform(d.params, 0.05, 5)
	beside.sizes, beside.shares = plan.sizes, plan.shares
	other := byWeight(d.params, seconds()).build(&beside)
	if &beside.sizes[0] != &plan.sizes[0] {
		return plans // too few objects of these sizes
	}
	for _, path := range other[0].paths {
		plan.paths[0] = both(plan.paths[0], path)
	}
	return plans
}

// warmUpPopular touches each of a finite number of keys once, the popular ones first: of n keys the
// k-th is drawn with a probability that goes with k^−s.
func warmUpPopular(d *draw) []blueprint {
	n := d.many(d.bytes)
	start := max(-d.grid.burn, uniform(d.params, -0.1, 0.1))
	s, reached := uniform(d.params, 0.6, 1.2), uniform(d.params, 0.85, 0.995)
	load := d.load(flat)
	return []blueprint{d.site(func(share float64) actor {
		keys := popularKeys(n*share, s)
		rate := keys.rate(reached)
		return func(u *unit, i int, t float64) {
			if t < start {
				return
			}
			for k := range keys {
				g := &keys[k]
				drawn := binomial(u.rng, g.left, -math.Expm1(-rate*g.weight*load[i]*dt))
				u.allocMany(drawn)
				g.left -= drawn
			}
		}
	})}
}

// popular are keys in groups of about the same popularity.
type popular []struct {
	left   int64
	weight float64
}

// popularKeys divides n keys into groups whose ranks lie within a third of each other.
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

// rate is how often a span the most popular key is drawn if so large a share of the keys is touched
// within a span.
func (p popular) rate(reached float64) float64 {
	low, high := 0.0, 60.0 // of the logarithm
	for range 60 {
		middle := (low + high) / 2
		if p.touched(math.Exp(middle)) < reached {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(low)
}

func (p popular) touched(rate float64) float64 {
	var some, all float64
	for _, g := range p {
		some -= float64(g.left) * math.Expm1(-rate*g.weight)
		all += float64(g.left)
	}
	return some / all
}

// rollout is one object for each user who has adopted something.
func rollout(d *draw) []blueprint {
	n := d.many(d.bytes)
	middle, width := uniform(d.params, 0.15, 0.7), uniform(d.params, 0.03, 0.12)
	adopted := func(t float64) float64 { return 1 / (1 + math.Exp(-(t-middle)/width)) }
	return []blueprint{d.site(func(share float64) actor {
		var have int64
		return func(u *unit, _ int, t float64) {
			k := int64(n*share*adopted(t)) - have
			u.allocMany(k)
			have += k
		}
	})}
}

// expiringCache keeps what requests bring for a fixed time.
func expiringCache(d *draw) []blueprint {
	n := d.many(d.bytes)
	life := uniform(d.params, 0.05, 0.9)
	start := max(-d.grid.burn, uniform(d.params, -0.3, 0.1))
	load := d.load(flat)
	return []blueprint{d.site(func(share float64) actor {
		var live queue
		var came []int64 // in each step so far
		return func(u *unit, i int, t float64) {
			var k int64
			if t >= start {
				k = poisson(u.rng, n*share/life*load[i]*dt)
			}
			live.push(u.allocMany(k))
			came = append(came, k)
			if old := i - int(life*StepsPerSpan); old >= 0 {
				live.pop(u, came[old])
			}
		}
	})}
}
