package gate

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
)

// site is an allocation site in all runs.
type site struct {
	*baseline.Site                  // as the newest run that has it describes it
	levels         []baseline.Level // by run; zero where a run does not have it
	suppression    *suppress.Entry  // or nil
	tier           identity.Tier    // at which the latest earlier run has it
}

// matchSites matches the sites of all runs, and reports how the sites of the current run match the
// latest earlier run.
//
// The list begins with the sites of the current run. The earlier runs are matched with the list one
// after the other, the latest first, and sites that do not match are appended to it. So a site that
// does not match one run may still match another.
func matchSites(runs []*baseline.Run, suppressions *suppress.List) (sites []*site, tiers identity.Tally) {
	var ids []identity.Site // parallel to sites
	add := func(s *baseline.Site, run int) {
		added := &site{
			Site: s, levels: make([]baseline.Level, len(runs)),
			suppression: suppressions.Find(names(s)), tier: identity.Unmatched,
		}
		added.levels[run] = s.Level
		sites, ids = append(sites, added), append(ids, s.Identity)
	}
	for i := range runs[0].Sites {
		add(&runs[0].Sites[i], 0)
	}
	for run := 1; run < len(runs); run++ {
		base := runs[run].Sites
		for _, m := range identity.Pair(identities(base), ids) {
			if run == 1 {
				tally(&tiers, m, base, sites)
			}
			for _, b := range m.Base {
				if len(m.Current) == 0 {
					add(&base[b], run)
				} else {
					share(&base[b], run, pick(sites, m.Current))
				}
			}
		}
	}
	return sites, tiers
}

// names are what suppressions are matched with: all functions, files and modules of the stack, as
// in LeakSanitizer.
func names(s *baseline.Site) (out []string) {
	for _, f := range s.Frames {
		out = append(out, f.Function, f.File, f.Module)
	}
	return out
}

func identities(sites []baseline.Site) []identity.Site {
	out := make([]identity.Site, len(sites))
	for i := range sites {
		out[i] = sites[i].Identity
	}
	return out
}

func pick(sites []*site, indices []int) []*site {
	out := make([]*site, len(indices))
	for i, index := range indices {
		out[i] = sites[index]
	}
	return out
}

// tally counts a match of the latest earlier run with the current one.
func tally(tiers *identity.Tally, m identity.Match, base []baseline.Site, sites []*site) {
	var earlier, current float64
	for _, i := range m.Base {
		earlier += base[i].Bytes
	}
	for _, s := range pick(sites, m.Current) {
		current += s.levels[0].Bytes
		s.tier = m.Tier
	}
	tiers.Add(m, earlier, current)
}

// share adds the level of a site of an earlier run to the sites that it matches, in proportion to
// their size, because the match does not distinguish them. Suppressed sites get a share only if all
// of them are suppressed: otherwise a site that is not suppressed would look new.
func share(s *baseline.Site, run int, matches []*site) {
	to := slices.DeleteFunc(slices.Clone(matches), func(m *site) bool { return m.suppression != nil })
	if len(to) == 0 {
		to = matches
	}
	total := 0.0
	for _, m := range to {
		total += max(0, m.Bytes)
	}
	for _, m := range to {
		part := 1 / float64(len(to))
		if total > 0 {
			part = max(0, m.Bytes) / total
		}
		m.levels[run] = m.levels[run].Add(scaled(s.Level, part))
	}
}

// scaled is a part of a level, 0 to 1. Noise adds up in squares, and so it is divided.
func scaled(l baseline.Level, part float64) baseline.Level {
	if part == 1 {
		return l
	}
	return baseline.Level{
		Bytes: l.Bytes * part, Objects: l.Objects * part, Peak: l.Peak * part,
		Slope: l.Slope * part, SlopeError: l.SlopeError * part,
		AllocBytes: l.AllocBytes * part, AllocObjects: l.AllocObjects * part,
		Noise: l.Noise * math.Sqrt(part), Swing: l.Swing * part,
	}
}
