package behaviour

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// The unit of time is the span: 0 is the start of the observed window and 1 its end. A process may
// start before 0.

// StepsPerSpan is the number of simulated steps in a span.
const StepsPerSpan = 960

// Dt is the length of a step, in spans.
const Dt = 1.0 / StepsPerSpan

// Grid is the lifetime of a process image: from −burn to end.
type Grid struct{ Burn, End float64 }

// Steps returns the number of steps.
func (g Grid) Steps() int { return int(math.Round((g.Burn + g.End) * StepsPerSpan)) }

// At returns the time at the end of step i.
func (g Grid) At(i int) float64 { return float64(i+1)*Dt - g.Burn }

// Index returns the last step that ends at or before t.
func (g Grid) Index(t float64) int {
	return min(g.Steps()-1, max(0, int((t+g.Burn)*StepsPerSpan+1e-6)-1))
}

// actor allocates and frees objects of a stack in step i, which ends at time t.
type actor func(u *memory.Unit, i int, t float64)

// Blueprint defines a function that allocates: the actors of its call paths and the sizes of its
// objects.
type Blueprint struct {
	Paths   []actor
	Sizes   []int64
	shares  []float64 // share of each size among the objects
	Sibling bool      // the function has the same callers as that of the previous blueprint
	Begin   int       // step of the process in which the function runs first, from 0: its step 0
}

// Record is what Run records of the call paths of a function.
type Record struct {
	History [][]memory.Point   // by path and step
	Classes [][][]memory.Class // by path and mark
	Births  [][][][]int64      // by path and mark: see [memory.Unit]; nil if not asked for
}

// Watch is what Run records, apart from the counts after each step: at some steps (marks) the classes and, if Births
// is set, when their objects were allocated.
type Watch struct {
	Marks  []int
	Births bool
}

// Run simulates the call paths of a function. If the process exits, there is one more step, in which memory is
// freed.
func (b *Blueprint) Run(rng *rand.Rand, g Grid, period float64, w Watch, exits bool) (r Record) {
	n := g.Steps()
	for _, act := range b.Paths {
		u := &memory.Unit{Rng: rng, Period: period, Shares: b.shares}
		for _, size := range b.Sizes {
			u.Class(size)
		}
		var counts []memory.Point
		var kept [][]memory.Class
		var births [][][]int64
		for i := range n + 1 {
			switch {
			case i < b.Begin:
			case i < n:
				act(u, i-b.Begin, g.At(i-b.Begin))
			case exits:
				u.Exit()
			default:
				continue
			}
			counts = append(counts, u.Point())
			if len(kept) == len(w.Marks) || w.Marks[len(kept)] != i {
				continue
			}
			kept = append(kept, slices.Clone(u.Classes))
			if w.Births {
				births = append(births, cloned(u.Births))
				u.Interval++
			}
		}
		r.History, r.Classes = append(r.History, counts), append(r.Classes, kept)
		if w.Births {
			r.Births = append(r.Births, births)
		}
	}
	return r
}

func cloned(table [][]int64) [][]int64 {
	out := make([][]int64, len(table))
	for i, row := range table {
		out[i] = slices.Clone(row)
	}
	return out
}

// Begin draws the step in which a function runs first, in a process that is recorded from its start on. Until
// then it has not allocated. atOnce is the share of the functions for which it is the first step.
func Begin(rng *rand.Rand, atOnce float64) int {
	const latest = 12
	if random.Chance(rng, atOnce) {
		return 0
	}
	return int(random.LogUniform(rng, 1, latest))
}

// scene is what all functions of a process have in common.
type scene struct {
	rise, top float64           // when the load of the whole process rises
	StartUp   float64           // length of the start-up phase; 0 for none
	Activity  func(int) float64 // relative load at a step
	Varied    bool              // births are recorded, and behaviours vary more: see varied.go
}

// NewScene draws when the load of a process rises.
func NewScene(params *rand.Rand) scene {
	rise := random.Uniform(params, -0.3, 0.6)
	top := min(1.15, rise+random.Uniform(params, 0.15, 1.4))
	return scene{rise: rise, top: top, Activity: func(int) float64 { return 1 }}
}

// draw draws the parameters of a behaviour. Properties of the program come from params, which is
// the same after a restart. Events come from chaos, which is not.
type draw struct {
	params, chaos *rand.Rand
	grid          Grid
	scene         scene
	bytes         float64 // bytes in use, or leaked per span
	sizes         []int64
	shares        []float64
}

// NewDraw draws the size of a function and those of its objects.
func NewDraw(params, chaos *rand.Rand, g Grid, sc scene, leak bool) *draw {
	d := &draw{params: params, chaos: chaos, grid: g, scene: sc}
	if leak {
		d.bytes = random.Clamp(random.LogNormal(params, 7<<20, 1.5), 512<<10, 2<<30)
	} else {
		d.bytes = random.Clamp(random.LogNormal(params, 800<<10, 2.2), 2<<10, 2<<30)
	}
	d.drawSizes()
	return d
}

