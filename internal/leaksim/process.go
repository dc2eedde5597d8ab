package leaksim

import (
	"math/rand/v2"
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
}

type format uint8

const (
	heapProfile format = iota // gperftools' heap profiler
	heapV2                    // gperftools' sampled heap
	jemalloc
)

type trigger uint8

const (
	byTime trigger = iota
	byAllocation
	byHighWater
)

const samplePeriod = 512 << 10

// modes returns all modes. A process has the mode with the index of its seed, modulo their number.
// A quarter are plain.
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
	}
}

// site is a function that allocates, with its ground truth.
type site struct {
	name      string
	behaviour Behaviour
	plan      blueprint
	stacks    [][]uint64 // one per call path, as relative addresses
	first     int        // index of its first unit; the others follow
}

// image is a process image, with the counts of each of its units after each step.
type image struct {
	grid    grid
	start   float64 // its time 0, in the time of the series
	sites   []site
	history [][]point   // by unit and step
	marks   []int       // steps for which classes are stored
	classes [][][]class // by unit and mark
	base    uint64      // address at which the program is mapped
}

// Process is a simulated process.
type Process struct {
	seed      uint64
	snapshots int
	Mode      Mode
	program   *program
	images    []*image
	dust      []dust
	DustNames []string // names of the functions of the dust
	seconds   float64  // length of a span
	length    float64  // total length of all process images, in spans
	sorted    bool     // rows are sorted by size, as gperftools ≤2.15 does
	pick      func(*rand.Rand) Behaviour
	wide      bool // functions may have a second behaviour, see combined.go
}

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
)

// leakShare is the share of functions that leak. A quarter of them leak less than LeastLeak.
const leakShare = 0.063

// Simulate simulates the process of a seed with the given number of snapshots. wide selects the
// wide population, in which functions may have a second behaviour.
func Simulate(seed uint64, snapshots int, wide bool) *Process {
	all := modes()
	p := &Process{seed: seed, snapshots: snapshots, Mode: all[seed%uint64(len(all))], pick: mixture, wide: wide}
	if wide {
		p.pick = wideMixture
	}
	p.simulate(150, 300)
	return p
}

// simulate simulates a process of least to most functions.
func (p *Process) simulate(least, most int) {
	id := p.id()
	rng := NewRand(id, streamProcess)
	p.seconds, p.sorted = logUniform(rng, 600, 7*86400), Chance(rng, 0.5)
	sites := least + rng.IntN(most-least+1)
	burn := 0.0
	if Chance(rng, 0.5) {
		burn = uniform(rng, 0.03, 0.5)
	}
	all := lifetimes(rng, p.Mode.images, burn)
	for _, g := range all {
		p.length += g.end
	}
	for k, g := range all {
		p.images = append(p.images, p.run(id, k, g, sites))
	}
	if p.Mode.Truncated {
		p.addDust(NewRand(id, streamDust))
	}
}

// id is the seed of all random numbers of the process. It depends on the number of snapshots.
func (p *Process) id() uint64 { return p.seed*1000 + uint64(p.snapshots) }

// lifetimes returns the lifetimes of n process images, at most two. One lasts a whole span, the
// other is shorter.
func lifetimes(rng *rand.Rand, n int, burn float64) []grid {
	if n == 1 {
		return []grid{{burn: burn, end: 1}}
	}
	short := uniform(rng, 0.2, 0.9)
	if Chance(rng, 0.5) {
		return []grid{{burn: burn, end: short}, {end: 1}}
	}
	return []grid{{burn: burn, end: 1}, {end: short}}
}

