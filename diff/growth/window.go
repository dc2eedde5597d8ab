package growth

import (
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// window is the part of a series that is judged, and what is known of all of it.
type window struct {
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
	// processor is the processor time of the process by each judged snapshot, in seconds; nil if it
	// is not known of all.
	processor []float64
	// gap is the time after the last snapshot.
	gap gap
	// other is another process image of the series, the longest one; nil if there is none.
	other *interval
}

// interval is a range of snapshots, both ends included.
type interval struct{ first, last int }

// windowOf chooses the snapshots to judge among those with indices from ≤ i < to.
func windowOf(s *series.Series, from, to int) window {
	w := window{Range: sites.JudgedRange(s, from, to), series: s, hasAlloc: true, hasObjects: true}
	for _, h := range w.heads() {
		w.hasAlloc, w.hasObjects = w.hasAlloc && h.HasAlloc, w.hasObjects && !h.NoObjects
	}
	if head := s.Heads[w.First]; head.IsEstimate() {
		w.period = float64(head.Period)
	}
	if known := sites.ProcessorTimes(s, w.First, w.Last); len(known) == w.Len() {
		w.processor = known
	}
	w.highWater = w.mostlyHighWater()
	w.other = w.otherImage()
	w.gap = gapAfter(&w)
	return w
}

// heads are the judged snapshots.
func (w *window) heads() []*series.Head { return w.series.Heads[w.First : w.Last+1] }

// time is the time of a snapshot, or what else the clock counts.
func (w *window) time(i int) float64 { return w.series.Clock.At[i] }

// mostlyHighWater reports whether most snapshots were taken at record highs of the heap.
func (w *window) mostlyHighWater() bool {
	high := 0
	for i := w.First; i <= w.Last && i < len(w.series.Triggers); i++ {
		if w.series.Triggers[i] == filename.TriggerHighWater {
			high++
		}
	}
	return 2*high > w.Len()
}

// otherImage returns the longest process image except the judged one.
func (w *window) otherImage() *interval {
	var best *interval
	heads := w.series.Heads
	for begin, end := range w.series.Images(0, len(heads)) {
		if heads[begin].Image != heads[w.First].Image && (best == nil || end-begin > best.last-best.first) {
			best = &interval{begin, end}
		}
	}
	if best != nil {
		best.last = sites.LastRunning(w.series, best.first, best.last)
	}
	return best
}
