package leaksim

import "math"

// Function is one function of one process: its truth, and what was written of it.
type Function struct {
	Seed      uint64
	Snapshots int
	Mode      string
	Name      string
	Behaviour string
	Truth
	Observed Curve
}

// Curve is what the files say of a function in the window: estimates, one per snapshot. What a cut
// file does not show is NaN. allocs are nil without cumulative counts.
type Curve struct {
	Seconds, Bytes, Objects, Allocs, AllocBytes []float64
}

// Functions returns the functions of the process, without the dust.
func (p *Process) Functions() []Function {
	shots := p.shots()
	first, last := window(shots)
	hidden := p.hidden(shots, first.image)
	var out []Function
	for i := range first.image.sites {
		s := &first.image.sites[i]
		out = append(out, Function{
			Seed: p.seed, Snapshots: p.snapshots, Mode: p.Mode.name, Name: s.name, Behaviour: s.behaviour.Name,
			Truth: truthOf(s, first, last, p.Mode.period), Observed: p.observe(s, shots, first.image, hidden),
		})
	}
	return out
}

// DustFunction returns a function of the dust. None of them leaks.
func (p *Process) DustFunction(name string) Function {
	return Function{
		Seed:      p.seed,
		Snapshots: p.snapshots,
		Mode:      p.Mode.name,
		Name:      name,
		Behaviour: "dust",
		Truth:     Truth{Verdict: IsHarmless},
	}
}

// hidden says for each snapshot of the window's image which units a cut file leaves out.
func (p *Process) hidden(shots []shot, im *image) map[int]map[int]bool {
	if !p.Mode.Cut {
		return nil
	}
	texts := im.texts()
	out := map[int]map[int]bool{}
	for _, s := range shots {
		_, out[s.seq] = p.heapProfile(s, texts)
	}
	return out
}

// observe is the curve of a function as the files show it.
func (p *Process) observe(s *site, shots []shot, im *image, hidden map[int]map[int]bool) Curve {
	var c Curve
	for _, sh := range shots {
		if sh.image != im {
			continue
		}
		c.Seconds = append(c.Seconds, sh.time.Sub(shots[0].time).Seconds())
		e := p.seen(s, sh, hidden[sh.seq])
		c.Bytes, c.Objects = append(c.Bytes, e.bytes), append(c.Objects, e.objects)
		if p.Mode.period == 0 || p.Mode.accum {
			c.Allocs, c.AllocBytes = append(c.Allocs, e.allocs), append(c.AllocBytes, e.allocBytes)
		}
	}
	return c
}

func (p *Process) seen(s *site, sh shot, hidden map[int]bool) (e estimates) {
	for k := range s.stacks {
		unit := s.first + k
		switch {
		case hidden[unit]:
			return estimates{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		case p.Mode.format == jemalloc:
			est := estimate(sh.image.classes[unit][sh.mark])
			objects, size := shown(est.objects, est.bytes)
			allocs, allocBytes := shown(est.allocs, est.allocBytes)
			e.add(estimates{objects, size, allocs, allocBytes})
		case p.Mode.format == heapV2:
			e.add(estimate(sh.image.classes[unit][sh.mark]))
		default:
			q := sh.image.history[unit][sh.step]
			e.add(estimates{float64(q.live), float64(q.bytes), float64(q.allocs), float64(q.allocBytes)})
		}
	}
	return e
}
