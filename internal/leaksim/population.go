package leaksim

import "math"

// pool is live objects without memory of their age: any may be freed next.
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

// churn is a step of dt with arrivals of the given mean and exponential lifetimes: an old object
// survives it with probability exp(−dt/life), one that arrives within it with
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

// queue is live objects that are freed in the order in which they came.
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
