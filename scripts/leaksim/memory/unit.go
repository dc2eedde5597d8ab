// Package memory keeps the ledger of a simulated call path: what is allocated, freed, lost and sampled.
package memory

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// Class counts the objects of one size on one stack.
type Class struct {
	Size          int64
	Chance        float64 // probability that an object is sampled: 1−exp(−size/period)
	Live, Sampled int64   // number of live objects, and of those that are sampled
	allocs        int64   // number of allocated objects
	SampledAllocs int64   // number of allocated objects that were sampled
}

// Unit is a stack. Its objects are allocated by alloc and freed by free only, so bytes, objects,
// cumulative counts and samples are always consistent.
type Unit struct {
	Rng     *rand.Rand
	Period  float64 // mean number of bytes between samples; 0 if everything is recorded
	Classes []Class
	Shares  []float64 // share of each of the first len(shares) classes among allocations
	Leaked  int64     // number of bytes that leaked
	// Interval is the number of the interval between snapshots in which objects are allocated now. It stays 0 if nobody
	// asks when objects were allocated.
	Interval int
	// Births are the live objects, by the interval in which they were allocated and by class: those that are sampled or,
	// if everything is recorded, all.
	Births [][]int64
}

// Batch counts live objects of one class that were allocated in one interval, and those of them that are sampled.
type Batch struct {
	Class      int
	N, sampled int64
	born       int // interval
}

// Class returns the index of the class of a size, which it adds if necessary.
func (u *Unit) Class(size int64) int {
	for i := range u.Classes {
		if u.Classes[i].Size == size {
			return i
		}
	}
	p := 1.0
	if u.Period > 0 {
		p = -math.Expm1(-float64(size) / u.Period)
	}
	u.Classes = append(u.Classes, Class{Size: size, Chance: p})
	return len(u.Classes) - 1
}

// Alloc allocates n objects of a class.
func (u *Unit) Alloc(index int, n int64) Batch {
	return u.allocIn(u.Interval, index, n)
}

// allocIn allocates n objects of a class that count as born in an interval.
func (u *Unit) allocIn(interval, index int, n int64) Batch {
	c := &u.Classes[index]
	c.Live += n
	c.allocs += n
	b := Batch{Class: index, N: n, born: interval}
	if u.Period > 0 {
		b.sampled = random.Binomial(u.Rng, n, c.Chance)
		c.Sampled += b.sampled
		c.SampledAllocs += b.sampled
	}
	u.count(b, b.N, b.sampled)
	return b
}

// Realloc replaces the objects of a batch by as many of another class, as realloc does. A new object keeps the birth of
// the old one if both are sampled, because the engine knows no others.
func (u *Unit) Realloc(old *Batch, index int) Batch {
	born := u.Interval
	if old.N > 0 && (u.Period == 0 || old.sampled > 0) {
		born = old.born
	}
	b := u.allocIn(born, index, max(1, old.N))
	u.Free(old, old.N)
	return b
}

// count adds objects of a batch to the births.
func (u *Unit) count(b Batch, n, sampled int64) {
	for len(u.Births) <= b.born {
		u.Births = append(u.Births, nil)
	}
	of := &u.Births[b.born]
	for len(*of) <= b.Class {
		*of = append(*of, 0)
	}
	if u.Period > 0 {
		n = sampled
	}
	(*of)[b.Class] += n
}

// Free frees n random objects of a batch.
func (u *Unit) Free(b *Batch, n int64) {
	n = min(n, b.N)
	c := &u.Classes[b.Class]
	s := random.Hypergeometric(u.Rng, b.N, b.sampled, n)
	b.N -= n
	b.sampled -= s
	c.Live -= n
	c.Sampled -= s
	u.count(*b, -n, -s)
}

// AllocMany allocates n objects of the stack's sizes.
func (u *Unit) AllocMany(n int64) []Batch {
	var out []Batch
	left := 1.0
	for i, share := range u.Shares {
		k := n
		if i < len(u.Shares)-1 {
			k = random.Binomial(u.Rng, n, share/left)
		}
		if k > 0 {
			out = append(out, u.Alloc(i, k))
		}
		n -= k
		left -= share
	}
	return out
}

// Exit frees a random share of the objects of each class, as a program does before it exits. Births do not count
// them.
func (u *Unit) Exit() {
	share := max(0, random.Uniform(u.Rng, -0.3, 1.3))
	for i := range u.Classes {
		c := &u.Classes[i]
		b := Batch{Class: i, N: c.Live, sampled: c.Sampled}
		u.Free(&b, random.Binomial(u.Rng, b.N, min(1, share)))
	}
}

