package growth

import (
	"slices"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/symbolize"
)

// heap is the trend of the heap as a whole, and that of the process.
type heap struct {
	total       trend.Verdict
	first, last int64
	// rss and outside are nil if the resident set was not recorded.
	rss, outside      *trend.Verdict
	firstRSS, lastRSS int64
	// gainedOutside is the growth of the resident set without the heap.
	gainedOutside int64
}

// withoutProcess forgets the resident set, which cannot be compared with a part of the heap.
func (h heap) withoutProcess() heap {
	return heap{total: h.total, first: h.first, last: h.last}
}

// heap judges the sizes of the heap by snapshot, the resident set, and the part of the resident set that is not heap.
// Memory of code that runs once does not leak.
func (j *judgement) heap(g *groups) heap {
	w, sizes := &j.window, g.heap
	judge := func(size func(i int) int64, paths []symbolize.SiteID) trend.Verdict {
		p := trend.Points{Dominates: true, Growers: 1, Share: 1, HighWater: w.highWater, EndUnseen: w.gap.still}
		for i := w.First; i <= w.Last; i++ {
			p.T = append(p.T, w.time(i))
			p.Work = j.work.appendTo(p.Work, i-w.First)
			p.Live = append(p.Live, float64(size(i)))
		}
		p.Births = j.births(paths)
		return trend.Judge(p, j.options)
	}
	h := heap{
		total: judge(func(i int) int64 { return sizes[i] }, slices.Concat(g.members...)),
		first: sizes[w.First], last: sizes[w.Last],
	}
	importing, others := j.allImporting(g.members)
	if imported := j.sum(importing); slices.Max(imported) > 0 {
		h.total = h.total.Of(judge(func(i int) int64 { return sizes[i] - imported[i] }, others), j.options)
	}
	resident, outside := residentPoints(w, j.work, sizes)
	if last := len(resident.T) - 1; last >= 0 {
		rss, rest := trend.Judge(resident, j.options), trend.Judge(outside, j.options)
		h.rss, h.outside = &rss, &rest
		h.firstRSS, h.lastRSS = int64(resident.Live[0]), int64(resident.Live[last])
		h.gainedOutside = int64(outside.Live[last] - outside.Live[0])
	}
	return h
}

// residentPoints are the recorded sizes of the resident set, and those without the heap. The size of the last snapshot
// is left out if the process had freed memory before it was read: it is smaller than the heap, unlike the one before.
func residentPoints(w *window, clock work, sizes []int64) (resident, outside trend.Points) {
	resident = trend.Points{Growers: 1, Share: 1, EndUnseen: w.gap.still}
	outside = resident
	for i := w.First; i <= w.Last; i++ {
		rss, known := w.series.ResidentAt(i)
		n := len(outside.Live)
		freed := i == w.Last && n > 0 && rss < sizes[i] && outside.Live[n-1] >= 0
		if known && !freed {
			resident.T = append(resident.T, w.time(i))
			resident.Work = clock.appendTo(resident.Work, i-w.First)
			resident.Live = append(resident.Live, float64(rss))
			outside.Live = append(outside.Live, float64(rss-sizes[i]))
		}
	}
	outside.T, outside.Work = slices.Clone(resident.T), slices.Clone(resident.Work)
	return resident, outside
}

// gained is the growth of the heap from the first to the last snapshot.
func (h *heap) gained() int64 { return h.last - h.first }

// leastOutside is the least growth of the process outside its heap, in bytes, that is worth a note.
const leastOutside = 4 << 20

// outsideGrowth is the growth of the resident set beyond that of the heap; 0 if it is not worth a
// note.
func (h *heap) outsideGrowth() int64 {
	if h.gainedOutside > max(leastOutside, h.gained()) {
		return h.gainedOutside
	}
	return 0
}

// processGrows reports whether the resident set grows to the end, and by more than the heap. What the heap frees at
// the end may stay resident: then only the difference grows.
func (h *heap) processGrows() bool {
	return h.outsideGrowth() > 0 && h.outside.Label.IsLeak() && !h.rss.Label.Explains()
}
