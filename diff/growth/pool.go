package growth

import (
	"math"
	"slices"
)

const (
	// poolOffset and poolSlope are what many processes add to the logarithm of the odds of a leak.
	poolOffset, poolSlope = 1.5, 0.3
	leastOdds             = 1e-3
)

// Evidence is what one process of a program shows of a site that grew in it.
type Evidence struct {
	// Confidence is the probability of a leak that the process shows by itself.
	Confidence float64
	// Time is how long the process was judged, in units of the clock.
	Time float64
	// Gained is the growth in bytes.
	Gained int64
}

// Pool is what several processes of a program show of a site together.
type Pool struct {
	// Confidence is the probability of a leak, Own that which the process of the result shows by itself.
	Confidence, Own float64
	// Processes is the number of processes in which the site grew, and Gained their growth in bytes.
	Processes int
	Gained    int64
}

// PoolOf joins the evidence of one site. Processes in which the site does not grow say nothing: they may
// not call it. The logarithms of the odds are averaged, by the square of the time: a shorter process shows
// the beginning of what a longer one shows, and what fills up is full in the longest. That a site grows in
// several processes makes a leak likelier. all is not empty, and all times are positive.
func PoolOf(all []Evidence) (p Pool) {
	var weights, squares, odds float64
	for _, e := range all {
		w := e.Time * e.Time
		weights += w
		squares += w * w
		odds += w * logOdds(e.Confidence)
		p.Gained += e.Gained
	}
	p.Processes = len(all)
	odds /= weights
	more := 1 - squares/(weights*weights) // 0 for one process, 1 − 1/n for n of the same length
	p.Confidence = 1 / (1 + math.Exp(-odds-more*(poolOffset+poolSlope*odds)))
	return p
}

// logOdds returns the logarithm of the odds of a probability, within bounds.
func logOdds(p float64) float64 {
	p = max(leastOdds, min(1-leastOdds, p))
	return math.Log(p / (1 - p))
}

// Pooled returns the result with the confidences that all processes of the program show together. of
// returns the evidence of a site, heap is that of their heaps as a whole; both include that of the result's
// own process. With less than two, the confidence stays.
func (r *Result) Pooled(of func(*Site) []Evidence, heap []Evidence, o Options) *Result {
	out := *r
	if len(heap) > 1 && r.Total.CanLeak {
		out.Total = r.Total.WithConfidence(PoolOf(heap).Confidence, o.LeakConfidence)
	}
	out.Likeliest, out.Chance = nil, 0
	pool := func(s *Site) {
		if all := of(s); len(all) > 1 {
			p := PoolOf(all)
			p.Own = s.Confidence
			s.Pool, s.Verdict = &p, s.WithConfidence(p.Confidence, o.LeakConfidence)
		}
		if s.CanLeak && s.Confidence > out.Chance {
			out.Likeliest, out.Chance = s, s.Confidence
		}
	}
	if r.Likeliest != nil {
		likeliest := *r.Likeliest // it need not be listed
		pool(&likeliest)
	}
	out.Sites = slices.Clone(r.Sites)
	for i := range out.Sites {
		pool(&out.Sites[i])
	}
	if out.Likeliest != nil {
		likeliest := *out.Likeliest // ranking moves the sites
		out.Likeliest = &likeliest
	}
	for i := range r.Causes {
		out.Chance = max(out.Chance, r.Causes[i].Confidence)
	}
	rank(out.Sites)
	out.tally()
	if r.LeakingCauses > 0 {
		out.Explained = r.Explained // with what is below the causes
	}
	out.decide()
	return &out
}
