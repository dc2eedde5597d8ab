package leaksim

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// life is what happens to a process as a whole. Its functions, loads and lifetimes follow the
// process's own time, which is the work that it does; the snapshots follow the wall clock.
type life struct {
	kind string // see Function.Life
	// wall is the wall time at the end of each step of the whole process, in spans. It differs from
	// the process's own time if other programs take processor time away from it (starved).
	wall []float64
	// activity is the load at each of these steps, relative to the mean; nil for 1. It is low while
	// the process is idle, and follows the load of the process.
	activity []float64
	// start is the length of the start-up phase, in which many functions allocate; 0 for none.
	start float64
	// begins reports whether the first snapshot is taken as the process starts, when it has allocated
	// next to nothing.
	begins bool
	// exits reports whether the last snapshot is taken at the exit, when memory has been freed.
	exits bool
	// manifest reports whether a recorder wrote a manifest, with times, triggers and processor time.
	manifest bool
	// cores is the number of processors that the process uses when it is fully active.
	cores float64
}

// Shares of the processes that live in each way.
const (
	starvedShare  = 0.3
	idleShare     = 0.2
	startUpShare  = 0.25
	exitShare     = 0.4
	recorderShare = 0.5
	// loadedShare is the share of those that are neither starved nor idle whose load changes as a whole.
	loadedShare = 0.25
)

// beginsWithProcess reports whether the recording of a process begins with it, rather than later. massif and the
// timers of heaplapse record and of gperftools take a snapshot at once; jemalloc takes the first one after so
// many bytes, unless a recorder asks for it.
func (m Mode) beginsWithProcess(rng *rand.Rand) bool {
	switch {
	case m.format == massif:
		return true
	case m.format == pprof || m.trigger != byTime:
		return false
	}
	return m.format != jemalloc || random.Chance(rng, recorderShare)
}

// newLife draws the life of a process of one or several images, whose total length is in spans. If it
// is not eventful, the process works evenly.
func newLife(rng *rand.Rand, m Mode, eventful bool, burn, length float64) life {
	steps := int(math.Round((burn+length)*behaviour.StepsPerSpan)) + 1
	l := life{wall: make([]float64, steps), cores: random.LogUniform(rng, 0.02, 2)}
	happens := func(share float64) bool { return random.Chance(rng, share) && eventful }
	starved, idle := happens(starvedShare), happens(idleShare)
	startUp, exits, recorder := happens(startUpShare), happens(exitShare), happens(recorderShare)
	pace := behaviour.Flat
	l.kind = "even"
	switch {
	case starved:
		l.kind = "starved"
		pace = unevenly(rng)
	case idle:
		l.kind = "idle"
		active := unevenly(rng)
		l.activity = make([]float64, steps)
		for i := range l.activity {
			l.activity[i] = active(float64(i+1)*behaviour.Dt - burn)
		}
	}
	at, inWindow := 0.0, 0.0
	for i := range l.wall {
		t := float64(i+1)*behaviour.Dt - burn
		took := behaviour.Dt / pace(t)
		at += took
		l.wall[i] = at
		if t > 0 && t <= length+behaviour.Dt/2 {
			inWindow += took
		}
	}
	scale := length / inWindow
	for i := range l.wall {
		l.wall[i] *= scale
	}
	if m.images == 1 {
		if startUp && burn == 0 {
			l.start = random.LogUniform(rng, 0.01, 0.2)
			if l.kind == "even" {
				l.kind = "start-up"
			}
		}
		l.begins = burn == 0 && m.beginsWithProcess(rng)
		l.exits = exits && m.trigger == byTime && m.missing == 0 && m.format != pprof && m.format != massif
		l.manifest = (recorder || m.format == builtin) && !m.copied && m.format != pprof && m.format != massif
	}
	// Drawn last, so that the other processes of a seed are those of the versions before.
	if happens(loadedShare) && !starved && !idle {
		l.setLoad(rng, burn, length)
	}
	return l
}

// setLoad draws a load that changes for all functions of the process: it rises to the end, falls, or has bursts. Its
// mean is 1.
func (l *life) setLoad(rng *rand.Rand, burn, length float64) {
	kind, load := loadOf(rng, burn, length)
	l.kind, l.activity = kind, make([]float64, len(l.wall))
	var sum float64
	for i := range l.activity {
		l.activity[i] = load(float64(i+1)*behaviour.Dt - burn)
		sum += l.activity[i]
	}
	for i := range l.activity {
		l.activity[i] *= float64(len(l.activity)) / sum
	}
}

