package leaksim

import "math"

// rampOf returns a load that rises by a random factor, usually at the time when the load of the
// whole process rises.
func rampOf(d *draw) func(float64) float64 {
	when := d.scene
	if Chance(d.params, 0.3) {
		when = newScene(d.params)
	}
	return rampCurve(uniform(d.params, 0.05, 0.8), 1, when.rise, when.top)
}

func loadRamp(d *draw) []blueprint { return requestSite(d, shortLife(d), d.load(rampOf(d))) }

func loadRampMedium(d *draw) []blueprint {
	return requestSite(d, logUniform(d.params, 0.03, 0.2), d.load(rampOf(d)))
}

func loadStep(d *draw) []blueprint {
	at := uniform(d.params, 0.05, 0.95)
	return requestSite(d, shortLife(d), d.load(rampCurve(uniform(d.params, 0.05, 0.8), 1, at, at+2*dt)))
}

func cycle(d *draw, period float64) []blueprint {
	curve := wave(uniform(d.params, 0.2, 0.95), period, d.params.Float64())
	return requestSite(d, logUniform(d.params, 1e-5, 0.05), d.load(curve))
}

func cycleShort(d *draw) []blueprint { return cycle(d, uniform(d.params, 0.1, 0.4)) }
func cycleSpan(d *draw) []blueprint  { return cycle(d, uniform(d.params, 0.75, 1.2)) }
func cycleLong(d *draw) []blueprint  { return cycle(d, uniform(d.params, 1.3, 1.8)) }

// batches allocates the objects of a batch and frees them at its end, except for the share kept.
func batches(perBatch, period, phase, kept float64, load []float64) actor {
	var live pool
	next := math.Inf(-1)
	return func(u *unit, i int, t float64) {
		if math.IsInf(next, -1) {
			next = t + period*phase
		}
		live.put(u.allocMany(poisson(u.rng, perBatch/period*load[i]*dt)))
		if t < next {
			return
		}
		next += period * math.Exp(0.1*u.rng.NormFloat64())
		for j := range live.batches {
			b := &live.batches[j]
			k := binomial(u.rng, b.n, kept)
			u.free(b, b.n-k)
			u.leaked += b.n * u.classes[b.class].size
		}
		live.batches = nil
	}
}

func sawtooth(d *draw) []blueprint {
	n := d.objects(d.bytes)
	period, phase, load := logUniform(d.params, 0.008, 0.5), d.params.Float64(), d.load(flat)
	return []blueprint{d.site(func(share float64) actor { return batches(n*share, period, phase, 0, load) })}
}

func backlog(d *draw) []blueprint {
	n := d.objects(d.bytes)
	from := uniform(d.params, -0.05, 0.7)
	peak := from + uniform(d.params, 0.05, 0.5)
	drained := peak + uniform(d.params, 0.03, 0.5)
	base := n * logUniform(d.params, 1e-3, 0.1)
	waiting := func(t float64) float64 {
		rise, fall := clamp((t-from)/(peak-from), 0, 1), clamp((t-peak)/(drained-peak), 0, 1)
		return base + n*(rise-fall)
	}
	rate := n * logUniform(d.params, 3, 300)
	load := d.load(flat)
	return []blueprint{d.site(func(share float64) actor {
		var live queue
		return func(u *unit, i int, t float64) {
			want := waiting(t) * share * load[i]
			came := poisson(u.rng, rate*share*dt)
			live.push(u.allocMany(max(came, int64(want)-live.n)))
			live.pop(u, live.n-int64(want))
		}
	})}
}

func spikes(d *draw) []blueprint {
	n := d.objects(d.bytes)
	moments := d.times(logUniform(d.params, 1, 40))
	life := logUniform(d.params, 5e-4, 0.03)
	return []blueprint{d.site(func(share float64) actor {
		var live pool
		return func(u *unit, _ int, t float64) {
			live.thin(u, -math.Expm1(-dt/life))
			for _, m := range moments {
				if passed(m, t) {
					live.put(u.allocMany(int64(math.Ceil(n * share * u.rng.ExpFloat64()))))
				}
			}
		}
	})}
}
