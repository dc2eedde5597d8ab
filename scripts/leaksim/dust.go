package leaksim

import (
	"math/rand/v2"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// dust is one of thousands of stacks with few bytes in use. They make files so large that
// gperftools ≤2.15 truncates them. They need no simulation: their bytes in use are constant, and
// their cumulative counts are linear.
type dust struct {
	text string // its stack in the snapshots: there is one process image
	size int64
	live int64
	rate float64 // number of objects per span that are allocated and freed at once
}

const dustFunctions = 400

// addDust draws the dust of the process.
func (p *Process) addDust(rng *rand.Rand) {
	functions := make([]int, dustFunctions)
	for i := range functions {
		functions[i] = p.program.NewFunction()
		p.DustNames = append(p.DustNames, p.program.Names[functions[i]])
	}
	// If there are many stacks, or few of them are dead, truncation affects stacks with bytes in
	// use.
	n, dead := int(random.LogUniform(rng, 6500, 12000)), random.Uniform(rng, 0.05, 0.5)
	typical := random.LogUniform(rng, 3, 300)
	depth := 8 + rng.IntN(20)
	seen := map[string]bool{}
	for len(p.dust) < n {
		stack := p.program.Stack(functions[rng.IntN(dustFunctions)], false, p.program.CallChain(depth))
		if key := stackText(stack, 0); !seen[key] {
			seen[key] = true
			p.dust = append(p.dust, newDust(rng, stackText(stack, p.images[0].base), dead, typical))
		}
	}
}

func newDust(rng *rand.Rand, text string, dead, typical float64) dust {
	d := dust{text: text, size: int64(random.Clamp(random.LogNormal(rng, 120, 1.3), 8, 1<<16))}
	if !random.Chance(rng, dead) {
		d.live = 1 + int64(random.LogNormal(rng, typical, 1.8))
	}
	if random.Chance(rng, 0.5) {
		d.rate = random.LogNormal(rng, 2000, 2)
	}
	return d
}

// at returns the counts at a time after the start of the process image.
func (d *dust) at(since float64) memory.Point {
	n := d.live + 1 + int64(d.rate*since)
	return memory.Point{Live: d.live, Bytes: d.live * d.size, Allocs: n, AllocBytes: n * d.size}
}