// loadOf draws the load of a process as a function of the time, and names its kind. Times are in spans: the process
// starts at -burn and ends at length.
func loadOf(rng *rand.Rand, burn, length float64) (kind string, load func(t float64) float64) {
	factor := random.LogUniform(rng, 1.3, 20)
	from, to := random.Uniform(rng, -burn, 0.4*length), random.Uniform(rng, 0.9, 1.3)*length
	switch rng.IntN(4) {
	case 0:
		return "load-falling", behaviour.RampCurve(factor, 1, from, to)
	case 1:
		return "load-bursts", bursts(rng, factor, burn, length)
	}
	return "load-rising", behaviour.RampCurve(1, factor, from, to)
}

// bursts draws a load that is higher by a factor in 2 to 20 intervals of a span.
func bursts(rng *rand.Rand, factor, burn, length float64) func(t float64) float64 {
	perSpan := random.LogUniform(rng, 2, 20)
	mean := random.Uniform(rng, 0.1, 0.5) / perSpan
	var ends []float64 // of the quiet intervals and of the bursts, in turn
	for t := -burn; t < length; {
		quiet, busy := (1/perSpan-mean)*rng.ExpFloat64(), mean*rng.ExpFloat64()
		ends = append(ends, t+quiet, t+quiet+busy)
		t += quiet + busy
	}
	return func(t float64) float64 {
		i, _ := slices.BinarySearch(ends, t)
		if i%2 == 1 {
			return factor
		}
		return 1
	}
}

// unevenly draws how active a process is at each time: it varies at random, changes once or twice,
// or follows a cycle. The mean is about 1.
func unevenly(rng *rand.Rand) func(t float64) float64 {
	low := random.LogUniform(rng, 0.04, 0.7)
	switch rng.IntN(4) {
	case 0:
		spread, memory := random.Uniform(rng, 0.2, 1), math.Exp(-behaviour.Dt/random.LogUniform(rng, 0.01, 0.3))
		x, walk := rng.NormFloat64(), map[int]float64{}
		for i := -behaviour.StepsPerSpan; i <= 3*behaviour.StepsPerSpan; i++ {
			x = memory*x + math.Sqrt(1-memory*memory)*rng.NormFloat64()
			walk[i] = math.Exp(spread*x - spread*spread/2)
		}
		return func(t float64) float64 { return max(0.02, walk[int(math.Round(t*behaviour.StepsPerSpan))]) }
	case 1:
		from, length := random.Uniform(rng, -0.1, 0.95), random.Uniform(rng, 0.1, 0.8)
		return func(t float64) float64 {
			if t >= from && t < from+length {
				return low
			}
			return 1
		}
	case 2:
		begin, end := 1.0, low
		if random.Chance(rng, 0.5) {
			begin, end = end, begin
		}
		from := random.Uniform(rng, -0.2, 0.8)
		return behaviour.RampCurve(begin, end, from, from+random.Uniform(rng, 0.02, 0.8))
	}
	curve := behaviour.Wave(random.Uniform(rng, 0.3, 0.95), random.Uniform(rng, 0.2, 1.5), rng.Float64())
	return func(t float64) float64 { return max(0.02, curve(t)) }
}

// wallAt returns the wall time since the start of the process at which a step ends, in spans.
func (l *life) wallAt(step int) float64 { return l.wall[min(max(step, 0), len(l.wall)-1)] }

// stepAt returns the first step that ends at or after a wall time since the start of the process.
func (l *life) stepAt(wall float64) int {
	low, high := 0, len(l.wall)-1
	for low < high {
		if middle := (low + high) / 2; l.wall[middle] < wall {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// activityAt returns the relative load at a step.
func (l *life) activityAt(step int) float64 {
	if l.activity == nil {
		return 1
	}
	return l.activity[min(max(step, 0), len(l.activity)-1)]
}

// processorTime returns the processor time that the process has used at the end of each step, in
// spans. Some of it does not depend on the load.
func (l *life) processorTime(rng *rand.Rand) []float64 {
	out := make([]float64, len(l.wall))
	base, noise := random.Uniform(rng, 0.01, 0.2), random.Uniform(rng, 0, 0.3)
	used := 0.0
	for i := range out {
		used += behaviour.Dt * l.cores * (base + (1-base)*l.activityAt(i)) * math.Exp(noise*rng.NormFloat64())
		out[i] = used
	}
	return out
}
