package leaksim

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// shot is a snapshot.
type shot struct {
	image *image
	step  int
	mark  int // index in image.marks of the state that the snapshot shows
	seq   int // sequence number in the file name
	time  time.Time
	exit  bool          // taken when the process exits
	cpu   time.Duration // processor time of the process
	// moments are the times of the snapshots of the image up to this one.
	moments []time.Time
}

// timerSteps returns the steps of a process image at which a timer fires. It fires a little late,
// because allocators check the clock only when the program allocates.
func (p *Process) timerSteps(im *image) []int {
	rng := random.New(p.own(), streamTimer)
	n := p.taken()
	late := random.Uniform(rng, 0, 0.03)
	before := int(math.Round(p.burn*behaviour.StepsPerSpan)) - 1
	var out []int
	for k := 1; k <= n; k++ {
		t := p.from + (float64(k)+min(0.5, late*rng.ExpFloat64()))/float64(n)*(p.length-p.from)
		step := p.life.stepAt(p.life.wallAt(before)+min(t, p.length)) - im.before
		if im.start+im.grid.End > p.length-behaviour.Dt/2 { // the last image
			step = min(step, im.grid.Steps()-1)
		}
		if step < im.grid.Steps() && im.grid.At(step) > 2*behaviour.Dt {
			out = append(out, step)
		}
	}
	return slices.Compact(out)
}

// taken is the number of snapshots that a trigger takes, including those that are missing later, but not one at
// the start of the process.
func (p *Process) taken() int {
	n := int(float64(p.snapshots)/(1-p.Mode.missing) + 0.5)
	if p.life.begins {
		n--
	}
	return n
}

// shots returns the snapshots of the process.
func (p *Process) shots() []shot {
	rng := random.New(p.id(), streamShots)
	begin := time.Date(2026, 3, 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), 0, time.UTC)
	used := p.life.processorTime(random.New(p.own(), streamLife+1))
	var out []shot
	for _, im := range p.images {
		var moments []time.Time
		steps := p.stepsOf(im)
		if im.exits {
			steps = append(steps, im.grid.Steps())
		}
		for _, step := range steps {
			elapsed := p.life.wallAt(im.before+step)*p.seconds + 0.05*rng.Float64()
			moments = append(moments, begin.Add(time.Duration(elapsed*1e9)))
			out = append(out, shot{
				image: im, step: step, mark: im.markOf(p.shownAt(im, step)), exit: step == im.grid.Steps(),
				time: moments[len(moments)-1], moments: moments,
				cpu: time.Duration(used[min(im.before+step, len(used)-1)] * p.seconds * 1e9),
			})
		}
	}
	for i := range out {
		out[i].seq = i + 1
	}
	return p.dropSnapshots(rng, out)
}

// modified returns the modification time of a snapshot's file: the time of the snapshot, or that of
// a later copy.
func (p *Process) modified(s shot) time.Time {
	if p.Mode.copied {
		return time.Date(2026, 6, 1, 12, 0, 0, s.seq*1e6, time.UTC)
	}
	return s.time
}

// stepsOf returns the steps of a process image at which snapshots are taken, except that of the exit.
func (p *Process) stepsOf(im *image) []int {
	steps := p.triggered(im)
	if p.life.begins && (len(steps) == 0 || steps[0] > 0) {
		return slices.Insert(steps, 0, 0)
	}
	return steps
}

// triggered returns the steps of a process image at which the trigger of the mode takes snapshots.
func (p *Process) triggered(im *image) []int {
	switch p.Mode.trigger {
	case byAllocation:
		return allocationSteps(im, p.taken())
	case byHighWater:
		return highWaterSteps(im, p.snapshots)
	}
	if p.Mode.format == massif && p.massifOptions().unit == "i" {
		return p.workSteps(im, p.taken())
	}
	return p.timerSteps(im)
}

// dropSnapshots removes snapshots at random, except the first and the last.
func (p *Process) dropSnapshots(rng *rand.Rand, list []shot) []shot {
	if p.Mode.missing == 0 {
		return list
	}
	for len(list) > p.snapshots {
		i := 1 + rng.IntN(len(list)-2)
		list = slices.Delete(list, i, i+1)
	}
	return list
}

// allocationSteps returns the steps at which the bytes allocated have grown by an interval since
// the last snapshot (gperftools' HEAP_PROFILE_ALLOCATION_INTERVAL). The interval is the largest one
// that gives n snapshots.
func allocationSteps(im *image, n int) []int {
	first := im.grid.Index(behaviour.Dt)
	total := im.total()[first:]
	return shifted(first, widest(n, float64(total[len(total)-1].AllocBytes), func(interval float64) []int {
		last := float64(total[0].AllocBytes)
		var out []int
		for i, p := range total {
			if a := float64(p.AllocBytes); a > last+interval {
				last = a
				out = append(out, i)
			}
		}
		return out
	}))
}

// highWaterSteps returns the steps at which the bytes in use exceed their former maximum by an
// interval (HEAP_PROFILE_INUSE_INTERVAL). The interval is the largest one that gives n snapshots.
func highWaterSteps(im *image, n int) []int {
	first := im.grid.Index(behaviour.Dt)
	total := im.total()[first:]
	var most int64
	for _, p := range total {
		most = max(most, p.Bytes)
	}
	return shifted(first, widest(n, float64(most), func(interval float64) []int { return records(total, interval) }))
}

func records(total []memory.Point, interval float64) []int {
	var out []int
	record := total[0].Bytes
	for i, p := range total {
		if float64(p.Bytes) > float64(record)+interval {
			record = p.Bytes
			out = append(out, i)
		}
	}
	return out
}

// widest returns the first n steps for the largest interval up to high that gives at least n, or
// fewer if none does.
func widest(n int, high float64, steps func(interval float64) []int) []int {
	out := steps(random.Bisect(0, high, func(x float64) bool { return len(steps(x)) >= n }))
	return out[:min(n, len(out))]
}

func shifted(by int, steps []int) []int {
	for i := range steps {
		steps[i] += by
	}
	return steps
}