// run simulates process image k. All images have the same functions with the same parameters.
func (p *Process) run(id uint64, k int, g grid, sites int) *image {
	im := &image{grid: g, base: 0x55d000000000 + NewRand(id, streamBase+uint64(k)).Uint64N(1<<20)<<12}
	for _, earlier := range p.images {
		im.start += earlier.grid.end
	}
	p.program = newProgram(NewRand(id, streamProgram))
	im.sites = p.drawSites(NewRand(id, streamParams), NewRand(id, streamChaos+uint64(k)), g, sites)
	if p.Mode.period > 0 {
		im.marks = p.timerSteps(im)
	}
	for s := range im.sites {
		im.runSite(&im.sites[s], NewRand(id, streamUnits+uint64(k)<<16+uint64(s)), p.Mode.period)
	}
	return im
}

// drawSites draws n functions, their behaviours and their stacks.
func (p *Process) drawSites(params, chaos *rand.Rand, g grid, n int) []site {
	var out []site
	unit := 0
	sc := newScene(params)
	for len(out) < n {
		b := p.pick(params)
		d := newDraw(params, chaos, g, sc, b.leak)
		plans := b.plans(d)
		if p.wide {
			plans = withSecond(d, b, plans)
		}
		for _, plan := range plans {
			s := newSite(p.program, b, plan, out)
			s.first = unit
			unit += len(plan.paths)
			out = append(out, s)
		}
	}
	return out
}

// mixture draws a behaviour of the benchmark.
func mixture(rng *rand.Rand) Behaviour { return leakOr(rng, harmless()) }

// leakOr draws a leak or one of the others.
func leakOr(rng *rand.Rand, others []Behaviour) Behaviour {
	if Chance(rng, leakShare) {
		return byWeight(rng, leaks())
	}
	return byWeight(rng, others)
}

func byWeight(rng *rand.Rand, list []Behaviour) Behaviour {
	var sum float64
	for _, b := range list {
		sum += b.weight
	}
	x := sum * rng.Float64()
	for _, b := range list {
		if x -= b.weight; x < 0 {
			return b
		}
	}
	return list[len(list)-1]
}

// newSite draws the name and the call paths of a function. All paths are different.
func newSite(prog *program, b Behaviour, plan blueprint, before []site) site {
	f := prog.newFunction()
	s := site{name: prog.names[f], behaviour: b, plan: plan}
	container := Chance(prog.rng, 0.4)
	callers := prog.chain()
	if plan.sibling {
		stack := before[len(before)-1].stacks[0]
		callers = stack[len(stack)-min(3, len(stack)-1):]
	}
	seen := map[string]bool{}
	for range plan.paths {
		stack := prog.stack(f, container, callers)
		for seen[stackText(stack, 0)] {
			stack = prog.stack(f, container, prog.chain())
		}
		seen[stackText(stack, 0)] = true
		s.stacks = append(s.stacks, stack)
		if !plan.sibling && Chance(prog.rng, 0.7) {
			callers = prog.chain()
		}
	}
	return s
}

// runSite simulates the stacks of a function.
func (im *image) runSite(s *site, rng *rand.Rand, period float64) {
	n := im.grid.steps()
	for _, act := range s.plan.paths {
		u := &unit{rng: rng, period: period, shares: s.plan.shares}
		for _, size := range s.plan.sizes {
			u.class(size)
		}
		history := make([]point, n)
		var kept [][]class
		for i := range n {
			act(u, i, im.grid.at(i))
			history[i] = u.point()
			if len(kept) < len(im.marks) && im.marks[len(kept)] == i {
				kept = append(kept, append([]class(nil), u.classes...))
			}
		}
		im.history = append(im.history, history)
		im.classes = append(im.classes, kept)
	}
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
func (im *image) total() []point {
	sum := make([]point, im.grid.steps())
	for _, h := range im.history {
		for i, p := range h {
			sum[i] = sum[i].add(p)
		}
	}
	return sum
}

// siteAt returns the counts of a function at a step: the sum of its stacks.
func (im *image) siteAt(s *site, step int) point {
	var sum point
	for k := range s.stacks {
		sum = sum.add(im.history[s.first+k][step])
	}
	return sum
}