// Leak allocates n objects that nothing will free.
func (u *Unit) Leak(n int64) []Batch {
	lost := u.AllocMany(n)
	for _, b := range lost {
		u.Leaked += b.N * u.Classes[b.Class].Size
	}
	return lost
}

// Point holds the exact counts of a stack or a function at a time.
type Point struct {
	Live, Bytes, Allocs, AllocBytes, Leaked int64
}

// Add returns the sum of two counts.
func (p Point) Add(q Point) Point {
	return Point{p.Live + q.Live, p.Bytes + q.Bytes, p.Allocs + q.Allocs, p.AllocBytes + q.AllocBytes, p.Leaked + q.Leaked}
}

// Point returns the counts of the call path.
func (u *Unit) Point() Point {
	p := Point{Leaked: u.Leaked}
	for _, c := range u.Classes {
		p.Live += c.Live
		p.Bytes += c.Live * c.Size
		p.Allocs += c.allocs
		p.AllocBytes += c.allocs * c.Size
	}
	return p
}

// Pool holds live objects that are freed in random order.
type Pool struct{ Batches []Batch }

// Put adds objects.
func (p *Pool) Put(list []Batch) {
	for _, b := range list {
		p.merge(b)
	}
}

func (p *Pool) merge(b Batch) {
	for i := range p.Batches {
		if p.Batches[i].Class == b.Class && p.Batches[i].born == b.born {
			p.Batches[i].N += b.N
			p.Batches[i].sampled += b.sampled
			return
		}
	}
	p.Batches = append(p.Batches, b)
}

// Size returns the number of objects.
func (p *Pool) Size() (n int64) {
	for _, b := range p.Batches {
		n += b.N
	}
	return n
}

// Thin frees each object with probability q.
func (p *Pool) Thin(u *Unit, q float64) {
	for i := range p.Batches {
		b := &p.Batches[i]
		u.Free(b, random.Binomial(u.Rng, b.N, q))
	}
	p.tidy(u)
}

// tidy forgets empty batches of earlier intervals.
func (p *Pool) tidy(u *Unit) {
	p.Batches = slices.DeleteFunc(p.Batches, func(b Batch) bool { return b.N == 0 && b.born != u.Interval })
}

// Renew frees each object with probability q, and allocates one of the same class instead.
func (p *Pool) Renew(u *Unit, q float64) {
	for i := range len(p.Batches) {
		b := &p.Batches[i]
		if n := random.Binomial(u.Rng, b.N, q); n > 0 {
			u.Free(b, n)
			p.merge(u.Alloc(b.Class, n))
		}
	}
	p.tidy(u)
}

// Drop frees n objects.
func (p *Pool) Drop(u *Unit, n int64) {
	total := p.Size()
	for i := range p.Batches {
		b := &p.Batches[i]
		k := random.Hypergeometric(u.Rng, total, b.N, n)
		total -= b.N
		n -= k
		u.Free(b, k)
	}
	p.tidy(u)
}

// Churn simulates a step of length dt, with a mean number of arrivals and exponential lifetimes. An
// old object survives the step with probability exp(−dt/life), a new one with
// (1−exp(−dt/life))·life/dt.
func (p *Pool) Churn(u *Unit, arrivals, life, dt float64) {
	p.Thin(u, -math.Expm1(-dt/life))
	fresh := u.AllocMany(random.Poisson(u.Rng, arrivals))
	dies := 1 + math.Expm1(-dt/life)*life/dt
	for i := range fresh {
		u.Free(&fresh[i], random.Binomial(u.Rng, fresh[i].N, dies))
	}
	p.Put(fresh)
}

// Queue holds live objects that are freed in the order of their allocation.
type Queue struct {
	list []Batch
	N    int64
}

// Push adds objects at the end.
func (q *Queue) Push(list []Batch) {
	for _, b := range list {
		if b.N > 0 {
			q.list = append(q.list, b)
			q.N += b.N
		}
	}
}

// Pop frees the n oldest objects.
func (q *Queue) Pop(u *Unit, n int64) {
	for n > 0 && len(q.list) > 0 {
		b := &q.list[0]
		k := min(n, b.N)
		u.Free(b, k)
		n -= k
		q.N -= k
		if b.N == 0 {
			q.list = q.list[1:]
		}
	}
}
