package growth

import "math"

const (
	// poolOffset and poolSlope are what many processes add to the logarithm of the odds of a leak.
	poolOffset, poolSlope = 1.5, 0.3
	leastOdds             = 1e-3
	// Workers of a program that do the same hold nearly as much as each other: less by this factor at most. What holds
	// less soon counts for nothing.
	nearlyAsMuch, reachPower = 1.5, 8
	leastReach               = 1e-6
)

// Evidence is what one process of a program shows of a site that grew in it.
type Evidence struct {
	// Confidence is the probability of a leak that the process shows by itself.
	Confidence float64
	// Time is how long the process was judged, in units of the clock.
	Time float64
	// Gained is the growth in bytes, Held what is in use in the end.
	Gained, Held int64
}

// Pool is what several processes of a program show of a site together.
type Pool struct {
	// Confidence is the probability of a leak, Own that which the process of the result shows by itself.
	Confidence, Own float64
	// Processes is the number of processes in which the site grew, and Gained their growth in bytes.
	Processes int
	Gained    int64
}

// PoolOf joins the evidence of one site, for a process in which it holds a number of bytes. Processes in which the site
// does not grow say nothing: they may not call it. The logarithms of the odds are averaged. A process that is shorter,
// or in which the site holds clearly less, shows the beginning of what this one shows: what fills up is full in the
// longest, and what is full at less has another bound, or is hardly used. So the weight of a process is the square of
// its time, times its reach. That a site grows in several processes makes a leak likelier. all is not empty, and all
// times are positive.
func PoolOf(all []Evidence, held int64) (p Pool) {
	var weights, squares, odds float64
	for _, e := range all {
		w := e.Time * e.Time * e.reach(held)
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

// reach is the weight of what the site holds in a process, for one in which it holds a number of bytes: 1 if it is
// nearly as much or more, and never 0.
func (e *Evidence) reach(held int64) float64 {
	if held <= 0 {
		return 1
	}
	share := min(1, nearlyAsMuch*float64(e.Held)/float64(held))
	return max(leastReach, math.Pow(share, reachPower))
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
		out.Total = r.Total.WithConfidence(PoolOf(heap, r.LastHeap).Confidence, o.LeakConfidence)
	}
	var candidates []Site
	if r.Likeliest != nil { // it need not be listed
		candidates = append(candidates, r.Likeliest.pooled(of(r.Likeliest), o))
	}
	out.Sites = make([]Site, len(r.Sites))
	for i := range out.Sites {
		out.Sites[i] = r.Sites[i].pooled(of(&r.Sites[i]), o)
	}
	out.Likeliest = likeliest(append(candidates, out.Sites...))
	out.Chance = causesChance(r.Causes)
	if out.Likeliest != nil {
		out.Chance = max(out.Chance, out.Likeliest.Confidence)
	}
	out.Sites = ranked(out.Sites)
	return out.tallied(r.Explained).decided()
}

// pooled returns a site with the confidence that all evidence shows.
func (s *Site) pooled(all []Evidence, o Options) Site {
	out := *s
	if len(all) > 1 {
		p := PoolOf(all, s.Held)
		p.Own = s.Confidence
		out.Pool, out.Verdict = &p, s.WithConfidence(p.Confidence, o.LeakConfidence)
	}
	return out
}

// likeliest returns the first of the sites with the highest confidence among those that can leak;
// nil if there is none.
func likeliest(list []Site) *Site {
	var best *Site
	for i := range list {
		if s := &list[i]; s.CanLeak && s.Confidence > 0 && (best == nil || s.Confidence > best.Confidence) {
			best = s
		}
	}
	return best
}
