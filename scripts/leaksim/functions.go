package leaksim

import "math"

// Function is a function of a process, with its ground truth and its curve in the snapshots.
type Function struct {
	Seed      uint64
	Snapshots int
	Mode      string
	Life      string // what happened to the process: "starved", "idle", "load-…", "start-up" or "even"
	Name      string
	Behaviour string
	Truth
	Observed Curve
}

// Curve holds the estimates of a function, one value per snapshot. A value that truncation hides is
// NaN. Allocs and AllocBytes are nil if the snapshots have no cumulative counts.
type Curve struct {
	Seconds, Bytes, Objects, Allocs, AllocBytes []float64
}

// Functions returns the functions of the process, without the dust.
func (p *Process) Functions() []Function {
	shots := p.shots()
	judged := window(shots)
	im := judged[0].image
	hidden := p.hidden(shots, im)
	var out []Function
	for i := range im.sites {
		s := &im.sites[i]
		out = append(out, Function{
			Seed: p.seed, Snapshots: p.snapshots, Mode: p.Mode.name, Life: p.life.kind,
			Name: s.name, Behaviour: s.behaviour.Name,
			Truth: truthOf(s, judged, p.Mode.period), Observed: p.observe(s, shots, im, hidden),
		})
	}
	return out
}

// DustFunction returns the function of the dust with the given name. It does not leak.
func (p *Process) DustFunction(name string) Function {
	return Function{
		Seed: p.seed, Snapshots: p.snapshots, Mode: p.Mode.name, Life: p.life.kind, Name: name, Behaviour: "dust",
		Truth: Truth{Verdict: IsHarmless},
	}
}

// hidden returns, by number of snapshot, the units that it omits.
func (p *Process) hidden(shots []shot, im *image) map[int]map[int]bool {
	if !p.Mode.Partial() {
		return nil
	}
	if p.lost != nil { // the files were written
		return p.lost
	}
	texts := im.texts()
	out := map[int]map[int]bool{}
	for _, s := range shots {
		if p.Mode.format == massif {
			_, out[s.seq] = p.massifTree(s)
		} else {
			_, out[s.seq] = p.heapProfile(s, texts)
		}
	}
	return out
}

// observe returns the curve of a function in the snapshots of a process image.
func (p *Process) observe(s *site, shots []shot, im *image, hidden map[int]map[int]bool) Curve {
	var c Curve
	for _, sh := range shots {
		if sh.image != im || sh.exit {
			continue
		}
		c.Seconds = append(c.Seconds, sh.time.Sub(shots[0].time).Seconds())
		e := p.seen(s, sh, hidden[sh.seq])
		c.Bytes, c.Objects = append(c.Bytes, e.bytes), append(c.Objects, e.objects)
		if p.Mode.counted() {
			c.Allocs, c.AllocBytes = append(c.Allocs, e.allocs), append(c.AllocBytes, e.allocBytes)
		}
	}
	return c
}

// seen returns the estimates of a function that a reader of a snapshot gets.
func (p *Process) seen(s *site, sh shot, hidden map[int]bool) (e estimates) {
	for k := range s.stacks {
		unit := s.first + k
		switch {
		case hidden[unit]:
			return estimates{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		case p.Mode.period == 0:
			q := sh.image.history[unit][sh.step]
			e.add(estimates{float64(q.Live), float64(q.Bytes), float64(q.Allocs), float64(q.AllocBytes)})
		case p.Mode.format == jemalloc:
			est := estimate(sh.image.classes[unit][sh.mark])
			objects, size := shown(est.objects, est.bytes)
			allocs, allocBytes := shown(est.allocs, est.allocBytes)
			e.add(estimates{objects, size, allocs, allocBytes})
		default:
			e.add(estimate(p.classes(unit, sh)))
		}
	}
	return e
}
