package leaksim

import (
	"math/rand/v2"
	"slices"

	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// Fleet is a program that runs on several hosts. All of them have the same functions with the same
// parameters. Each host has its own events, load, share of its processors, and time since its start.
type Fleet struct {
	Seed      uint64
	Snapshots int
	// Recording is the name of a mode: "jemalloc", "jemalloc-accum" or "timer".
	Recording string
	// Together reports whether all hosts were restarted together, at the start of the recording or
	// shortly before it.
	Together bool
	// Labelled is the number of hosts with a label, which are the first ones. Half of the leaks occur
	// only there. If it is 0, no leak depends on the label.
	Labelled int
}

// longestUptime is the greatest time from the start of a host to its first snapshot, in spans, apart
// from that of the program.
const longestUptime = 1.0

// Host simulates a host by its number, from 0.
func (f Fleet) Host(number int) *Process {
	all := modes()
	i := slices.IndexFunc(all, func(m Mode) bool { return m.name == f.Recording })
	p := &Process{
		seed: f.Seed, snapshots: f.Snapshots, Mode: all[i],
		pick: behaviour.Mixture, Population: Plain, eventful: true,
		host: uint64(number) + 1, spares: f.Labelled > 0 && number >= f.Labelled, labels: f.Labelled > 0,
	}
	if !f.Together {
		p.from = random.Uniform(random.New(p.own(), streamUptime), 0, longestUptime)
	}
	p.simulate(p.size())
	return p
}

// own is the seed of the random numbers that a host does not share with the others.
func (p *Process) own() uint64 { return p.id() + p.host<<40 }

// onHost returns the life of a host. What belongs to the program and to its recorder is common to all
// hosts, no recording begins with its process, and no process exits at its end.
func (l life) onHost(p *Process) life {
	rng := random.New(p.own(), streamLife)
	own := newLife(rng, p.Mode, p.eventful, p.burn, p.length)
	own.start, own.manifest, own.exits, own.begins = l.start, l.manifest, false, false
	level := random.LogUniform(rng, 0.5, 2)
	if own.activity == nil {
		own.activity = slices.Repeat([]float64{1}, len(own.wall))
	}
	for i := range own.activity {
		own.activity[i] *= level
	}
	return own
}

// labelShare is the share of the leaks that occur only on hosts with the label, if there is one.
const labelShare = 0.5

// spared reports whether a leak does not occur on the host. It is called for each leak of the program, in
// order.
func (p *Process) spared(rng *rand.Rand) bool {
	return p.labels && random.Chance(rng, labelShare) && p.spares
}

// become gives a function another behaviour, on as many of its call paths as that needs.
func (s *site) become(b behaviour.Behaviour, plan behaviour.Blueprint) {
	n := min(len(plan.Paths), len(s.stacks))
	plan.Paths, s.stacks = plan.Paths[:n], s.stacks[:n]
	s.plan, s.behaviour = plan, b
}
