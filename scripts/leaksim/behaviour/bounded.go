package behaviour

import (
	"math"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// The behaviours in this file and in cycles.go do not leak: their bytes in use are bounded.
// behaviours.go describes each.

func constant(d *draw) []Blueprint {
	n := d.objects(d.bytes)
	reloads := d.reloads(0.15)
	return []Blueprint{d.site(func(share float64) actor {
		var live memory.Pool
		return func(u *memory.Unit, i int, t float64) {
			if i == 0 {
				live.Put(u.AllocMany(int64(math.Ceil(n * share))))
			}
			for _, m := range reloads {
				if passed(m, t) {
					live.Renew(u, 1)
				}
			}
		}
	})}
}

// shortLife draws the mean lifetime of the objects of requests.
func shortLife(d *draw) float64 { return random.LogUniform(d.params, 1e-5, 0.02) }

// requests allocates the objects of requests, which arrive in proportion to the load and have a
// mean lifetime. level is the mean number of live objects at load 1.
func requests(level, life float64, load []float64, l lifetimes) actor {
	switch l {
	case fixed:
		return fixedRequests(level, life, load)
	case heavyTailed:
		return tailedRequests(level, life, load)
	}
	return exponentialRequests(level, life, load)
}

func exponentialRequests(level, life float64, load []float64) actor {
	var live memory.Pool
	return func(u *memory.Unit, i int, _ float64) {
		if i == 0 {
			live.Put(u.AllocMany(random.Poisson(u.Rng, level*load[0])))
		}
		live.Churn(u, level*load[i]/life*Dt, life, Dt)
	}
}

func requestSite(d *draw, life float64, load []float64) []Blueprint {
	n, l := d.objects(d.bytes), d.lives(life)
	return []Blueprint{d.site(func(share float64) actor { return requests(n*share, life, load, l) })}
}

func noisyConstant(d *draw) []Blueprint { return requestSite(d, shortLife(d), d.load(Flat)) }

// constantTurnover keeps a fixed number of objects and replaces them continuously. The bytes in use
// are constant, except in sampled snapshots.
func constantTurnover(d *draw) []Blueprint {
	n := d.objects(d.bytes)
	d.setSizes(1, float64(d.sizes[0]), 0)
	life := random.LogUniform(d.params, 1e-3, 2)
	return []Blueprint{d.site(func(share float64) actor {
		var live memory.Pool
		return func(u *memory.Unit, i int, _ float64) {
			if i == 0 {
				live.Put(u.AllocMany(int64(math.Ceil(n * share))))
			}
			k := min(live.Size(), random.Poisson(u.Rng, float64(live.Size())*Dt/life))
			live.Drop(u, k)
			live.Put(u.AllocMany(k))
		}
	})}
}

// warmUp allocates once for each of a finite number of keys. The share after time t is 1 −
// exp(−t/tau).
func warmUp(d *draw, tau float64) []Blueprint {
	n := d.manyObjects(d.bytes)
	start := max(-d.grid.Burn, random.Uniform(d.params, -0.1, 0.1))
	load, renewal := d.load(Flat), d.renewal(0.2)
	return []Blueprint{d.site(func(share float64) actor { return firstUses(n*share, start, tau, load, renewal) })}
}

// firstUses allocates at the first use of each of n keys, which are used at random. renewal is how often per span an
// object is allocated again.
func firstUses(n, start, tau float64, load []float64, renewal float64) actor {
	var used memory.Pool
	left := int64(math.Ceil(n))
	return func(u *memory.Unit, i int, t float64) {
		if t < start {
			return
		}
		k := random.Binomial(u.Rng, left, -math.Expm1(-Dt/tau*load[i]))
		fresh := u.AllocMany(k)
		left -= k
		if renewal > 0 {
			used.Put(fresh)
			used.Renew(u, -math.Expm1(-renewal*Dt))
		}
	}
}

func warmUpFast(d *draw) []Blueprint { return warmUp(d, random.LogUniform(d.params, 0.02, 0.12)) }
func warmUpSlow(d *draw) []Blueprint { return warmUp(d, random.LogUniform(d.params, 0.12, 0.35)) }
func warmUpLong(d *draw) []Blueprint { return warmUp(d, random.Uniform(d.params, 0.35, 0.7)) }

// cache fills at a constant rate up to a number of entries. From then on it evicts entries.
func cache(entries, start, full float64, load []float64, p policy) actor {
	s := store{policy: p, entries: int64(math.Ceil(entries))}
	rate := p.pace() * entries / (full - start)
	return func(u *memory.Unit, i int, t float64) {
		if t >= start {
			s.add(u, random.Poisson(u.Rng, rate*load[i]*Dt))
		}
	}
}

func cacheFill(d *draw, full float64) []Blueprint {
	n := d.manyObjects(d.bytes)
	start := max(-d.grid.Burn, random.Uniform(d.params, -0.3, 0.05))
	load, p := d.load(Flat), d.policy()
	return []Blueprint{d.site(func(share float64) actor { return cache(n*share, start, full, load, p) })}
}

func cacheFillEarly(d *draw) []Blueprint { return cacheFill(d, random.Uniform(d.params, 0.2, 0.42)) }
func cacheFillMid(d *draw) []Blueprint   { return cacheFill(d, random.Uniform(d.params, 0.42, 0.75)) }
func cacheFillLate(d *draw) []Blueprint  { return cacheFill(d, random.Uniform(d.params, 0.88, 0.98)) }

func lruChurn(d *draw) []Blueprint {
	n := d.objects(d.bytes)
	d.setSizes(4, float64(d.sizes[0]), random.Uniform(d.params, 0.3, 1.2))
	n = min(n, d.objects(d.bytes))
	turnover := random.LogUniform(d.params, 0.5, 50) // replacements of all entries per span
	load, p := d.load(Flat), d.policy()
	return []Blueprint{d.site(func(share float64) actor {
		s := store{policy: p, entries: int64(math.Ceil(n * share))}
		return func(u *memory.Unit, i int, _ float64) {
			if i == 0 {
				s.fill(u)
			}
			s.add(u, random.Poisson(u.Rng, n*share*turnover*load[i]*Dt))
		}
	})}
}

// steps allocates a constant part at the start and the rest at the given times.
func steps(d *draw, moments ...float64) []Blueprint {
	n := d.objects(d.bytes)
	base := n * random.LogUniform(d.params, 0.01, 3)
	return []Blueprint{d.site(func(share float64) actor {
		return func(u *memory.Unit, i int, t float64) {
			if i == 0 {
				u.AllocMany(int64(math.Ceil(base * share)))
			}
			for _, m := range moments {
				if passed(m, t) {
					u.AllocMany(int64(math.Ceil(n * share / float64(len(moments)))))
				}
			}
		}
	})}
}

func oneStep(d *draw) []Blueprint { return steps(d, random.Uniform(d.params, 0.03, 0.97)) }

func twoSteps(d *draw) []Blueprint {
	return steps(d, random.Uniform(d.params, 0.03, 0.6), random.Uniform(d.params, 0.4, 0.97))
}

// vector is a container that moves to larger storage when it is full.
type vector struct {
	element, factor float64
	reallocs        bool // the storage is moved by realloc, and not copied
	storage         memory.Batch
	capacity        float64
}

// hold grows the storage to at least n elements.
func (v *vector) hold(u *memory.Unit, n float64) {
	if n <= v.capacity {
		return
	}
	v.capacity = max(v.capacity, 16)
	for v.capacity < n {
		v.capacity *= v.factor
	}
	old, class := v.storage, u.Class(int64(v.capacity*v.element))
	if v.reallocs {
		v.storage = u.Realloc(&old, class)
		return
	}
	v.storage = u.Alloc(class, 1)
	u.Free(&old, old.N)
}

func tableDoubling(d *draw) []Blueprint {
	element := random.Uniform(d.params, 8, 200)
	n := max(32, d.bytes/element)
	full := random.Uniform(d.params, 0.1, 0.9)
	start := max(-d.grid.Burn, random.Uniform(d.params, -0.2, 0.05))
	factor := []float64{1.5, 2, 2, 2}[d.params.IntN(4)]
	shape := random.Uniform(d.params, 0.5, 1.5)
	reallocs := d.varied(0.5)
	return []Blueprint{d.spread(1, func(float64) actor {
		c := vector{element: element, factor: factor, reallocs: reallocs}
		return func(u *memory.Unit, _ int, t float64) {
			c.hold(u, n*math.Pow(random.Clamp((t-start)/(full-start), 0, 1), shape))
		}
	})}
}

func reallocChurn(d *draw) []Blueprint {
	buffers := 1 + d.params.IntN(12)
	typical := d.bytes / float64(buffers)
	spread := random.Uniform(d.params, 0.1, 0.9)
	rate := random.LogUniform(d.params, 3, 3000)
	reallocs := d.varied(0.5)
	return []Blueprint{d.spread(1, func(float64) actor {
		held := make([]memory.Batch, buffers)
		sizes := make([]int64, 12)
		for i := range sizes {
			sizes[i] = int64(random.Clamp(random.LogNormal(d.params, typical, spread), 16, 1<<30))
		}
		return func(u *memory.Unit, i int, _ float64) {
			for k := range held {
				if i == 0 || random.Chance(u.Rng, min(1, rate*Dt)) {
					old, class := held[k], u.Class(sizes[u.Rng.IntN(len(sizes))])
					if reallocs {
						held[k] = u.Realloc(&old, class)
						continue
					}
					held[k] = u.Alloc(class, 1)
					u.Free(&old, old.N)
				}
			}
		}
	})}
}

// poolGrowth is an allocator that takes chunks when the demand exceeds their total, and never
// returns them. The demand varies around a constant, so new maxima become rare.
func poolGrowth(d *draw) []Blueprint {
	chunk := int64(random.LogUniform(d.params, 32<<10, 4<<20))
	mean := max(1, d.bytes/float64(chunk))
	rise := RampCurve(0, 1, -d.grid.Burn-1e-9, -d.grid.Burn+random.LogUniform(d.params, 1e-3, 0.3))
	demand := d.noisyLoad(rise, random.Uniform(d.params, 0.03, 0.35))
	return []Blueprint{d.spread(1, func(float64) actor {
		var taken int64
		return func(u *memory.Unit, i int, _ float64) {
			if k := int64(mean*demand[i]+0.5) - taken; k > 0 {
				u.Alloc(u.Class(chunk), k)
				taken += k
			}
		}
	})}
}

func startup(d *draw) []Blueprint {
	n := d.objects(d.bytes)
	phase := random.LogUniform(d.params, 0.003, 0.08)
	freed := random.Uniform(d.params, 0, 0.95)
	return []Blueprint{d.site(func(share float64) actor { return startUpPhase(d, n*share, phase, freed) })}
}

// startUpPhase allocates n objects while the process starts, and then frees a share of them; none if
// the share is not positive.
func startUpPhase(d *draw, n, phase, freed float64) actor {
	var live memory.Pool
	return func(u *memory.Unit, _ int, t float64) {
		switch since := t + d.grid.Burn; {
		case since <= phase:
			live.Put(u.AllocMany(random.Poisson(u.Rng, n*Dt/phase)))
		case since-Dt <= phase:
			live.Thin(u, max(0, freed))
		}
	}
}

func randomWalk(d *draw) []Blueprint {
	life := random.LogUniform(d.params, 0.02, 0.2)
	return requestSite(d, life, d.active(d.noisyLoad(Flat, random.Uniform(d.params, 0.2, 0.7))))
}

// moves returns, for each step, how many of n objects have moved.
func moves(d *draw, n float64) []int64 {
	t0 := random.Uniform(d.params, -0.1, 0.4)
	curve := RampCurve(0, n, t0, t0+random.Uniform(d.params, 0.15, 0.55))
	out := make([]int64, d.grid.Steps())
	for i := range out {
		out[i] = int64(curve(d.grid.At(i)))
	}
	return out
}

// movePair returns a stack that frees objects and one that allocates as many.
func movePair(n int64, moved []int64) (from, to actor) {
	var left, taken memory.Pool
	from = func(u *memory.Unit, i int, _ float64) {
		if i == 0 {
			left.Put(u.AllocMany(n))
		}
		left.Drop(u, left.Size()-(n-moved[i]))
	}
	to = func(u *memory.Unit, i int, _ float64) { taken.Put(u.AllocMany(moved[i] - taken.Size())) }
	return from, to
}

func movedWithin(d *draw) []Blueprint {
	n := math.Ceil(d.objects(d.bytes))
	from, to := movePair(int64(n), moves(d, n))
	return []Blueprint{{Paths: []actor{from, to}, Sizes: d.sizes, shares: d.shares}}
}

func movedAcross(d *draw) []Blueprint {
	n := math.Ceil(d.objects(d.bytes))
	from, to := movePair(int64(n), moves(d, n))
	return []Blueprint{
		{Paths: []actor{from}, Sizes: d.sizes, shares: d.shares},
		{Paths: []actor{to}, Sizes: d.sizes, shares: d.shares, Sibling: true},
	}
}
