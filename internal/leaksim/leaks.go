package leaksim

import "math"

// The behaviours in this file leak. unit.leaked counts the bytes that nothing will free.

// traffic returns what a leaking function does apart from the leak: requests, and in some cases
// constant data.
func traffic(d *draw, load []float64) func(share float64) actor {
	var kept, live float64
	if Chance(d.params, 0.4) {
		kept = d.objects(d.bytes * logUniform(d.params, 0.01, 5))
	}
	if Chance(d.params, 0.85) {
		live = d.objects(d.bytes * logUniform(d.params, 0.002, 1))
	}
	life := shortLife(d)
	return func(share float64) actor {
		passing := requests(live*share, life, load)
		return func(u *unit, i int, t float64) {
			if i == 0 {
				u.allocMany(int64(kept * share))
			}
			passing(u, i, t)
		}
	}
}

// leaking adds to an actor a leak of n objects per span, times the rate of each step.
func leaking(base func(share float64) actor, n float64, rate []float64) func(share float64) actor {
	return func(share float64) actor {
		other := base(share)
		return func(u *unit, i int, t float64) {
			other(u, i, t)
			u.leak(poisson(u.rng, n*share*rate[i]*dt))
		}
	}
}

func leakSteady(d *draw) []blueprint {
	rate := d.noisyLoad(flat, 0)
	return []blueprint{d.site(leaking(traffic(d, d.load(flat)), d.objects(d.bytes), rate))}
}

// requestLeak leaks a share of what its requests allocate: leak and traffic have the same load.
func requestLeak(d *draw, curve func(float64) float64) []blueprint {
	load := d.load(curve)
	return []blueprint{d.site(leaking(traffic(d, load), d.objects(d.bytes), load))}
}

func leakRequest(d *draw) []blueprint        { return requestLeak(d, flat) }
func leakRequestRamping(d *draw) []blueprint { return requestLeak(d, rampOf(d)) }

func leakRequestFalling(d *draw) []blueprint {
	t0 := uniform(d.params, -0.3, 0.6)
	load := d.load(rampCurve(1.5, uniform(d.params, 0.05, 0.9), t0, t0+uniform(d.params, 0.15, 1.2)))
	level, life := d.objects(d.bytes*logUniform(d.params, 0.01, 5)), logUniform(d.params, 1e-5, 0.06)
	base := func(share float64) actor { return requests(level*share, life, load) }
	return []blueprint{d.site(leaking(base, d.objects(d.bytes), load))}
}

func leakRequestCycling(d *draw) []blueprint {
	return requestLeak(d, wave(uniform(d.params, 0.2, 0.9), uniform(d.params, 0.1, 1), d.params.Float64()))
}

func leakUnderCycle(d *draw) []blueprint {
	load := d.load(wave(uniform(d.params, 0.2, 0.9), uniform(d.params, 0.1, 0.6), d.params.Float64()))
	level := d.objects(d.bytes * logUniform(d.params, 0.05, 1.5))
	life := shortLife(d)
	base := func(share float64) actor { return requests(level*share, life, load) }
	return []blueprint{d.site(leaking(base, d.objects(d.bytes), d.noisyLoad(flat, 0)))}
}

func leakUnderCache(d *draw) []blueprint {
	entries := d.manyObjects(d.bytes * logUniform(d.params, 0.2, 6))
	start, full := max(-d.grid.burn, uniform(d.params, -0.3, 0.05)), uniform(d.params, 0.15, 0.98)
	load := d.load(flat)
	base := func(share float64) actor { return cache(entries*share, start, full, load) }
	return []blueprint{d.site(leaking(base, d.objects(d.bytes), load))}
}

func leakBursty(d *draw) []blueprint {
	perSpan := logUniform(d.params, 5, 60)
	n := d.objects(d.bytes) / perSpan
	moments := d.times(perSpan)
	size := make([]float64, len(moments))
	for i := range size {
		size[i] = d.chaos.ExpFloat64()
	}
	base := traffic(d, d.load(flat))
	return []blueprint{d.site(func(share float64) actor {
		other := base(share)
		return func(u *unit, i int, t float64) {
			other(u, i, t)
			for k, m := range moments {
				if passed(m, t) {
					u.leak(poisson(u.rng, n*share*size[k]))
				}
			}
		}
	})}
}

func leakBatchResidue(d *draw) []blueprint {
	period := logUniform(d.params, 0.008, 0.2)
	kept := logUniform(d.params, 0.03, 0.7)
	perBatch := d.objects(d.bytes * period / kept)
	phase, load := d.params.Float64(), d.load(flat)
	return []blueprint{d.site(func(share float64) actor { return batches(perBatch*share, period, phase, kept, load) })}
}

func leakLate(d *draw) []blueprint {
	from := uniform(d.params, 0.3, 0.7)
	onset := func(t float64) float64 {
		if t < from {
			return 0
		}
		return 1 / (1 - from)
	}
	return d.noisyLeak(onset)
}

// noisyLeak leaks at the rate of a curve with noise.
func (d *draw) noisyLeak(curve func(float64) float64) []blueprint {
	base := traffic(d, d.load(flat))
	n := d.objects(d.bytes)
	return []blueprint{d.site(leaking(base, n, d.noisyLoad(curve, noiseSpread(d.params))))}
}

func leakAccelerating(d *draw) []blueprint {
	power := uniform(d.params, 0.5, 2.5)
	faster := func(t float64) float64 { return (power + 1) * math.Pow(max(0, t), power) }
	return d.noisyLeak(faster)
}

func leakTwins(d *draw) []blueprint {
	a := requestLeak(d, flat)
	d.bytes *= uniform(d.params, 0.3, 1.5)
	d.drawSizes()
	b := requestLeak(d, flat)
	b[0].sibling = true
	return append(a, b...)
}

func leakThin(d *draw) []blueprint {
	load := d.load(flat)
	path := leaking(traffic(d, load), d.objects(d.bytes), load)
	return []blueprint{d.spread(150+d.params.IntN(100), path)}
}

func leakLargeRare(d *draw) []blueprint {
	lost := logUniform(d.params, 4, 40)
	d.setSizes(8, d.bytes/lost, 0.6)
	idle := func(float64) actor { return func(*unit, int, float64) {} }
	return []blueprint{d.spread(1, leaking(idle, lost, d.noisyLoad(flat, 0)))}
}

func leakDoubling(d *draw) []blueprint {
	element := uniform(d.params, 8, 200)
	n := d.bytes / element
	factor := []float64{1.25, 1.5, 2, 2}[d.params.IntN(4)]
	before := d.grid.burn + logUniform(d.params, 0.001, 0.3)
	return []blueprint{d.spread(1, func(float64) actor {
		c := vector{element: element, factor: factor}
		return func(u *unit, _ int, t float64) {
			c.hold(u, n*(t+before))
			u.leaked = u.point().bytes
		}
	})}
}
