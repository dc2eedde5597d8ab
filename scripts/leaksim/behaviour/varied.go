package behaviour

import (
	"math"
	"math/rand/v2"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// Programs differ in which of their objects die first. Counts hardly show that, births do. So where births are
// recorded (scene.Varied), caches have various rules of eviction, requests various distributions of lifetimes, and
// some objects are allocated again. Everywhere else, caches evict the oldest entries, lifetimes are exponential, and no
// random number is drawn here.

// varied returns true with a probability, where behaviours are varied.
func (d *draw) varied(p float64) bool { return d.scene.Varied && random.Chance(d.params, p) }

// eviction is a rule by which a cache that is full makes room.
type eviction uint8

const (
	evictOldest eviction = iota
	evictRandom
	// evictCold keeps the entries that are used often: LRU with a hot set, where these are few, or LFU, where they are
	// most.
	evictCold
	replaceValues // each entry of a random key replaces the value of that key
	evictNone     // nothing is added to a full cache
	evictions     // number of rules
)

// policy is how a cache makes room.
type policy struct {
	eviction
	hot float64 // share of the entries that are used often
}

// policy draws a rule of eviction.
func (d *draw) policy() (p policy) {
	if d.varied(0.65) {
		p.eviction = eviction(1 + d.params.IntN(int(evictions)-1))
		p.hot = random.Uniform(d.params, 0.05, 0.95)
	}
	return p
}

// store is a cache with a rule of eviction.
type store struct {
	policy
	entries   int64        // at most
	hot, live memory.Pool  // hot ones are never evicted
	queue     memory.Queue // in the order of their allocation
}

// size returns the number of entries.
func (s *store) size() int64 { return s.hot.Size() + s.live.Size() + s.queue.N }

// add adds n objects, and evicts others.
func (s *store) add(u *memory.Unit, n int64) {
	switch s.eviction {
	case evictOldest:
		s.queue.Push(u.AllocMany(n))
		s.queue.Pop(u, s.queue.N-s.entries)
	case evictRandom:
		s.live.Put(u.AllocMany(n))
		s.live.Drop(u, s.live.Size()-s.entries)
	case evictCold:
		most := int64(float64(s.entries) * s.policy.hot)
		hot := min(most-s.hot.Size(), random.Binomial(u.Rng, n, s.policy.hot))
		s.hot.Put(u.AllocMany(hot))
		s.queue.Push(u.AllocMany(n - hot))
		s.queue.Pop(u, s.queue.N-(s.entries-most))
	case replaceValues:
		known := random.Binomial(u.Rng, n, float64(s.live.Size())/float64(s.entries))
		s.live.Drop(u, known)
		s.live.Put(u.AllocMany(min(n, s.entries-s.live.Size())))
	case evictNone:
		s.live.Put(u.AllocMany(min(n, s.entries-s.live.Size())))
	}
}

// fill fills the store, in random order of the sizes of its objects.
func (s *store) fill(u *memory.Unit) {
	portion := max(1, s.entries/500)
	for s.size() < s.entries {
		n := min(portion, s.entries-s.size())
		if s.eviction == replaceValues {
			s.live.Put(u.AllocMany(n)) // each has a key of its own
			continue
		}
		s.add(u, n)
	}
}

// pace is how many times faster objects must arrive, so that the store is nearly full at the same time.
func (p policy) pace() float64 {
	if p.eviction == replaceValues {
		return 3
	}
	return 1
}

// lifetimes are a distribution of lifetimes.
type lifetimes uint8

const (
	exponential lifetimes = iota
	fixed                 // sessions and entries with a time to live
	heavyTailed           // most objects die early, and some live ten times as long as the mean
)

// lives draws the distribution of lifetimes of a mean. Those within a step are all alike.
func (d *draw) lives(mean float64) lifetimes {
	if mean < 2*Dt || !d.varied(0.6) {
		return exponential
	}
	return fixed + lifetimes(d.params.IntN(2))
}

// fixedRequests is [requests] with a fixed lifetime.
func fixedRequests(level, life float64, load []float64) actor {
	var live memory.Queue
	var came []int64 // by step, and before the first step, of objects that still live
	steps := max(1, int(math.Round(life*StepsPerSpan)))
	arrive := func(u *memory.Unit, load float64) {
		before := live.N
		live.Push(u.AllocMany(random.Poisson(u.Rng, level*load/float64(steps))))
		came = append(came, live.N-before)
	}
	return func(u *memory.Unit, i int, _ float64) {
		for i == 0 && len(came) < steps {
			arrive(u, load[0])
		}
		arrive(u, load[i])
		live.Pop(u, came[len(came)-1-steps])
	}
}

// tails are the parts of heavyTailed: their shares of the objects, and their lifetimes over the mean.
var tails = [...]struct{ share, life float64 }{{0.6, 0.3}, {0.35, 1}, {0.05, 9.4}}

// tailedRequests is [requests] with lifetimes that are heavy-tailed.
func tailedRequests(level, life float64, load []float64) actor {
	var parts [len(tails)]actor
	for k, part := range tails {
		parts[k] = exponentialRequests(level*part.share*part.life, life*part.life, load)
	}
	return func(u *memory.Unit, i int, t float64) {
		for _, part := range parts {
			part(u, i, t)
		}
	}
}

// renewal draws how often per span objects are allocated again, for a share of the functions; 0 for the others.
func (d *draw) renewal(share float64) float64 {
	if !d.varied(share) {
		return 0
	}
	return random.LogUniform(d.params, 0.3, 20)
}

// reloads draws moments at which constant data is loaded again, for a share of the functions.
func (d *draw) reloads(share float64) []float64 {
	if !d.varied(share) {
		return nil
	}
	return d.times(random.LogUniform(d.params, 0.5, 10))
}

// Varied returns the behaviours that only processes have whose births are recorded.
func Varied() []Behaviour { return append(variedHarmless(), variedLeaks()...) }

// variedHarmless returns the behaviours that differ from others in their births only, or nearly so.
func variedHarmless() []Behaviour {
	return []Behaviour{
		{Name: "overwritten", about: "a finite number of keys, each used once, whose values are replaced later",
			weight: 3, further: 0.06, build: overwritten},
		{Name: "request-arenas", about: "chunks from which requests take memory, freed together", weight: 2, build: requestArenas},
		{Name: "slabs", about: "chunks that are taken as load rises up to a bound, and used again but never returned",
			weight: 2, further: 0.06, build: slabs},
	}
}

// variedLeaks returns the same of those that leak.
func variedLeaks() []Behaviour {
	return []Behaviour{
		{Name: "leak-arena", about: "an arena whose objects are lost: chunks are added at a constant rate", Leak: true, weight: 1.5, build: leakArena},
	}
}

// VariedMixture returns a mixture with a share of these behaviours.
func VariedMixture(pick func(*rand.Rand, float64) Behaviour) func(*rand.Rand, float64) Behaviour {
	const share = 0.07
	return func(rng *rand.Rand, leaking float64) Behaviour {
		b := pick(rng, leaking)
		switch {
		case !random.Chance(rng, share):
			return b
		case b.Leak:
			return byWeight(rng, variedLeaks())
		}
		return byWeight(rng, variedHarmless())
	}
}

// overwritten fills a table, and replaces its values at random.
func overwritten(d *draw) []Blueprint {
	n := d.manyObjects(d.bytes)
	tau, life := random.LogUniform(d.params, 0.02, 0.35), random.LogUniform(d.params, 0.1, 5)
	start := max(-d.grid.Burn, random.Uniform(d.params, -0.1, 0.1))
	load := d.load(Flat)
	return []Blueprint{d.site(func(share float64) actor { return firstUses(n*share, start, tau, load, 1/life) })}
}

// chunkSize draws the size of the chunks of an arena.
func chunkSize(d *draw) float64 { return min(d.bytes/8+64, random.LogUniform(d.params, 4<<10, 2<<20)) }

// requestArenas allocates the chunks of requests. Requests of a kind need about as many.
func requestArenas(d *draw) []Blueprint {
	d.setSizes(1, chunkSize(d), 0)
	curve := Flat
	if random.Chance(d.params, 0.5) {
		curve = rampOf(d)
	}
	return requestSite(d, random.LogUniform(d.params, 1e-3, 0.15), d.load(curve))
}

// slabs takes chunks when the demand exceeds them, which follows a load that rises up to a bound.
func slabs(d *draw) []Blueprint {
	chunk := int64(chunkSize(d))
	most := max(4, d.bytes/float64(chunk))
	load := d.load(rampOf(d))
	return []Blueprint{d.spread(1, func(float64) actor {
		var taken int64
		return func(u *memory.Unit, i int, _ float64) {
			if k := int64(math.Round(most*min(load[i], 1))) - taken; k > 0 {
				u.Alloc(u.Class(chunk), k)
				taken += k
			}
		}
	})}
}

// leakArena adds chunks at a constant rate or at that of requests.
func leakArena(d *draw) []Blueprint {
	d.setSizes(1, chunkSize(d), 0)
	nothing := func(float64) actor { return func(*memory.Unit, int, float64) {} }
	return []Blueprint{d.site(d.leaking(nothing, d.objects(d.bytes), d.load(Flat)))}
}
