package leaksim

import (
	"math"
	"math/rand/v2"
)

// class is the objects of one size on one stack.
type class struct {
	size int64
	// chance that the allocator samples an object of this size: 1−exp(−size/period).
	chance float64
	// live objects, and all that were ever allocated; of both, those that were sampled.
	live, sampled, allocs, sampledAllocs int64
}

// unit is one stack: everything that allocates through it goes through alloc and free, so bytes,
// objects, cumulative counts and samples always agree.
type unit struct {
	rng     *rand.Rand
	period  float64 // mean bytes between samples; 0 records everything
	classes []class
	shares  []float64 // of the first len(shares) classes among allocations
	leaked  int64     // bytes that nothing will ever free, startup data not included
}

// batch is some live objects of one class, and how many of them are sampled.
type batch struct {
	class      int
	n, sampled int64
}

// class finds or adds the class of a size.
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

// free frees n objects of a batch, drawn by chance.
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

// point is a stack at one moment: exact counts.
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
