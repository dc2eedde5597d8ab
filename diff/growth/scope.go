package growth

import (
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// scope is the part of a series that is judged, and what is known of all of it.
type scope struct {
	sites.Range
	series *series.Series
	// hasAlloc reports whether all snapshots have cumulative counts.
	hasAlloc bool
	// hasObjects reports whether all snapshots count objects.
	hasObjects bool
	// highWater reports whether most snapshots were taken at record highs of the heap.
	highWater bool
	// period is the mean number of bytes between samples, 0 for exact counts.
	period float64
	// work is the work that the process had done by each judged snapshot; nil if unknown.
	work []float64
	// byAllocation reports whether work is the bytes that all sites had allocated.
	byAllocation bool
	// silence is the time after the last snapshot without one.
	silence silence
	// other is another process image of the series, the longest one; nil if there is none.
	other *interval
}

// interval is a range of snapshots, both ends included.
type interval struct{ first, last int }

func scopeOf(s *series.Series, judged sites.Range) scope {
	out := scope{Range: judged, series: s, hasAlloc: true, hasObjects: true, other: otherImage(s, judged)}
	for _, h := range s.Heads[judged.First : judged.Last+1] {
		out.hasAlloc, out.hasObjects = out.hasAlloc && h.HasAlloc, out.hasObjects && !h.NoObjects
	}
	if head := s.Heads[judged.First]; head.IsEstimate() {
		out.period = float64(head.Period)
	}
	if cpu := sites.ProcessorTimes(s, judged.First, judged.Last); len(cpu) == judged.Len() {
		out.work = cpu
	} else if out.hasAlloc {
		out.work, out.byAllocation = allocated(s, judged), true
	}
	high := 0
	for i := judged.First; i <= judged.Last && i < len(s.Triggers); i++ {
		if s.Triggers[i] == filename.TriggerHighWater {
			high++
		}
	}
	out.highWater = 2*high > judged.Len()
	out.silence = silenceOf(&out)
	return out
}

// allocated returns the bytes that the process had allocated by each judged snapshot.
func allocated(s *series.Series, judged sites.Range) []float64 {
	out := make([]float64, judged.Len())
	for i := range out {
		out[i] = float64(s.Heads[judged.First+i].Heap().AllocBytes)
	}
	return out
}

// setPace takes the work that the sites of the process show, if they do: a process that works without allocating
// shows it by its processor time only.
func (s *scope) setPace(pace []float64) {
	if pace == nil || pace[len(pace)-1] <= 0 {
		return
	}
	s.work, s.byAllocation = pace, false
}

// otherImage returns the longest process image except the judged one.
func otherImage(s *series.Series, judged sites.Range) *interval {
	var best *interval
	for begin, end := range s.Images(0, len(s.Heads)) {
		if s.Heads[begin].Image != s.Heads[judged.First].Image && (best == nil || end-begin > best.last-best.first) {
			best = &interval{begin, end}
		}
	}
	if best != nil {
		best.last = sites.LastRunning(s, best.first, best.last)
	}
	return best
}

// ends are the first and last visible values of a column.
func (s *scope) ends(c sites.Column) (first, last int64) {
	seen := false
	for i := s.First; i <= s.Last; i++ {
		if c.Bytes[i] == sites.Hidden {
			continue
		}
		if !seen {
			first, seen = c.Bytes[i], true
		}
		last = c.Bytes[i]
	}
	return first, last
}

// gained is the last visible value of a column minus the first.
func (s *scope) gained(c sites.Column) int64 {
	first, last := s.ends(c)
	return last - first
}

// points are the visible values of a column.
func (s *scope) points(c sites.Column) trend.Points {
	p := trend.Points{HighWater: s.highWater, EndUnseen: s.silence.still, Period: s.period, OtherImage: s.otherPoints(c)}
	for i := s.First; i <= s.Last; i++ {
		if c.Bytes[i] == sites.Hidden {
			continue
		}
		p.T = append(p.T, s.series.Clock.At[i])
		p.Work = s.appendWork(p.Work, i)
		p.Live = append(p.Live, float64(c.Bytes[i]))
		if s.hasObjects {
			p.Objects = append(p.Objects, float64(c.Objects[i]))
		}
		if s.hasAlloc {
			p.Alloc = append(p.Alloc, float64(c.Alloc[i]))
		}
	}
	if s.byAllocation {
		p.Work = beside(p.Work, p.Alloc)
	}
	return p
}

// leastBeside is the least share of the bytes allocated by which the others show the work of the process.
const leastBeside = 0.1

// beside returns what the process allocated beside a site: what the site itself allocates is its load, too, and
// a site whose load rises would be a line over it. It returns nil if that is next to nothing, and the
// allocations of all if those of the site are not known.
func beside(all, own []float64) []float64 {
	if all == nil || own == nil {
		return all
	}
	out := make([]float64, len(all))
	for i := range out {
		out[i] = all[i] - own[i]
	}
	last := len(all) - 1
	if out[last]-out[0] < leastBeside*(all[last]-all[0]) {
		return nil
	}
	return out
}

// appendWork appends the work that the process had done by a snapshot, if it is known.
func (s *scope) appendWork(work []float64, i int) []float64 {
	if s.work == nil {
		return nil
	}
	return append(work, s.work[i-s.First])
}

// leastOther is the least number of points in another process image that count as evidence.
const leastOther = 3

// otherPoints are the visible values of a column in the other process image; nil if they are too
// few.
func (s *scope) otherPoints(c sites.Column) *trend.Points {
	if s.other == nil {
		return nil
	}
	p := &trend.Points{}
	for i := s.other.first; i <= s.other.last; i++ {
		if c.Bytes[i] != sites.Hidden {
			p.T = append(p.T, s.series.Clock.At[i])
			p.Live = append(p.Live, float64(c.Bytes[i]))
		}
	}
	if len(p.T) < leastOther {
		return nil
	}
	return p
}
