package behaviour

import (
	"math"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// The behaviours in this file leak. unit.leaked counts the bytes that nothing will free.

// traffic returns what a leaking function does apart from the leak: requests, and in some cases
// constant data.
func traffic(d *draw, load []float64) func(share float64) actor {
	var kept, live float64
	if random.Chance(d.params, 0.4) {
		kept = d.objects(d.bytes * random.LogUniform(d.params, 0.01, 5))
	}
	if random.Chance(d.params, 0.85) {
		live = d.objects(d.bytes * random.LogUniform(d.params, 0.002, 1))
	}
	life := shortLife(d)
	l := d.lives(life)
	return func(share float64) actor {
		passing := requests(live*share, life, load, l)
		return func(u *memory.Unit, i int, t float64) {
			if i == 0 {
				u.AllocMany(int64(kept * share))
			}
			passing(u, i, t)
		}
	}
}

// leaking adds to an actor a leak of n objects per span, times the rate of each step. Some leaks allocate their
// objects again.
func (d *draw) leaking(base func(share float64) actor, n float64, rate []float64) func(share float64) actor {
	renewal := d.renewal(0.06)
	return func(share float64) actor {
		other := base(share)
		var all memory.Pool
		return func(u *memory.Unit, i int, t float64) {
			other(u, i, t)
			lost := u.Leak(random.Poisson(u.Rng, n*share*rate[i]*Dt))
			if renewal > 0 {
				all.Put(lost)
				all.Renew(u, -math.Expm1(-renewal*Dt))
			}
		}
	}
}

func leakSteady(d *draw) []Blueprint {
	rate := d.noisyLoad(Flat, 0)
	return []Blueprint{d.site(d.leaking(traffic(d, d.load(Flat)), d.objects(d.bytes), rate))}
}

// requestLeak leaks a share of what its requests allocate: leak and traffic have the same load.
func requestLeak(d *draw, curve func(float64) float64) []Blueprint {
	load := d.load(curve)
	return []Blueprint{d.site(d.leaking(traffic(d, load), d.objects(d.bytes), load))}
}

func leakRequest(d *draw) []Blueprint        { return requestLeak(d, Flat) }
func leakRequestRamping(d *draw) []Blueprint { return requestLeak(d, rampOf(d)) }

func leakRequestFalling(d *draw) []Blueprint {
	t0 := random.Uniform(d.params, -0.3, 0.6)
	load := d.load(RampCurve(1.5, random.Uniform(d.params, 0.05, 0.9), t0, t0+random.Uniform(d.params, 0.15, 1.2)))
	level, life := d.objects(d.bytes*random.LogUniform(d.params, 0.01, 5)), random.LogUniform(d.params, 1e-5, 0.06)
	l := d.lives(life)
	base := func(share float64) actor { return requests(level*share, life, load, l) }
	return []Blueprint{d.site(d.leaking(base, d.objects(d.bytes), load))}
}

func leakRequestCycling(d *draw) []Blueprint {
	return requestLeak(d, Wave(random.Uniform(d.params, 0.2, 0.9), random.Uniform(d.params, 0.1, 1), d.params.Float64()))
}

func leakUnderCycle(d *draw) []Blueprint {
	load := d.load(Wave(random.Uniform(d.params, 0.2, 0.9), random.Uniform(d.params, 0.1, 0.6), d.params.Float64()))
	level := d.objects(d.bytes * random.LogUniform(d.params, 0.05, 1.5))
	life := shortLife(d)
	l := d.lives(life)
	base := func(share float64) actor { return requests(level*share, life, load, l) }
	return []Blueprint{d.site(d.leaking(base, d.objects(d.bytes), d.noisyLoad(Flat, 0)))}
}

func leakUnderCache(d *draw) []Blueprint {
	entries := d.manyObjects(d.bytes * random.LogUniform(d.params, 0.2, 6))
	start, full := max(-d.grid.Burn, random.Uniform(d.params, -0.3, 0.05)), random.Uniform(d.params, 0.15, 0.98)
	load, p := d.load(Flat), d.policy()
	base := func(share float64) actor { return cache(entries*share, start, full, load, p) }
	return []Blueprint{d.site(d.leaking(base, d.objects(d.bytes), load))}
}

// leakAfterFill leaks at a constant rate in a function that also fills a cache, early and once: nothing
// is freed.
func leakAfterFill(d *draw) []Blueprint {
	keys := d.manyObjects(d.bytes * random.LogUniform(d.params, 0.2, 8))
	tau := random.LogUniform(d.params, 0.005, 0.2)
	start := max(-d.grid.Burn, random.Uniform(d.params, -0.2, 0.15))
	if random.Chance(d.params, 0.4) {
		full := start + random.Uniform(d.params, 0.02, 0.55)
		load, p := d.load(Flat), d.policy()
		base := func(share float64) actor { return cache(keys*share, start, full, load, p) }
		return []Blueprint{d.site(d.leaking(base, d.objects(d.bytes), load))}
	}
	load := d.load(Flat)
	base := func(share float64) actor { return firstUses(keys*share, start, tau, load, 0) }
	rate := load
	if random.Chance(d.params, 0.5) {
		rate = d.noisyLoad(Flat, 0)
	}
	return []Blueprint{d.site(d.leaking(base, d.objects(d.bytes), rate))}
}

// leakRetraced leaks through many functions at once: each time that something is built anew, all of
// them allocate what is never freed.
func leakRetraced(d *draw) []Blueprint {
	moments := d.times(random.LogUniform(d.params, 6, 200))
	functions := 20 + d.params.IntN(60)
	total := d.bytes * random.Uniform(d.params, 2, 12)
	var out []Blueprint
	for i := range functions {
		d.bytes = total / float64(functions) * random.LogNormal(d.params, 0.6, 1)
		d.drawSizes()
		n := d.objects(d.bytes) / max(1, float64(len(moments)))
		b := d.spread(1, func(share float64) actor {
			return func(u *memory.Unit, _ int, t float64) {
				for _, m := range moments {
					if passed(m, t) {
						u.Leak(random.Poisson(u.Rng, n*share))
					}
				}
			}
		})
		b.Sibling = i > 0
		out = append(out, b)
	}
	return out
}

func leakBursty(d *draw) []Blueprint {
	perSpan := random.LogUniform(d.params, 5, 60)
	n := d.objects(d.bytes) / perSpan
	moments := d.times(perSpan)
	size := make([]float64, len(moments))
	for i := range size {
		size[i] = d.chaos.ExpFloat64()
	}
	base := traffic(d, d.load(Flat))
	return []Blueprint{d.site(func(share float64) actor {
		other := base(share)
		return func(u *memory.Unit, i int, t float64) {
			other(u, i, t)
			for k, m := range moments {
				if passed(m, t) {
					u.Leak(random.Poisson(u.Rng, n*share*size[k]))
				}
			}
		}
	})}
}

func leakBatchResidue(d *draw) []Blueprint {
	period := random.LogUniform(d.params, 0.008, 0.2)
	kept := random.LogUniform(d.params, 0.03, 0.7)
	perBatch := d.objects(d.bytes * period / kept)
	phase, load := d.params.Float64(), d.load(Flat)
	return []Blueprint{d.site(func(share float64) actor { return batches(perBatch*share, period, phase, kept, load) })}
}

func leakLate(d *draw) []Blueprint {
	from := random.Uniform(d.params, 0.3, 0.7)
	onset := func(t float64) float64 {
		if t < from {
			return 0
		}
		return 1 / (1 - from)
	}
	return d.noisyLeak(onset)
}

// noisyLeak leaks at the rate of a curve with noise.
func (d *draw) noisyLeak(curve func(float64) float64) []Blueprint {
	base := traffic(d, d.load(Flat))
	n := d.objects(d.bytes)
	return []Blueprint{d.site(d.leaking(base, n, d.noisyLoad(curve, noiseSpread(d.params))))}
}

func leakAccelerating(d *draw) []Blueprint {
	power := random.Uniform(d.params, 0.5, 2.5)
	faster := func(t float64) float64 { return (power + 1) * math.Pow(max(0, t), power) }
	return d.noisyLeak(faster)
}

func leakTwins(d *draw) []Blueprint {
	a := requestLeak(d, Flat)
	d.bytes *= random.Uniform(d.params, 0.3, 1.5)
	d.drawSizes()
	b := requestLeak(d, Flat)
	b[0].Sibling = true
	return append(a, b...)
}

func leakThin(d *draw) []Blueprint {
	load := d.load(Flat)
	path := d.leaking(traffic(d, load), d.objects(d.bytes), load)
	return []Blueprint{d.spread(150+d.params.IntN(100), path)}
}

func leakLargeRare(d *draw) []Blueprint {
	lost := random.LogUniform(d.params, 4, 40)
	d.setSizes(8, d.bytes/lost, 0.6)
	idle := func(float64) actor { return func(*memory.Unit, int, float64) {} }
	return []Blueprint{d.spread(1, d.leaking(idle, lost, d.noisyLoad(Flat, 0)))}
}

func leakDoubling(d *draw) []Blueprint {
	element := random.Uniform(d.params, 8, 200)
	n := d.bytes / element
	factor := []float64{1.25, 1.5, 2, 2}[d.params.IntN(4)]
	before := d.grid.Burn + random.LogUniform(d.params, 0.001, 0.3)
	reallocs := d.varied(0.5)
	return []Blueprint{d.spread(1, func(float64) actor {
		c := vector{element: element, factor: factor, reallocs: reallocs}
		return func(u *memory.Unit, _ int, t float64) {
			c.hold(u, n*(t+before))
			u.Leaked = u.Point().Bytes
		}
	})}
}
