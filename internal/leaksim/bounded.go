package leaksim

import "math"

// The behaviours of this file and of cycles.go do not leak: what they hold is bounded.

// constant is data that is allocated when the process starts and stays.
func constant(d *draw) []blueprint {
	n := d.objects(d.bytes)
	return []blueprint{d.site(func(share float64) actor {
		return func(u *unit, i int, _ float64) {
			if i == 0 {
				u.allocMany(int64(math.Ceil(n * share)))
			}
		}
	})}
}

// shortLife is how long the objects of a request live.
func shortLife(d *draw) float64 { return logUniform(d.params, 1e-5, 0.02) }

// requests is objects of requests: they arrive with the load and live for a while. level is how
// many live at load 1.
func requests(level, life float64, load []float64) actor {
	var live pool
	return func(u *unit, i int, _ float64) {
		if i == 0 {
			live.put(u.allocMany(poisson(u.rng, level*load[0])))
		}
		live.churn(u, level*load[i]/life*dt, life, dt)
	}
}

func requestSite(d *draw, life float64, load []float64) []blueprint {
	n := d.objects(d.bytes)
	return []blueprint{d.site(func(share float64) actor { return requests(n*share, life, load) })}
}

func noisyConstant(d *draw) []blueprint { return requestSite(d, shortLife(d), d.load(flat)) }

// constantTurnover keeps a fixed number of objects and replaces them all the time: exactly flat,
// but in sampled input only the size of the sample tells.
func constantTurnover(d *draw) []blueprint {
	n := d.objects(d.bytes)
	d.setSizes(1, float64(d.sizes[0]), 0)
	life := logUniform(d.params, 1e-3, 2)
	return []blueprint{d.site(func(share float64) actor {
		var live pool
		return func(u *unit, i int, _ float64) {
			if i == 0 {
				live.put(u.allocMany(int64(math.Ceil(n * share))))
			}
			k := min(live.size(), poisson(u.rng, float64(live.size())*dt/life))
			live.drop(u, k)
			live.put(u.allocMany(k))
		}
	})}
}

// warmUp touches each of a finite number of keys once: 1 − exp(−t/tau).
func warmUp(d *draw, tau float64) []blueprint {
	n := d.many(d.bytes)
	start := max(-d.grid.burn, uniform(d.params, -0.1, 0.1))
	load := d.load(flat)
	return []blueprint{d.site(func(share float64) actor {
		left := int64(math.Ceil(n * share))
		return func(u *unit, i int, t float64) {
			if t < start {
				return
			}
			k := binomial(u.rng, left, -math.Expm1(-dt/tau*load[i]))
			u.allocMany(k)
			left -= k
		}
	})}
}

func warmUpFast(d *draw) []blueprint { return warmUp(d, logUniform(d.params, 0.02, 0.12)) }
func warmUpSlow(d *draw) []blueprint { return warmUp(d, logUniform(d.params, 0.12, 0.35)) }
func warmUpLong(d *draw) []blueprint { return warmUp(d, uniform(d.params, 0.35, 0.7)) }

// cache fills at a steady rate up to a number of entries, and evicts the oldest from then on.
func cache(entries, start, full float64, load []float64) actor {
	var live queue
	return func(u *unit, i int, t float64) {
		if t < start {
			return
		}
		live.push(u.allocMany(poisson(u.rng, entries/(full-start)*load[i]*dt)))
		live.pop(u, live.n-int64(math.Ceil(entries)))
	}
}

func cacheFill(d *draw, full float64) []blueprint {
	n := d.many(d.bytes)
	start := max(-d.grid.burn, uniform(d.params, -0.3, 0.05))
	load := d.load(flat)
	return []blueprint{d.site(func(share float64) actor { return cache(n*share, start, full, load) })}
}