// drawSizes draws one to four sizes of objects, usually small ones.
func (d *draw) drawSizes() {
	median := random.LogNormal(d.params, 180, 1.6)
	if random.Chance(d.params, 0.1) {
		median = random.LogNormal(d.params, 100<<10, 1.4)
	}
	median = random.Clamp(median, 8, d.bytes/3+8)
	n, spread := 1, 0.0
	if random.Chance(d.params, 0.5) {
		n, spread = 2+d.params.IntN(3), random.Uniform(d.params, 0.2, 1)
	}
	d.setSizes(n, median, spread)
}

// setSizes draws n different sizes and their shares.
func (d *draw) setSizes(n int, median, spread float64) {
	d.sizes, d.shares = nil, nil
	seen := map[int64]bool{}
	var sum float64
	for range n {
		size := int64(random.Clamp(random.LogNormal(d.params, median, spread), 8, 1<<30))
		for seen[size] {
			size += 8
		}
		seen[size] = true
		d.sizes = append(d.sizes, size)
		d.shares = append(d.shares, d.params.ExpFloat64()+0.1)
		sum += d.shares[len(d.shares)-1]
	}
	for i := range d.shares {
		d.shares[i] /= sum
	}
}

// objects returns the number of objects that have the given total size.
func (d *draw) objects(bytes float64) float64 {
	var mean float64
	for i, s := range d.sizes {
		mean += float64(s) * d.shares[i]
	}
	return max(1, bytes/mean)
}

// manyObjects is like objects. If the result is below 40, it draws a smaller size of objects first.
func (d *draw) manyObjects(bytes float64) float64 {
	if d.objects(bytes) < 40 {
		d.setSizes(1, max(8, bytes/random.Uniform(d.params, 60, 300)), 0.1)
	}
	return d.objects(bytes)
}

// site returns a blueprint with one to six call paths.
func (d *draw) site(path func(share float64) actor) Blueprint {
	n := 1
	if random.Chance(d.params, 0.3) {
		n = 2 + d.params.IntN(5)
	}
	return d.spread(n, path)
}

// spread returns a blueprint with n call paths of random shares.
func (d *draw) spread(n int, path func(share float64) actor) Blueprint {
	weights := make([]float64, n)
	var sum float64
	for i := range weights {
		weights[i] = d.params.ExpFloat64() + 0.05
		sum += weights[i]
	}
	b := Blueprint{Sizes: d.sizes, shares: d.shares}
	for _, w := range weights {
		b.Paths = append(b.Paths, path(w/sum))
	}
	return b
}

// load returns the load of a function at each step: a curve times noise with mean 1, which is
// correlated in time and whose standard deviation is random. It follows the activity of the process.
func (d *draw) load(curve func(t float64) float64) []float64 {
	return d.active(d.noisyLoad(curve, noiseSpread(d.params)))
}

// active multiplies a load by the activity of the process.
func (d *draw) active(load []float64) []float64 {
	for i := range load {
		load[i] *= d.scene.Activity(i)
	}
	return load
}

func noiseSpread(r *rand.Rand) float64 {
	if random.Chance(r, 0.25) {
		return 0
	}
	return random.LogUniform(r, 0.005, 0.5)
}

// noisyLoad returns a curve times the exponential of a first-order autoregressive process.
func (d *draw) noisyLoad(curve func(t float64) float64, spread float64) []float64 {
	memory := math.Exp(-Dt / random.LogUniform(d.params, 0.0008, 0.03))
	out := make([]float64, d.grid.Steps())
	x := d.chaos.NormFloat64()
	for i := range out {
		x = memory*x + math.Sqrt(1-memory*memory)*d.chaos.NormFloat64()
		out[i] = curve(d.grid.At(i)) * math.Exp(spread*x-spread*spread/2)
	}
	return out
}

// times draws the times of a Poisson process with the given number of events per span.
func (d *draw) times(perSpan float64) []float64 {
	var out []float64
	for t := -d.grid.Burn + d.chaos.ExpFloat64()/perSpan; t < d.grid.End; t += d.chaos.ExpFloat64() / perSpan {
		out = append(out, t)
	}
	return out
}

// Flat is a constant load.
func Flat(float64) float64 { return 1 }

// RampCurve returns a curve that changes linearly from one level to another between two times.
func RampCurve(from, to, t0, t1 float64) func(float64) float64 {
	return func(t float64) float64 { return from + (to-from)*random.Clamp((t-t0)/(t1-t0), 0, 1) }
}

// Wave returns a sine around 1.
func Wave(amplitude, period, phase float64) func(float64) float64 {
	return func(t float64) float64 { return 1 + amplitude*math.Sin(2*math.Pi*(t/period+phase)) }
}

// passed reports whether a time lies within the step that ends at t.
func passed(moment, t float64) bool { return moment <= t && moment > t-Dt }
