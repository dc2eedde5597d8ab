package processes

import (
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Pools are what the processes of a recording show of each site, and of the heap of each program.
type Pools map[Key][]growth.Evidence

// PoolsOf collects the evidence of processes.
func PoolsOf(all []*Judged) Pools {
	pools := Pools{}
	for _, p := range all {
		for key, e := range p.evidence {
			pools[key] = append(pools[key], e)
		}
	}
	return pools
}

// Result returns the verdicts on a process with what all processes show. key returns the key of a site.
func (pools Pools) Result(
	r *growth.Result,
	p *series.Process,
	key func(*growth.Site) Key,
	o growth.Options,
) *growth.Result {
	of := func(s *growth.Site) []growth.Evidence {
		if !s.CanLeak { // it did not grow in this process
			return nil
		}
		return pools[key(s)]
	}
	return r.Pooled(of, pools[heapOf(p)], o)
}

// Pooled returns the verdict on a process with what all processes show.
func (pools Pools) Pooled(p Judged, o growth.Options) Judged {
	if p.Result == nil {
		return p
	}
	p.Result = pools.Result(p.Result, &p.Process, p.Key, o)
	p.conclude()
	return p
}

// evidenceOf is what a process shows of each site that grew, whether it is listed or not, and of the heap, in the time
// that was judged. Of functions that differ only in their template arguments, the likeliest counts.
func evidenceOf(p *series.Process, r *growth.Result, time float64, key func(*growth.Site) Key) map[Key]growth.Evidence {
	out := map[Key]growth.Evidence{}
	if time <= 0 {
		return out
	}
	if r.Total.CanLeak {
		out[heapOf(p)] = growth.Evidence{
			Confidence: r.Total.Confidence, Time: time, Gained: r.LastHeap - r.FirstHeap, Held: r.LastHeap,
		}
	}
	for _, list := range [...][]growth.Site{r.Sites, r.Stable} {
		for i := range list {
			s := &list[i]
			if !s.CanLeak {
				continue
			}
			if key := key(s); key != (Key{}) {
				e := out[key]
				out[key] = growth.Evidence{
					Confidence: max(e.Confidence, s.Confidence), Time: time, Gained: e.Gained + s.Gained, Held: e.Held + s.Held,
				}
			}
		}
	}
	return out
}
