package leaksim

import (
	"math"
	"math/rand/v2"
)

// class counts the objects of one size on one stack.
type class struct {
	size          int64
	chance        float64 // probability that an object is sampled: 1−exp(−size/period)
	live, sampled int64   // number of live objects, and of those that are sampled
	allocs        int64   // number of allocated objects
	sampledAllocs int64   // number of allocated objects that were sampled
}

// unit is a stack. Its objects are allocated by alloc and freed by free only, so bytes, objects,
// cumulative counts and samples are always consistent.
type unit struct {
	rng     *rand.Rand
	period  float64 // mean number of bytes between samples; 0 if everything is recorded
	classes []class
	shares  []float64 // share of each of the first len(shares) classes among allocations
	leaked  int64     // number of bytes that leaked
}

// batch counts live objects of one class, and those of them that are sampled.
type batch struct {
	class      int
	n, sampled int64
}

// class returns the index of the class of a size, which it adds if necessary.
func (u *unit) class(size int64) int {
	for i := range u.classes {
		if u.classes[i].size == size {
			return i
		}
	}
	p := 1.0
	if u.period > 0 {
		p = -math.Expm1(-float64(size) / u.period)
	}
	u.classes = append(u.classes, class{size: size, chance: p})
	return len(u.classes) - 1
}

// alloc allocates n objects of a class.
func (u *unit) alloc(index int, n int64) batch {
	c := &u.classes[index]
	c.live += n
	c.allocs += n
	b := batch{class: index, n: n}
	if u.period > 0 {
		b.sampled = binomial(u.rng, n, c.chance)
		c.sampled += b.sampled
		c.sampledAllocs += b.sampled
	}
	return b
}

// free frees n random objects of a batch.
func (u *unit) free(b *batch, n int64) {
	n = min(n, b.n)
	c := &u.classes[b.class]
	s := hypergeometric(u.rng, b.n, b.sampled, n)
	b.n -= n
	b.sampled -= s
	c.live -= n
	c.sampled -= s
}

// allocMany allocates n objects of the stack's sizes.
func (u *unit) allocMany(n int64) []batch {
	var out []batch
	left := 1.0
	for i, share := range u.shares {
		k := n
		if i < len(u.shares)-1 {
			k = binomial(u.rng, n, share/left)
		}
		if k > 0 {
			out = append(out, u.alloc(i, k))
		}
		n -= k
		left -= share
	}
	return out
}

// leak allocates n objects that nothing will free.
func (u *unit) leak(n int64) {
	for _, b := range u.allocMany(n) {
		u.leaked += b.n * u.classes[b.class].size
	}
}

// point holds the exact counts of a stack or a function at a time.
type point struct {
	live, bytes, allocs, allocBytes, leaked int64
}

func (p point) add(q point) point {
	return point{p.live + q.live, p.bytes + q.bytes, p.allocs + q.allocs, p.allocBytes + q.allocBytes, p.leaked + q.leaked}
}

func (u *unit) point() point {
	p := point{leaked: u.leaked}
	for _, c := range u.classes {
		p.live += c.live
		p.bytes += c.live * c.size
		p.allocs += c.allocs
		p.allocBytes += c.allocs * c.size
	}
	return p
}

// pool holds live objects that are freed in random order.
type pool struct{ batches []batch }

func (p *pool) put(list []batch) {
	for _, b := range list {
		p.merge(b)
	}
}

func (p *pool) merge(b batch) {
	for i := range p.batches {
		if p.batches[i].class == b.class {
			p.batches[i].n += b.n
			p.batches[i].sampled += b.sampled
			return
		}
	}
	p.batches = append(p.batches, b)
}

func (p *pool) size() (n int64) {
	for _, b := range p.batches {
		n += b.n
	}
	return n
}

// thin frees each object with probability q.
func (p *pool) thin(u *unit, q float64) {
	for i := range p.batches {
		b := &p.batches[i]
		u.free(b, binomial(u.rng, b.n, q))
	}
}

// drop frees n objects.
func (p *pool) drop(u *unit, n int64) {
	total := p.size()
	for i := range p.batches {
		b := &p.batches[i]
		k := hypergeometric(u.rng, total, b.n, n)
		total -= b.n
		n -= k
		u.free(b, k)
	}
}

// churn simulates a step of length dt, with a mean number of arrivals and exponential lifetimes. An
// old object survives the step with probability exp(−dt/life), a new one with
// (1−exp(−dt/life))·life/dt.
func (p *pool) churn(u *unit, arrivals, life, dt float64) {
	p.thin(u, -math.Expm1(-dt/life))
	fresh := u.allocMany(poisson(u.rng, arrivals))
	dies := 1 + math.Expm1(-dt/life)*life/dt
	for i := range fresh {
		u.free(&fresh[i], binomial(u.rng, fresh[i].n, dies))
	}
	p.put(fresh)
}

// queue holds live objects that are freed in the order of their allocation.
type queue struct {
	list []batch
	n    int64
}

func (q *queue) push(list []batch) {
	for _, b := range list {
		if b.n > 0 {
			q.list = append(q.list, b)
			q.n += b.n
		}
	}
}

// pop frees the n oldest objects.
func (q *queue) pop(u *unit, n int64) {
	for n > 0 && len(q.list) > 0 {
		b := &q.list[0]
		k := min(n, b.n)
		u.free(b, k)
		n -= k
		q.n -= k
		if b.n == 0 {
			q.list = q.list[1:]
		}
	}
}
