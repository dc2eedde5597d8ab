package leaksim

import "math"

// Many functions do two things: what their behaviour says, and short-lived objects of the same
// kind, whose cumulative counts hide the rest.

// busyShare is the share of functions that have such traffic.
const busyShare = 0.35

// plans are a behaviour's functions, some with traffic.
func (b behaviour) plans(d *draw) []blueprint {
	list := b.build(d)
	if b.pure {
		return list
	}
	return withTraffic(d, list)
}

// withTraffic adds short-lived objects to some of the functions, under a load of its own: little is
// live of them at any time, and much may have been allocated by the end.
func withTraffic(d *draw, plans []blueprint) []blueprint {
	if !Chance(d.params, busyShare) {
		return plans
	}
	life := logUniform(d.params, 1e-4, 0.01)
	level := d.objects(d.bytes) * logUniform(d.params, 1e-4, 0.1)
	load := d.load(d.trafficCurve())
	for i := range plans {
		for k, path := range plans[i].paths {
			plans[i].paths[k] = both(path, requests(level/float64(len(plans[i].paths)), life, load))
		}
	}
	return plans
}

// trafficCurve is mostly level, sometimes a ramp or a cycle.
func (d *draw) trafficCurve() func(float64) float64 {
	switch d.params.IntN(5) {
	case 0:
		return rampCurve(1, uniform(d.params, 0.3, 3), 0, 1)
	case 1:
		period, phase, swing := uniform(d.params, 0.2, 1.5), uniform(d.params, 0, 2*math.Pi), uniform(d.params, 0.1, 0.8)
		return func(t float64) float64 { return 1 + swing*math.Sin(2*math.Pi*t/period+phase) }
	}
	return flat
}

// both lets a stack do two things.
func both(a, b actor) actor {
	return func(u *unit, i int, t float64) {
		a(u, i, t)
		b(u, i, t)
	}
}