func cacheFillEarly(d *draw) []blueprint { return cacheFill(d, uniform(d.params, 0.2, 0.42)) }
func cacheFillMid(d *draw) []blueprint   { return cacheFill(d, uniform(d.params, 0.42, 0.75)) }
func cacheFillLate(d *draw) []blueprint  { return cacheFill(d, uniform(d.params, 0.88, 0.98)) }

// lruChurn is a full cache: entries of various sizes come and go, its number of entries stays.
func lruChurn(d *draw) []blueprint {
	n := d.objects(d.bytes)
	d.setSizes(4, float64(d.sizes[0]), uniform(d.params, 0.3, 1.2))
	n = min(n, d.objects(d.bytes))
	turnover := logUniform(d.params, 0.5, 50) // how often a span all entries are replaced
	load := d.load(flat)
	return []blueprint{d.site(func(share float64) actor {
		var live queue
		return func(u *unit, i int, _ float64) {
			if i == 0 {
				fill(&live, u, int64(math.Ceil(n*share)))
			}
			k := poisson(u.rng, n*share*turnover*load[i]*dt)
			live.push(u.allocMany(k))
			live.pop(u, k)
		}
	})}
}

// fill puts n objects into a queue, with their sizes mixed.
func fill(q *queue, u *unit, n int64) {
	portion := max(1, n/500)
	for q.n < n {
		q.push(u.allocMany(min(portion, n-q.n)))
	}
}

// steps holds a constant part from the start and loads the rest at some moments.
func steps(d *draw, moments ...float64) []blueprint {
	n := d.objects(d.bytes)
	base := n * logUniform(d.params, 0.01, 3)
	return []blueprint{d.site(func(share float64) actor {
		return func(u *unit, i int, t float64) {
			if i == 0 {
				u.allocMany(int64(math.Ceil(base * share)))
			}
			for _, m := range moments {
				if passed(m, t) {
					u.allocMany(int64(math.Ceil(n * share / float64(len(moments)))))
				}
			}
		}
	})}
}

func oneStep(d *draw) []blueprint { return steps(d, uniform(d.params, 0.03, 0.97)) }

func twoSteps(d *draw) []blueprint {
	return steps(d, uniform(d.params, 0.03, 0.6), uniform(d.params, 0.4, 0.97))
}

// vector is a container that is copied to larger storage whenever it is full.
type vector struct {
	element, factor float64
	storage         batch
	capacity        float64
}

// hold makes room for n elements.
func (v *vector) hold(u *unit, n float64) {
	if n <= v.capacity {
		return
	}
	v.capacity = max(v.capacity, 16)
	for v.capacity < n {
		v.capacity *= v.factor
	}
	old := v.storage
	v.storage = u.alloc(u.class(int64(v.capacity*v.element)), 1)
	u.free(&old, old.n)
}

// tableDoubling is a container whose number of elements approaches a bound: geometric jumps that
// end.
func tableDoubling(d *draw) []blueprint {
	element := uniform(d.params, 8, 200)
	n := max(32, d.bytes/element)
	full := uniform(d.params, 0.1, 0.9)
	start := max(-d.grid.burn, uniform(d.params, -0.2, 0.05))
	factor := []float64{1.5, 2, 2, 2}[d.params.IntN(4)]
	shape := uniform(d.params, 0.5, 1.5)
	return []blueprint{d.spread(1, func(float64) actor {
		c := vector{element: element, factor: factor}
		return func(u *unit, _ int, t float64) {
			c.hold(u, n*math.Pow(clamp((t-start)/(full-start), 0, 1), shape))
		}
	})}
}

