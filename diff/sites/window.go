package sites

import (
	"cmp"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Why is why a snapshot is judged or left out. Each snapshot has one reason.
type Why uint8

// Reasons.
const (
	Judged       Why = iota
	NotRequested     // it is outside the requested period
	OtherImage       // another process image has more snapshots
	Empty            // the program had not allocated anything, and did not until shortly before the next snapshot
	Idle             // the process hardly ran any more, and its heap did not change
	AtExit           // the program exited, and may have freed memory
)

// Range is the snapshots of a series that are judged. They follow each other.
type Range struct {
	// First and Last are indices of snapshots; both are included.
	First, Last int
	// Why has a reason for each snapshot of the series.
	Why []Why
}

// Len returns the number of judged snapshots.
func (r Range) Len() int { return r.Last - r.First + 1 }

// Of returns the number of snapshots of the series.
func (r Range) Of() int { return len(r.Why) }

// Count returns the number of snapshots with a reason.
func (r Range) Count(why Why) (n int) {
	for _, w := range r.Why {
		if w == why {
			n++
		}
	}
	return n
}

// Moment is what the choice of the window takes from a snapshot.
type Moment struct {
	At    float64 // in seconds
	Heap  heapfile.Counts
	Image int // counts the process images
	// Processor is the processor time of the process in seconds, if it is known.
	Processor      float64
	ProcessorKnown bool
	// Exit reports whether the program took the snapshot when it exited, or after the recorder asked it to.
	Exit bool
}

// Window chooses the snapshots to judge among those with indices from ≤ i < to; to 0 is the end of
// the series. timed reports whether the times are known. It takes the process image with the most
// snapshots, the latest of equals. It leaves out the snapshots of the exit, those of an idle time
// before it, and an empty one long before the others. list is not empty.
func Window(list []Moment, timed bool, from, to int) Range {
	to = cmp.Or(to, len(list))
	r := Range{Why: make([]Why, len(list))}
	for i := range r.Why {
		if i < from || i >= to {
			r.Why[i] = NotRequested
		}
	}
	r.First, r.Last = longestImage(list, from, to)
	r.leaveOut(OtherImage, from, r.First)
	r.leaveOut(OtherImage, r.Last+1, to)
	running := lastRunning(list, r.First, r.Last)
	r.leaveOut(AtExit, running+1, r.Last+1)
	working := running
	if timed {
		working = lastWorking(list, r.First, running)
	}
	r.leaveOut(Idle, working+1, running+1)
	r.Last = working
	if timed && startsEmpty(list[r.First:r.Last+1]) {
		r.leaveOut(Empty, r.First, r.First+1)
		r.First++
	}
	return r
}

// leaveOut gives the snapshots with indices from ≤ i < to a reason.
func (r *Range) leaveOut(why Why, from, to int) {
	for i := from; i < to; i++ {
		r.Why[i] = why
	}
}

// longestImage returns the ends of the process image with the most snapshots, the latest of equals.
func longestImage(list []Moment, from, to int) (first, last int) {
	first, last = from, from
	for begin := from; begin < to; {
		end := begin
		for end+1 < to && list[end+1].Image == list[begin].Image {
			end++
		}
		if end-begin >= last-first {
			first, last = begin, end
		}
		begin = end + 1
	}
	return first, last
}

// lastRunning returns the last of the snapshots from first to last, of one process image, that was
// not taken when the program exited. The manifest, the name of the file, or the size of the heap
// show that.
func lastRunning(list []Moment, first, last int) int {
	for last > first && list[last].Exit {
		last--
	}
	if isTeardown(list, first, last) {
		last--
	}
	freed := func(end int) bool {
		return series.Freed(end-first+1, func(i int) int64 { return list[first+i].Heap.InuseBytes })
	}
	switch {
	case freed(last):
		return last - 1
	case last > first && list[last].Heap == list[last-1].Heap && freed(last-1):
		return last - 2 // the writer took two snapshots of the end
	}
	return last
}

// isTeardown reports whether a snapshot was taken while the program freed its memory to exit: just before the exit,
// with the same heap, which is smaller than before.
func isTeardown(list []Moment, first, last int) bool {
	const just = 0.02 // of the time until then
	if last <= first || last+1 >= len(list) || !list[last+1].Exit {
		return false
	}
	before, at, exit := &list[last-1], &list[last], &list[last+1]
	freed := at.Heap == exit.Heap && at.Heap.InuseBytes < before.Heap.InuseBytes
	return freed && exit.At-at.At <= just*(at.At-list[first].At)
}

// A process that does nothing does not leak, and its heap then looks as if the leak had stopped. So
// a series whose process idles to the end is judged up to where the idle time began. An idle time
// in the middle is left in: what follows it shows how the growth goes on.

const (
	// idlePace is the greatest rate of work of an idle process, as a share of its usual rate. The
	// engine's own work for the snapshots of a small service is up to 8 %.
	idlePace = 0.1
	// leastWorkingShare is the share of the intervals between snapshots in which the process works
	// at its usual rate or faster. A program that loads its data and then waits has less.
	leastWorkingShare = 0.4
	// leastWorking is the least number of snapshots before the idle time.
	leastWorking = 12
	// leastIdle is the least number of snapshots of the idle time. A shorter one may be a pause.
	leastIdle = 2
	// idleChange is the greatest change of the heap in the idle time, as a share of what it gained
	// before. A heap that shrinks or grows then is evidence.
	idleChange = 0.05
)

// lastWorking returns the last of the snapshots from first to last before the process idled to the
// end. It returns last if the process did not, or if its processor time is not known.
func lastWorking(list []Moment, first, last int) int {
	if last-first < leastWorking {
		return last
	}
	known := first // a process that is about to end has no processor time any more
	for known < last && list[known].ProcessorKnown {
		known++
	}
	if !list[known].ProcessorKnown {
		known--
	}
	if known < last-1 || list[known].Processor == list[first].Processor {
		return last
	}
	idle := first + idleFrom(list[first:known+1])
	if idle-first+1 < leastWorking || known-idle < leastIdle || !steady(list, first, idle, last) {
		return last
	}
	return idle
}

// idleFrom returns the index from which a process idled to the end: that of the last snapshot if it
// did not.
func idleFrom(list []Moment) int {
	rate := func(from, to int) float64 {
		return (list[to].Processor - list[from].Processor) / max(list[to].At-list[from].At, 1e-9)
	}
	end := len(list) - 1
	rates := make([]float64, end)
	for i := range rates {
		rates[i] = rate(i, i+1)
	}
	slices.Sort(rates)
	most := idlePace * rates[int((1-leastWorkingShare)*float64(end))]
	for i := range end {
		if rate(i, i+1) <= most && rate(i, end) <= most {
			return i
		}
	}
	return end
}

// steady reports whether the heap hardly changes from one snapshot to the last, compared with what
// it gained since the first.
func steady(list []Moment, first, from, last int) bool {
	size := func(i int) float64 { return float64(list[i].Heap.InuseBytes) }
	gained := size(from) - size(first)
	for i := from + 1; i <= last; i++ {
		if math.Abs(size(i)-size(from)) > idleChange*gained {
			return false
		}
	}
	return true
}

const (
	// longStart is the least time from an empty first snapshot to the second one, in median
	// intervals of the others, for which it is left out.
	longStart = 5
	// leastStarted is the least number of snapshots after it.
	leastStarted = 8
)

// startsEmpty reports whether the first snapshot is of a time when the program did not run. massif
// writes an empty snapshot when Valgrind starts, and further ones only when the program allocates,
// which may be much later. Over the time between, nothing could grow.
func startsEmpty(list []Moment) bool {
	if len(list) <= leastStarted || list[0].Heap.InuseBytes != 0 {
		return false
	}
	var intervals []float64
	for i := 2; i < len(list); i++ {
		intervals = append(intervals, list[i].At-list[i-1].At)
	}
	return list[1].At-list[0].At > longStart*stats.Median(intervals)
}
