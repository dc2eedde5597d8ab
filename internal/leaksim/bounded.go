package leaksim

import "math"

// The behaviours in this file and in cycles.go do not leak: their bytes in use are bounded.
// behaviours.go describes each.

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

// shortLife draws the mean lifetime of the objects of requests.
func shortLife(d *draw) float64 { return logUniform(d.params, 1e-5, 0.02) }

// requests allocates the objects of requests, which arrive in proportion to the load and have a
// mean lifetime. level is the mean number of live objects at load 1.
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

// constantTurnover keeps a fixed number of objects and replaces them continuously. The bytes in use
// are constant, except in sampled snapshots.
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

// warmUp allocates once for each of a finite number of keys. The share after time t is 1 −
// exp(−t/tau).
func warmUp(d *draw, tau float64) []blueprint {
	n := d.manyObjects(d.bytes)
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

// cache fills at a constant rate up to a number of entries. From then on it evicts the oldest
// entries.
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
	n := d.manyObjects(d.bytes)
	start := max(-d.grid.burn, uniform(d.params, -0.3, 0.05))
	load := d.load(flat)
	return []blueprint{d.site(func(share float64) actor { return cache(n*share, start, full, load) })}
}

func cacheFillEarly(d *draw) []blueprint { return cacheFill(d, uniform(d.params, 0.2, 0.42)) }
func cacheFillMid(d *draw) []blueprint   { return cacheFill(d, uniform(d.params, 0.42, 0.75)) }
func cacheFillLate(d *draw) []blueprint  { return cacheFill(d, uniform(d.params, 0.88, 0.98)) }

func lruChurn(d *draw) []blueprint {
	n := d.objects(d.bytes)
	d.setSizes(4, float64(d.sizes[0]), uniform(d.params, 0.3, 1.2))
	n = min(n, d.objects(d.bytes))
	turnover := logUniform(d.params, 0.5, 50) // replacements of all entries per span
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

// fill adds n objects to a queue, in random order of their sizes.
func fill(q *queue, u *unit, n int64) {
	portion := max(1, n/500)
	for q.n < n {
		q.push(u.allocMany(min(portion, n-q.n)))
	}
}

// steps allocates a constant part at the start and the rest at the given times.
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

// vector is a container that moves to larger storage when it is full.
type vector struct {
	element, factor float64
	storage         batch
	capacity        float64
}

// hold grows the storage to at least n elements.
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

// poolGrowth is an allocator that takes chunks when the demand exceeds their total, and never
// returns them. The demand varies around a constant, so new maxima become rare.
func poolGrowth(d *draw) []blueprint {
	chunk := int64(logUniform(d.params, 32<<10, 4<<20))
	mean := max(1, d.bytes/float64(chunk))
	rise := rampCurve(0, 1, -d.grid.burn-1e-9, -d.grid.burn+logUniform(d.params, 1e-3, 0.3))
	demand := d.noisyLoad(rise, uniform(d.params, 0.03, 0.35))
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

func randomWalk(d *draw) []blueprint {
	life := logUniform(d.params, 0.02, 0.2)
	return requestSite(d, life, d.noisyLoad(flat, uniform(d.params, 0.2, 0.7)))
}

// moves returns, for each step, how many of n objects have moved.
func moves(d *draw, n float64) []int64 {
	t0 := uniform(d.params, -0.1, 0.4)
	curve := rampCurve(0, n, t0, t0+uniform(d.params, 0.15, 0.55))
	out := make([]int64, d.grid.steps())
	for i := range out {
		out[i] = int64(curve(d.grid.at(i)))
	}
	return out
}

// movePair returns a stack that frees objects and one that allocates as many.
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

func movedWithin(d *draw) []blueprint {
	n := math.Ceil(d.objects(d.bytes))
	from, to := movePair(int64(n), moves(d, n))
	return []blueprint{{paths: []actor{from, to}, sizes: d.sizes, shares: d.shares}}
}

func movedAcross(d *draw) []blueprint {
	n := math.Ceil(d.objects(d.bytes))
	from, to := movePair(int64(n), moves(d, n))
	return []blueprint{
		{paths: []actor{from}, sizes: d.sizes, shares: d.shares},
		{paths: []actor{to}, sizes: d.sizes, shares: d.shares, sibling: true},
	}
}
