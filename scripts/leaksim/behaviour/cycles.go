package behaviour

import (
	"math"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// rampOf returns a load that rises by a random factor, usually at the time when the load of the
// whole process rises.
func rampOf(d *draw) func(float64) float64 {
	when := d.scene
	if random.Chance(d.params, 0.3) {
		when = NewScene(d.params)
	}
	return RampCurve(random.Uniform(d.params, 0.05, 0.8), 1, when.rise, when.top)
}

func loadRamp(d *draw) []Blueprint { return requestSite(d, shortLife(d), d.load(rampOf(d))) }

func loadRampMedium(d *draw) []Blueprint {
	return requestSite(d, random.LogUniform(d.params, 0.03, 0.2), d.load(rampOf(d)))
}

func loadStep(d *draw) []Blueprint {
	at := random.Uniform(d.params, 0.05, 0.95)
	return requestSite(d, shortLife(d), d.load(RampCurve(random.Uniform(d.params, 0.05, 0.8), 1, at, at+2*Dt)))
}

func cycle(d *draw, period float64) []Blueprint {
	curve := Wave(random.Uniform(d.params, 0.2, 0.95), period, d.params.Float64())
	return requestSite(d, random.LogUniform(d.params, 1e-5, 0.05), d.load(curve))
}

func cycleShort(d *draw) []Blueprint { return cycle(d, random.Uniform(d.params, 0.1, 0.4)) }
func cycleSpan(d *draw) []Blueprint  { return cycle(d, random.Uniform(d.params, 0.75, 1.2)) }
func cycleLong(d *draw) []Blueprint  { return cycle(d, random.Uniform(d.params, 1.3, 1.8)) }

// batches allocates the objects of a batch and frees them at its end, except for the share kept.
func batches(perBatch, period, phase, kept float64, load []float64) actor {
	var live memory.Pool
	next := math.Inf(-1)
	return func(u *memory.Unit, i int, t float64) {
		if math.IsInf(next, -1) {
			next = t + period*phase
		}
		live.Put(u.AllocMany(random.Poisson(u.Rng, perBatch/period*load[i]*Dt)))
		if t < next {
			return
		}
		next += period * math.Exp(0.1*u.Rng.NormFloat64())
		for j := range live.Batches {
			b := &live.Batches[j]
			k := random.Binomial(u.Rng, b.N, kept)
			u.Free(b, b.N-k)
			u.Leaked += b.N * u.Classes[b.Class].Size
		}
		live.Batches = nil
	}
}

func sawtooth(d *draw) []Blueprint {
	n := d.objects(d.bytes)
	period, phase, load := random.LogUniform(d.params, 0.008, 0.5), d.params.Float64(), d.load(Flat)
	return []Blueprint{d.site(func(share float64) actor { return batches(n*share, period, phase, 0, load) })}
}

// garbage is what a runtime frees when it collects garbage. It collects when there is as much as a limit, and then
// raises the limit by a factor, as V8, Ruby and Lua do while a program starts.
func garbage(d *draw) []Blueprint {
	n := d.manyObjects(d.bytes)
	first, factor := random.LogUniform(d.params, 0.02, 0.6), random.Uniform(d.params, 1.1, 2)
	freed := 1 - random.LogUniform(d.params, 1e-3, 0.4)
	rate := n * random.LogUniform(d.params, 4, 200)
	load := d.load(Flat)
	return []Blueprint{d.site(func(share float64) actor {
		var live memory.Pool
		limit, highest := first*n*share, n*share
		return func(u *memory.Unit, i int, _ float64) {
			live.Put(u.AllocMany(random.Poisson(u.Rng, rate*share*load[i]*Dt)))
			if float64(live.Size()) >= limit {
				live.Thin(u, freed)
				limit = min(limit*factor, highest)
			}
		}
	})}
}

func backlog(d *draw) []Blueprint {
	n := d.objects(d.bytes)
	from := random.Uniform(d.params, -0.05, 0.7)
	peak := from + random.Uniform(d.params, 0.05, 0.5)
	drained := peak + random.Uniform(d.params, 0.03, 0.5)
	base := n * random.LogUniform(d.params, 1e-3, 0.1)
	waiting := func(t float64) float64 {
		rise, fall := random.Clamp((t-from)/(peak-from), 0, 1), random.Clamp((t-peak)/(drained-peak), 0, 1)
		return base + n*(rise-fall)
	}
	rate := n * random.LogUniform(d.params, 3, 300)
	load := d.load(Flat)
	return []Blueprint{d.site(func(share float64) actor {
		var live memory.Queue
		return func(u *memory.Unit, i int, t float64) {
			want := waiting(t) * share * load[i]
			came := random.Poisson(u.Rng, rate*share*Dt)
			live.Push(u.AllocMany(max(came, int64(want)-live.N)))
			live.Pop(u, live.N-int64(want))
		}
	})}
}

func spikes(d *draw) []Blueprint {
	n := d.objects(d.bytes)
	moments := d.times(random.LogUniform(d.params, 1, 40))
	life := random.LogUniform(d.params, 5e-4, 0.03)
	return []Blueprint{d.site(func(share float64) actor {
		var live memory.Pool
		return func(u *memory.Unit, _ int, t float64) {
			live.Thin(u, -math.Expm1(-Dt/life))
			for _, m := range moments {
				if passed(m, t) {
					live.Put(u.AllocMany(int64(math.Ceil(n * share * u.Rng.ExpFloat64()))))
				}
			}
		}
	})}
}
