package leaksim

import (
	"fmt"
	"math/rand/v2"

	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/program"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// Mode is a way in which a process is recorded.
type Mode struct {
	name      string
	format    format
	period    float64 // mean number of bytes between samples; 0 if everything is recorded
	accum     bool    // cumulative counts (jemalloc's prof_accum)
	trigger   trigger
	images    int     // number of process images: one more than restarts
	missing   float64 // share of the snapshots that are missing
	Truncated bool    // the process has more stacks than gperftools ≤2.15 can write
	copied    bool    // the files were copied without their times
	births    bool    // snapshots tell when their memory was allocated; behaviours are varied (behaviour/varied.go)
	collector collector
}

type format uint8

const (
	heapProfile format = iota // gperftools' heap profiler
	heapV2                    // gperftools' sampled heap
	jemalloc
	builtin // heaplapse's own engine: samples, written as scaled counts in the format of gperftools
	pprof   // a runtime with garbage collection: samples, written as scaled counts in pprof's format
	massif  // Valgrind's massif: exact bytes in use of the larger callers, all snapshots in one file
)

type trigger uint8

const (
	byTime trigger = iota
	byAllocation
	byHighWater
)

func (t trigger) String() string { return [...]string{"time", "allocated", "high-water"}[t] }

// Partial reports whether snapshots may omit functions that have memory in use.
func (m Mode) Partial() bool { return m.Truncated || m.format == massif }

// counted reports whether snapshots have cumulative counts.
func (m Mode) counted() bool { return m.accum || m.period == 0 && m.format != massif }

const (
	samplePeriod  = 512 << 10
	builtinPeriod = 128 << 10
)

// modes returns all modes. A process has the mode with the index of its seed, modulo their number.
func modes() []Mode {
	return []Mode{
		{name: "timer", images: 1},
		{name: "allocated", images: 1, trigger: byAllocation},
		{name: "jemalloc", images: 1, format: jemalloc, period: samplePeriod},
		{name: "timer", images: 1},
		{name: "high-water", images: 1, trigger: byHighWater},
		{name: "missing", images: 1, missing: 0.3},
		{name: "timer", images: 1},
		{name: "restarted", images: 2},
		{name: "jemalloc-accum", images: 1, format: jemalloc, period: samplePeriod, accum: true},
		{name: "copied", images: 1, copied: true},
		{name: "cut", images: 1, Truncated: true},
		{name: "heap_v2", images: 1, format: heapV2, period: samplePeriod},
		{name: "builtin", images: 1, format: builtin, period: builtinPeriod, accum: true},
		{name: "jemalloc-accum", images: 1, format: jemalloc, period: samplePeriod, accum: true},
		{name: "builtin", images: 1, format: builtin, period: builtinPeriod, accum: true},
		{name: "builtin", images: 1, format: builtin, period: builtinPeriod, accum: true},
	}
}

// bornModes returns the modes of processes whose snapshots tell when their memory was allocated: the built-in engine
// with a sample for each allocation, with its own period, and with a longer one.
func bornModes() []Mode {
	mode := Mode{name: "born-exact", images: 1, format: builtin, period: 0, accum: true, births: true}
	sampled, coarse := mode, mode
	sampled.name, sampled.period = "born", builtinPeriod
	coarse.name, coarse.period = "born-coarse", samplePeriod
	return []Mode{mode, sampled, coarse}
}

// site is a function that allocates, with its ground truth.
type site struct {
	name      string
	behaviour behaviour.Behaviour
	plan      behaviour.Blueprint
	stacks    [][]uint64 // one per call path, as relative addresses
	first     int        // index of its first unit; the others follow
}

// image is a process image, with the counts of each of its units after each step.
type image struct {
	grid    behaviour.Grid
	start   float64 // its time 0, in the time of the series
	before  int     // number of steps of the process before its own
	exits   bool    // has one more step, the exit
	sites   []site
	history [][]memory.Point   // by unit and step
	marks   []int              // steps for which classes are stored, in order
	cycles  []int              // steps at which garbage is collected, in order, if Mode.collector
	garbage []float64          // by mark, the share of what was freed that is not yet collected: see sawtooth
	classes [][][]memory.Class // by unit and mark
	births  [][][][]int64      // by unit and mark: see memory.Unit; nil if Mode.births is not set
	base    uint64             // address at which the program is mapped
}

// Process is a simulated process.
type Process struct {
	seed      uint64
	snapshots int
	Mode      Mode
	program   *program.Program
	images    []*image
	dust      []dust
	DustNames []string // names of the functions of the dust
	seconds   float64  // length of a span
	burn      float64  // time before the window, in spans
	length    float64  // total length of all process images, in spans
	sorted    bool     // rows are sorted by size, as gperftools ≤2.15 does
	eventful  bool     // the process may be starved, idle, …: see life
	life      life
	leakShare float64              // share of the functions that leak
	lost      map[int]map[int]bool // of the snapshots that were written, the units that they omit
	pick      func(*rand.Rand, float64) behaviour.Behaviour
	Population

	// Of a host of a fleet:
	host   uint64  // its number, from 1; 0 for another process
	from   float64 // time from its start to the recording, in spans, apart from burn
	labels bool    // some leaks depend on a label
	spares bool    // these leaks do not occur here
}

// Population selects what the processes of the seeds are like.
type Population string

// Populations.
const (
	// Plain is the population that the benchmark reports first.
	Plain Population = "plain"
	// Wide is one in which functions may have a second behaviour, see combined.go.
	Wide Population = "wide"
	// Small is one of small programs.
	Small Population = "small"
	// Traced is one of programs that run in Valgrind's massif.
	Traced Population = "traced"
	// Collected is one of runtimes with garbage collection, which write their profiles themselves.
	Collected Population = "collected"
)

// Streams of random numbers, one for each purpose. The index of an image, file or site is added to
// some of them.
const (
	streamProcess uint64 = iota << 32
	streamProgram
	streamDust
	streamTimer
	streamShots
	streamOrder
	streamBase
	streamParams
	streamChaos
	streamUnits
	streamLife
	streamCycles
	streamGarbage
	streamSize
	streamMassif
	streamUptime
	streamLabel
	streamSpared
	streamBegin
	streamTheme
)

const (
	// leakShare is the share of functions that leak, in a process with leaks. A quarter of them leak
	// less than LeastLeak.
	leakShare = 0.08
	// smallSize is the largest number of functions of a small program.
	smallSize = 80
	// smallLeakShare is the same in a small program: of the functions of the recordings in testdata/real
	// that grew by LeastLeak, half leak.
	smallLeakShare = 0.2
	// cleanShare is the share of processes without leaks.
	cleanShare = 0.25
)

// Simulate simulates the process of a seed with the given number of snapshots.
func Simulate(seed uint64, snapshots int, population Population) *Process {
	all := modes()
	switch population {
	case Traced:
		all = tracedModes()
	case Collected:
		all = collectedModes()
	}
	return simulate(seed, snapshots, population, all)
}

// SimulateBorn is like [Simulate], of a process whose snapshots tell when their memory was allocated.
func SimulateBorn(seed uint64, snapshots int, population Population) *Process {
	return simulate(seed, snapshots, population, bornModes())
}

// simulate simulates a process with the mode of its seed.
func simulate(seed uint64, snapshots int, population Population, all []Mode) *Process {
	p := &Process{
		seed: seed, snapshots: snapshots, Mode: all[seed%uint64(len(all))],
		pick: behaviour.Mixture, Population: population, eventful: true,
	}
	switch population {
	case Wide:
		p.pick = behaviour.WideMixture
	case Small:
		p.pick = behaviour.SmallMixture(random.New(p.id(), streamTheme))
	}
	if p.Mode.births {
		p.pick = behaviour.VariedMixture(p.pick)
	}
	p.simulate(p.size())
	return p
}

// size returns the least and the greatest number of functions of the process.
func (p *Process) size() (least, most int) {
	largest := map[Population]float64{Small: smallSize, Traced: 300}[p.Population]
	if largest == 0 {
		return 150, 300
	}
	n := int(random.LogUniform(random.New(p.id(), streamSize), 2, largest))
	return n, n
}

// simulate simulates a process of least to most functions.
func (p *Process) simulate(least, most int) {
	id := p.id()
	rng := random.New(id, streamProcess)
	shortest := 600.0
	if p.Mode.format == pprof {
		shortest = 60 // a person scrapes the service
	}
	p.seconds, p.sorted = random.LogUniform(rng, shortest, 7*86400), random.Chance(rng, 0.5)
	sites := least + rng.IntN(most-least+1)
	burn := 0.0
	if random.Chance(rng, p.runsBefore()) {
		burn = random.Uniform(rng, 0.03, 0.5)
	}
	p.burn = burn
	all := lifetimes(rng, p.Mode.images, burn)
	all[0].End += p.from
	for _, g := range all {
		p.length += g.End
	}
	rng = random.New(id, streamLife)
	if p.leakShare = leakShare; p.Population == Small || p.Population == Traced && sites <= smallSize {
		p.leakShare = smallLeakShare
	}
	if random.Chance(rng, cleanShare) {
		p.leakShare = 0
	}
	p.life = newLife(rng, p.Mode, p.eventful, burn, p.length)
	if p.host > 0 {
		p.life = p.life.onHost(p)
	}
	for k, g := range all {
		p.images = append(p.images, p.run(id, k, g, sites))
	}
	if p.Mode.Truncated {
		p.addDust(random.New(id, streamDust))
	}
}

// runsBefore is the share of the processes that run for a while before they are recorded. massif records its
// programs from their start, and so are most small programs.
func (p *Process) runsBefore() float64 {
	switch p.Population {
	case Traced:
		return 0
	case Small:
		return 0.25
	}
	return 0.5
}

// String names the process in messages.
func (p *Process) String() string { return fmt.Sprintf("seed %d, %d snapshots", p.seed, p.snapshots) }

// Dir is a name of a directory for the snapshots of the process.
func (p *Process) Dir() string {
	name := string(p.Population)
	if p.Population == Plain {
		name = "seed"
	}
	return fmt.Sprintf("%s%d-%d", name, p.seed, p.snapshots)
}

// id is the seed of all random numbers of the process. It depends on the number of snapshots.
func (p *Process) id() uint64 { return p.seed*1000 + uint64(p.snapshots) }

// lifetimes returns the lifetimes of n process images, at most two. One lasts a whole span, the
// other is shorter.
func lifetimes(rng *rand.Rand, n int, burn float64) []behaviour.Grid {
	if n == 1 {
		return []behaviour.Grid{{Burn: burn, End: 1}}
	}
	short := random.Uniform(rng, 0.2, 0.9)
	if random.Chance(rng, 0.5) {
		return []behaviour.Grid{{Burn: burn, End: short}, {End: 1}}
	}
	return []behaviour.Grid{{Burn: burn, End: 1}, {End: short}}
}

// run simulates process image k. All images have the same functions with the same parameters.
func (p *Process) run(id uint64, k int, g behaviour.Grid, sites int) *image {
	own := p.own()
	base := 0x55d000000000 + random.New(own, streamBase+uint64(k)).Uint64N(1<<20)<<12
	im := &image{grid: g, exits: p.life.exits, base: base}
	for _, earlier := range p.images {
		im.start += earlier.grid.End
		im.before += earlier.grid.Steps()
	}
	p.program = program.NewProgram(random.New(id, streamProgram))
	im.sites = p.drawSites(random.New(id, streamParams), random.New(own, streamChaos+uint64(k)), g, im.before, sites)
	if p.Mode.period > 0 || p.Mode.births {
		im.cycles = p.drawCycles(random.New(own, streamCycles+uint64(k)), im)
		im.marks = p.marksOf(im)
	}
	for s := range im.sites {
		im.runSite(&im.sites[s], random.New(own, streamUnits+uint64(k)<<16+uint64(s)), p.Mode.period, p.Mode.births)
	}
	if p.Mode.collector == sawtooth {
		im.garbage = garbage(random.New(own, streamGarbage+uint64(k)), im)
	}
	return im
}

// drawSites draws n functions, their behaviours and their stacks. before is the number of steps of the
// process before the image.
func (p *Process) drawSites(params, chaos *rand.Rand, g behaviour.Grid, before, n int) []site {
	var out []site
	unit := 0
	sc := behaviour.NewScene(params)
	sc.StartUp, sc.Varied = p.life.start, p.Mode.births
	sc.Activity = func(i int) float64 { return p.life.activityAt(before + i) }
	labels, begin := random.New(p.id(), streamLabel), random.New(p.id(), streamBegin)
	atOnce := 0.0 // share of the functions that run before the first snapshot, if that is the start
	if random.Chance(begin, 0.3) {
		atOnce = random.Uniform(begin, 0, 0.3)
	}
	for len(out) < n {
		b := p.pick(params, p.leakShare)
		spared := b.Leak && p.spared(labels)
		d := behaviour.NewDraw(params, chaos, g, sc, b.Leak)
		plans := b.Plans(d)
		if p.Population == Wide {
			plans = behaviour.WithSecond(d, b, plans)
		}
		plans = behaviour.WithStartUp(d, b, plans)
		for _, plan := range plans {
			if p.life.begins {
				plan.Begin = behaviour.Begin(begin, atOnce)
			}
			s := newSite(p.program, b, plan, out)
			if spared {
				rng := random.New(p.id(), streamSpared+uint64(len(out)))
				other := behaviour.Mixture(rng, 0)
				s.become(other, other.Plans(behaviour.NewDraw(rng, chaos, g, sc, false))[0])
			}
			s.first = unit
			unit += len(s.plan.Paths)
			out = append(out, s)
		}
	}
	return out
}

// newSite draws the name and the call paths of a function. All paths are different.
func newSite(prog *program.Program, b behaviour.Behaviour, plan behaviour.Blueprint, before []site) site {
	f := prog.NewFunction()
	s := site{name: prog.Names[f], behaviour: b, plan: plan}
	container := random.Chance(prog.Rng, 0.4)
	callers := prog.Chain()
	if plan.Sibling {
		stack := before[len(before)-1].stacks[0]
		callers = stack[len(stack)-min(3, len(stack)-1):]
	}
	seen := map[string]bool{}
	for range plan.Paths {
		stack := prog.Stack(f, container, callers)
		for seen[stackText(stack, 0)] {
			stack = prog.Stack(f, container, prog.Chain())
		}
		seen[stackText(stack, 0)] = true
		s.stacks = append(s.stacks, stack)
		if !plan.Sibling && random.Chance(prog.Rng, 0.7) {
			callers = prog.Chain()
		}
	}
	return s
}

// runSite simulates the stacks of a function.
func (im *image) runSite(s *site, rng *rand.Rand, period float64, births bool) {
	r := s.plan.Run(rng, im.grid, period, behaviour.Watch{Marks: im.marks, Births: births}, im.exits)
	im.history, im.classes = append(im.history, r.History...), append(im.classes, r.Classes...)
	im.births = append(im.births, r.Births...)
}

// texts returns the stacks of all units in the format of the snapshots.
func (im *image) texts() []string {
	var out []string
	for i := range im.sites {
		for _, s := range im.sites[i].stacks {
			out = append(out, stackText(s, im.base))
		}
	}
	return out
}

// total returns the sum of all units at each step.
func (im *image) total() []memory.Point {
	sum := make([]memory.Point, im.grid.Steps())
	for _, h := range im.history {
		for i, p := range h[:len(sum)] {
			sum[i] = sum[i].Add(p)
		}
	}
	return sum
}

// siteAt returns the counts of a function at a step: the sum of its stacks.
func (im *image) siteAt(s *site, step int) memory.Point {
	var sum memory.Point
	for k := range s.stacks {
		sum = sum.Add(im.history[s.first+k][step])
	}
	return sum
}
