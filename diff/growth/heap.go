package growth

import "github.com/heaplapse/heaplapse/diff/trend"

// heap is the trend of the heap as a whole, and that of the process.
type heap struct {
	total       trend.Verdict
	first, last int64
	// rss is nil if the resident set was not recorded.
	rss               *trend.Verdict
	firstRSS, lastRSS int64
}

// judgeHeap judges the sizes of the heap by snapshot, and the resident set.
func judgeHeap(s scope, sizes []int64, minBytes int64) heap {
	p := trend.Points{Dominates: true, HighWater: s.highWater}
	for i := s.First; i <= s.Last; i++ {
		p.T = append(p.T, s.series.Clock.At[i])
		p.Live = append(p.Live, float64(sizes[i]))
	}
	o := trend.Options{MinGrowth: float64(minBytes)}
	h := heap{total: trend.Judge(p, o), first: sizes[s.First], last: sizes[s.Last]}
	if p := residentPoints(s); len(p.T) > 0 {
		v := trend.Judge(p, o)
		h.rss, h.firstRSS, h.lastRSS = &v, int64(p.Live[0]), int64(p.Live[len(p.Live)-1])
	}
	return h
}

// residentPoints are the recorded sizes of the resident set.
func residentPoints(s scope) (p trend.Points) {
	for i := s.First; i <= s.Last && i < len(s.series.RSS); i++ {
		if v := s.series.RSS[i]; v != nil {
			p.T = append(p.T, s.series.Clock.At[i])
			p.Live = append(p.Live, float64(*v))
		}
	}
	return p
}

// gained is the growth of the heap from the first to the last snapshot.
func (h *heap) gained() int64 { return h.last - h.first }

// leastOutside is the least growth of the process outside its heap, in bytes, that is worth a note.
const leastOutside = 4 << 20

// outside is the growth of the resident set beyond that of the heap; 0 if it is not worth a note.
func (h *heap) outside() int64 {
	grown := h.lastRSS - h.firstRSS
	if outside := grown - h.gained(); grown > leastOutside && outside > max(leastOutside, h.gained()) {
		return outside
	}
	return 0
}
