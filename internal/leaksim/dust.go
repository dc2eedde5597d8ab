package leaksim

import "math/rand/v2"

// dust is one of thousands of stacks that hold little: they are why gperftools ≤2.15 cuts its
// files. They need no simulation: what they hold is constant, what they allocate is a straight
// line.
type dust struct {
	stack []uint64
	size  int64
	live  int64
	rate  float64 // further objects a span, freed at once
}

const dustFunctions = 400

func (p *Process) addDust(rng *rand.Rand) {
	functions := make([]int, dustFunctions)
	for i := range functions {
		functions[i] = p.program.newFunction()
		p.DustNames = append(p.DustNames, p.program.names[functions[i]])
	}
	// With few dead stacks or many stacks in all, the cut reaches those that hold something.
	n, dead, typical := int(logUniform(rng, 6500, 12000)), uniform(rng, 0.05, 0.5), logUniform(rng, 3, 300)
	depth := 8 + rng.IntN(20)
	seen := map[string]bool{}
	for len(p.dust) < n {
		stack := p.program.stack(functions[rng.IntN(dustFunctions)], false, p.program.callChain(depth))
		if key := stackText(stack, 0); !seen[key] {
			seen[key] = true
			p.dust = append(p.dust, newDust(rng, stack, dead, typical))
		}
	}
}

func newDust(rng *rand.Rand, stack []uint64, dead, typical float64) dust {
	d := dust{stack: stack, size: int64(clamp(logNormal(rng, 120, 1.3), 8, 1<<16))}
	if !Chance(rng, dead) {
		d.live = 1 + int64(logNormal(rng, typical, 1.8))
	}
	if Chance(rng, 0.5) {
		d.rate = logNormal(rng, 2000, 2)
	}
	return d
}

// at is the stack at a time since the start of its image.
func (d *dust) at(since float64) point {
	n := d.live + 1 + int64(d.rate*since)
	return point{live: d.live, bytes: d.live * d.size, allocs: n, allocBytes: n * d.size}
}