// reallocChurn is a few buffers that are resized all the time within bounds.
func reallocChurn(d *draw) []blueprint {
	buffers := 1 + d.params.IntN(12)
	typical := d.bytes / float64(buffers)
	spread := uniform(d.params, 0.1, 0.9)
	rate := logUniform(d.params, 3, 3000)
	return []blueprint{d.spread(1, func(float64) actor {
		held := make([]batch, buffers)
		sizes := make([]int64, 12)
		for i := range sizes {
			sizes[i] = int64(clamp(logNormal(d.params, typical, spread), 16, 1<<30))
		}
		return func(u *unit, i int, _ float64) {
			for k := range held {
				if i == 0 || Chance(u.rng, min(1, rate*dt)) {
					old := held[k]
					held[k] = u.alloc(u.class(sizes[u.rng.IntN(len(sizes))]), 1)
					u.free(&old, old.n)
				}
			}
		}
	})}
}

// poolGrowth is an allocator of its own: it takes a chunk whenever the demand exceeds all that it
// ever took, and gives none back. Demand varies around a constant, so records become rare.
func poolGrowth(d *draw) []blueprint {
	chunk := int64(logUniform(d.params, 32<<10, 4<<20))
	mean := max(1, d.bytes/float64(chunk))
	demand := d.noisyLoad(
		rampCurve(0, 1, -d.grid.burn-1e-9, -d.grid.burn+logUniform(d.params, 1e-3, 0.3)),
		uniform(d.params, 0.03, 0.35),
	)
	return []blueprint{d.spread(1, func(float64) actor {
		var taken int64
		return func(u *unit, i int, _ float64) {
			if k := int64(mean*demand[i]+0.5) - taken; k > 0 {
				u.alloc(u.class(chunk), k)
				taken += k
			}
		}
	})}
}

// startup allocates while the process starts, and frees a part of it soon after.
func startup(d *draw) []blueprint {
	n := d.objects(d.bytes)
	phase := logUniform(d.params, 0.003, 0.08)
	freed := uniform(d.params, 0, 0.95)
	return []blueprint{d.site(func(share float64) actor {
		var live pool
		return func(u *unit, _ int, t float64) {
			switch since := t + d.grid.burn; {
			case since <= phase:
				live.put(u.allocMany(poisson(u.rng, n*share*dt/phase)))
			case since-dt <= phase:
				live.thin(u, freed)
			}
		}
	})}
}

// randomWalk is a number of sessions that wanders around a mean.
func randomWalk(d *draw) []blueprint {
	life := logUniform(d.params, 0.02, 0.2)
	return requestSite(d, life, d.noisyLoad(flat, uniform(d.params, 0.2, 0.7)))
}

// moves is how many of n objects have moved at each step, over a window.
func moves(d *draw, n float64) []int64 {
	t0 := uniform(d.params, -0.1, 0.4)
	curve := rampCurve(0, n, t0, t0+uniform(d.params, 0.15, 0.55))
	out := make([]int64, d.grid.steps())
	for i := range out {
		out[i] = int64(curve(d.grid.at(i)))
	}
	return out
}

// movePair is a stack that gives objects away and one that takes as many.
func movePair(n int64, moved []int64) (from, to actor) {
	var left, taken pool
	from = func(u *unit, i int, _ float64) {
		if i == 0 {
			left.put(u.allocMany(n))
		}
		left.drop(u, left.size()-(n-moved[i]))
	}
	to = func(u *unit, i int, _ float64) { taken.put(u.allocMany(moved[i] - taken.size())) }
	return from, to
}

// movedWithin moves objects from one call path of a function to another.
func movedWithin(d *draw) []blueprint {
	n := math.Ceil(d.objects(d.bytes))
	from, to := movePair(int64(n), moves(d, n))
	return []blueprint{{paths: []actor{from, to}, sizes: d.sizes, shares: d.shares}}
}

// movedAcross moves them from one function to another.
func movedAcross(d *draw) []blueprint {
	n := math.Ceil(d.objects(d.bytes))
	from, to := movePair(int64(n), moves(d, n))
	return []blueprint{
		{paths: []actor{from}, sizes: d.sizes, shares: d.shares},
		{paths: []actor{to}, sizes: d.sizes, shares: d.shares, sibling: true},
	}
}
