package leaksim

import (
	"math"
	"math/rand/v2"
)

// The unit of time is the span: 0 is the start of the observed window and 1 its end. A process may
// start before 0.

// StepsPerSpan is the number of simulated steps in a span.
const StepsPerSpan = 960

const dt = 1.0 / StepsPerSpan

// grid is the lifetime of a process image: from −burn to end.
type grid struct{ burn, end float64 }

func (g grid) steps() int { return int(math.Round((g.burn + g.end) * StepsPerSpan)) }

// at returns the time at the end of step i.
func (g grid) at(i int) float64 { return float64(i+1)*dt - g.burn }

// index returns the last step that ends at or before t.
func (g grid) index(t float64) int {
	return min(g.steps()-1, max(0, int((t+g.burn)*StepsPerSpan+1e-6)-1))
}

// actor allocates and frees objects of a stack in step i, which ends at time t.
type actor func(u *unit, i int, t float64)

// blueprint defines a function that allocates: the actors of its call paths and the sizes of its
// objects.
type blueprint struct {
	paths   []actor
	sizes   []int64
	shares  []float64 // share of each size among the objects
	sibling bool      // the function has the same callers as that of the previous blueprint
}

// scene is the time in which the load of the whole process rises.
type scene struct{ rise, top float64 }

func newScene(params *rand.Rand) scene {
	rise := uniform(params, -0.3, 0.6)
	return scene{rise, min(1.15, rise+uniform(params, 0.15, 1.4))}
}

// draw draws the parameters of a behaviour. Properties of the program come from params, which is
// the same after a restart. Events come from chaos, which is not.
type draw struct {
	params, chaos *rand.Rand
	grid          grid
	scene         scene
	bytes         float64 // bytes in use, or leaked per span
	sizes         []int64
	shares        []float64
}

// newDraw draws the size of a function and those of its objects.
func newDraw(params, chaos *rand.Rand, g grid, sc scene, leak bool) *draw {
	d := &draw{params: params, chaos: chaos, grid: g, scene: sc}
	if leak {
		d.bytes = clamp(logNormal(params, 7<<20, 1.5), 512<<10, 2<<30)
	} else {
		d.bytes = clamp(logNormal(params, 800<<10, 2.2), 2<<10, 2<<30)
	}
	d.drawSizes()
	return d
}

func clamp(x, low, high float64) float64 { return min(high, max(low, x)) }

// drawSizes draws one to four sizes of objects, usually small ones.
func (d *draw) drawSizes() {
	median := logNormal(d.params, 180, 1.6)
	if Chance(d.params, 0.1) {
		median = logNormal(d.params, 100<<10, 1.4)
	}
	median = clamp(median, 8, d.bytes/3+8)
	n, spread := 1, 0.0
	if Chance(d.params, 0.5) {
		n, spread = 2+d.params.IntN(3), uniform(d.params, 0.2, 1)
	}
	d.setSizes(n, median, spread)
}

// setSizes draws n different sizes and their shares.
func (d *draw) setSizes(n int, median, spread float64) {
	d.sizes, d.shares = nil, nil
	seen := map[int64]bool{}
	var sum float64
	for range n {
		size := int64(clamp(logNormal(d.params, median, spread), 8, 1<<30))
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
		d.setSizes(1, max(8, bytes/uniform(d.params, 60, 300)), 0.1)
	}
	return d.objects(bytes)
}

// site returns a blueprint with one to six call paths.
func (d *draw) site(path func(share float64) actor) blueprint {
	n := 1
	if Chance(d.params, 0.3) {
		n = 2 + d.params.IntN(5)
	}
	return d.spread(n, path)
}

// spread returns a blueprint with n call paths of random shares.
func (d *draw) spread(n int, path func(share float64) actor) blueprint {
	weights := make([]float64, n)
	var sum float64
	for i := range weights {
		weights[i] = d.params.ExpFloat64() + 0.05
		sum += weights[i]
	}
	b := blueprint{sizes: d.sizes, shares: d.shares}
	for _, w := range weights {
		b.paths = append(b.paths, path(w/sum))
	}
	return b
}

// load returns the load of a function at each step: a curve times noise with mean 1, which is
// correlated in time and whose standard deviation is random.
func (d *draw) load(curve func(t float64) float64) []float64 {
	return d.noisyLoad(curve, noiseSpread(d.params))
}

func noiseSpread(r *rand.Rand) float64 {
	if Chance(r, 0.25) {
		return 0
	}
	return logUniform(r, 0.005, 0.5)
}

// noisyLoad returns a curve times the exponential of a first-order autoregressive process.
func (d *draw) noisyLoad(curve func(t float64) float64, spread float64) []float64 {
	memory := math.Exp(-dt / logUniform(d.params, 0.0008, 0.03))
	out := make([]float64, d.grid.steps())
	x := d.chaos.NormFloat64()
	for i := range out {
		x = memory*x + math.Sqrt(1-memory*memory)*d.chaos.NormFloat64()
		out[i] = curve(d.grid.at(i)) * math.Exp(spread*x-spread*spread/2)
	}
	return out
}

// times draws the times of a Poisson process with the given number of events per span.
func (d *draw) times(perSpan float64) []float64 {
	var out []float64
	for t := -d.grid.burn + d.chaos.ExpFloat64()/perSpan; t < d.grid.end; t += d.chaos.ExpFloat64() / perSpan {
		out = append(out, t)
	}
	return out
}

func flat(float64) float64 { return 1 }

// rampCurve returns a curve that changes linearly from one level to another between two times.
func rampCurve(from, to, t0, t1 float64) func(float64) float64 {
	return func(t float64) float64 { return from + (to-from)*clamp((t-t0)/(t1-t0), 0, 1) }
}

// wave returns a sine around 1.
func wave(amplitude, period, phase float64) func(float64) float64 {
	return func(t float64) float64 { return 1 + amplitude*math.Sin(2*math.Pi*(t/period+phase)) }
}

// passed reports whether a time lies within the step that ends at t.
func passed(moment, t float64) bool { return moment <= t && moment > t-dt }
