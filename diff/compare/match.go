package compare

import (
	"slices"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/internal/group"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// pair is two sides, and how their sites are recognised and grouped. Arrays have the base first.
type pair struct {
	sides       [2]*Side
	sameProcess bool
	by          sites.GroupBy
	names       [2][]identity.Site // parallel to the sides' sites
	keys        [2]*group.Keys     // by function where by is ByStack: functions show what moved
	// shared are the files that both sides have; nil within one process.
	shared [2]map[symbolize.ModuleID]bool
}

const (
	base = iota
	current
)

func pairOf(b, c *Side, o Options) *pair {
	p := &pair{sides: [2]*Side{b, c}, sameProcess: sameProcess(b, c), by: o.GroupBy}
	if !p.sameProcess {
		p.shared[base], p.shared[current] = identity.SameFiles(b.Symbols, c.Symbols)
	}
	by := o.GroupBy
	if by == sites.ByStack {
		by = sites.ByFunction
	}
	for i, s := range p.sides {
		blamer := class.NewBlamer(s.Symbols, o.Rules)
		p.keys[i] = group.NewKeys(s.Symbols, blamer, by)
		namer := identity.NewNamer(s.Symbols, blamer)
		namer.SameProcess, namer.Same = p.sameProcess, p.shared[i]
		for _, site := range s.sites {
			p.names[i] = append(p.names[i], namer.Site(s.Symbols.SiteStack(site)))
		}
	}
	return p
}

// match matches the sites of the sides: within one process only by place.
func (p *pair) match() []identity.Match {
	if p.sameProcess {
		return identity.PairPlaces(p.names[base], p.names[current])
	}
	return identity.Pair(p.names[base], p.names[current])
}

// shares are the sites and bytes that were matched at each tier, and the bytes that are foreign:
// see Comparison.Foreign.
func (p *pair) shares(matches []identity.Match) (tiers identity.Tally, foreign int64) {
	for _, m := range matches {
		before, after := p.inUse(base, m.Base), p.inUse(current, m.Current)
		tiers.Add(m, float64(before), float64(after))
		if m.Tier == identity.Unmatched && p.foreign(m) {
			foreign += before + after
		}
	}
	return tiers, foreign
}

// inUse is the sum of some sites of a side.
func (p *pair) inUse(side int, members []int) (bytes int64) {
	for _, i := range members {
		bytes += p.sides[side].counts[i].InuseBytes
	}
	return bytes
}

// foreign reports whether the stack of an unmatched site leads through a file that the other side
// does not have.
func (p *pair) foreign(m identity.Match) bool {
	if p.sameProcess {
		return false
	}
	side, members := current, m.Current
	if len(members) == 0 {
		side, members = base, m.Base
	}
	s, shared := p.sides[side], p.shared[side]
	return slices.ContainsFunc(s.Stack(s.sites[members[0]]), func(id symbolize.LocationID) bool {
		l := &s.Symbols.Locations[id]
		if l.Source == symbolize.SourceFrames {
			return false // a script has no module
		}
		return l.Module == symbolize.NoModule || !shared[l.Module]
	})
}
