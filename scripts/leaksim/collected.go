package leaksim

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/program"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// collector is what the garbage collector of a runtime does to its profiles.
type collector uint8

const (
	// noCollector frees memory at once, or collects garbage for each profile.
	noCollector collector = iota
	// lagging is Go's: a profile shows the state at the end of the last but one cycle, with allocations
	// (runtime/mprof.go).
	lagging
	// sawtooth is V8's: an object stays in the profile until it is collected. Most young ones are
	// collected soon, the others when the heap has grown by a factor.
	sawtooth
)

// collectedModes returns the modes of the population Collected.
func collectedModes() []Mode {
	return []Mode{
		{name: "go", images: 1, format: pprof, period: samplePeriod, accum: true},
		{name: "go-lagging", images: 1, format: pprof, period: samplePeriod, accum: true, collector: lagging},
		{name: "v8", images: 1, format: pprof, period: samplePeriod, collector: sawtooth},
	}
}

// longestCycle is the time after which Go collects garbage in any case, in seconds.
const longestCycle = 120

// drawCycles returns the steps at which garbage is collected. V8 collects the garbage of a program that
// allocates little after longer times than Go.
func (p *Process) drawCycles(rng *rand.Rand, im *image) (cycles []int) {
	longest := float64(longestCycle)
	switch p.Mode.collector {
	case noCollector:
		return nil
	case sawtooth:
		longest *= 15
	}
	mean := random.LogUniform(rng, 1, longest) / p.seconds * behaviour.StepsPerSpan
	for at := 0.0; at < float64(im.grid.Steps()); at += mean * random.Uniform(rng, 0.7, 1.3) {
		cycles = append(cycles, int(at))
	}
	return slices.Compact(cycles)
}

// cycleBefore returns the step of the last cycle that began at or before a step, or of one of those
// before it.
func (im *image) cycleBefore(step, earlier int) int {
	i, found := slices.BinarySearch(im.cycles, step)
	if !found {
		i--
	}
	return im.cycles[max(0, i-earlier)]
}

// shownAt returns the step whose state a snapshot shows.
func (p *Process) shownAt(im *image, step int) int {
	if p.Mode.collector == lagging {
		return im.cycleBefore(step, 1)
	}
	return step
}

// marksOf returns the steps for which classes are stored.
func (p *Process) marksOf(im *image) (marks []int) {
	for _, step := range p.stepsOf(im) {
		marks = append(marks, p.shownAt(im, step))
		if p.Mode.collector == sawtooth {
			marks = append(marks, im.cycleBefore(step, 0))
		}
	}
	if im.exits {
		marks = append(marks, im.grid.Steps())
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}

// markOf returns the index of a step in the marks; 0 if the mode stores no classes.
func (im *image) markOf(step int) int {
	i, _ := slices.BinarySearch(im.marks, step)
	return i
}

// classes returns the classes of a unit as a snapshot shows them: with the garbage that is not yet
// collected.
func (p *Process) classes(unit int, s shot) []memory.Class {
	im := s.image
	shown := im.classes[unit][s.mark]
	if p.Mode.collector != sawtooth {
		return shown
	}
	collected := im.classes[unit][im.markOf(im.cycleBefore(s.step, 0))]
	rng := random.New(p.id(), streamGarbage+uint64(unit+1)<<12+uint64(s.mark))
	out := slices.Clone(shown)
	for i := range out {
		var before memory.Class
		if i < len(collected) {
			before = collected[i]
		}
		freed := out[i].SampledAllocs - before.SampledAllocs - (out[i].Sampled - before.Sampled)
		out[i].Sampled += random.Binomial(rng, freed, im.garbage[s.mark])
	}
	return out
}

// garbage returns, for each mark, the share of what was freed since the last cycle that is still in the
// heap. The heap grows by a factor at most before garbage is collected, so that a program that frees
// much has more cycles.
func garbage(rng *rand.Rand, im *image) (out []float64) {
	share, factor := random.LogUniform(rng, 0.02, 0.5), random.Uniform(rng, 0.3, 1.5)
	total := im.total()
	for _, step := range im.marks {
		now, then := total[step], total[im.cycleBefore(step, 0)]
		held := share * float64(now.AllocBytes-then.AllocBytes-(now.Bytes-then.Bytes))
		limit := factor * float64(now.Bytes)
		kept := 1.0 // of what is held without a limit
		if held > limit {
			_, phase := math.Modf(held / limit)
			kept = phase * limit / held
		}
		out = append(out, share*kept)
	}
	return out
}

// pprof returns the profile that a runtime writes. The addresses of its locations are those of the
// calls.
func (p *Process) pprof(s shot) string {
	im := s.image
	out := &profile.Profile{
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: samplePeriod, TimeNanos: s.time.UnixNano(),
		Mapping: []*profile.Mapping{{ID: 1, Start: im.base, Limit: im.base + p.program.Size(), File: program.ProgramPath}},
	}
	types := []string{"inuse_objects", "inuse_space"}
	if p.Mode.accum {
		types = append(types, "alloc_objects", "alloc_space")
	}
	for i, name := range types {
		out.SampleType = append(out.SampleType, &profile.ValueType{Type: name, Unit: []string{"count", "bytes"}[i%2]})
	}
	locations := map[uint64]*profile.Location{}
	unit := 0
	for i := range im.sites {
		for _, stack := range im.sites[i].stacks {
			r := p.scaled(unit, s)
			unit++
			if r.Live == 0 && (!p.Mode.accum || r.Allocs == 0) {
				continue
			}
			sample := &profile.Sample{Value: []int64{r.Live, r.Bytes, r.Allocs, r.AllocBytes}[:len(types)]}
			for _, a := range stack {
				if locations[a] == nil {
					locations[a] = &profile.Location{ID: uint64(len(locations) + 1), Mapping: out.Mapping[0], Address: im.base + a - 1}
					out.Location = append(out.Location, locations[a])
				}
				sample.Location = append(sample.Location, locations[a])
			}
			out.Sample = append(out.Sample, sample)
		}
	}
	var b bytes.Buffer
	if err := out.WriteUncompressed(&b); err != nil {
		panic(err) // the profile is made here
	}
	return b.String()
}
