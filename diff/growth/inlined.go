package growth

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/symbolize"
)

// A just-in-time compiler may compile a function into its caller while the process runs. The call paths of the
// function then end, and others begin that are the same but for it. They are one site.

const (
	// mostGenerated bounds the call paths of generated code that are looked at: those that grew most.
	mostGenerated = 512
	// leastInlined is the least growth of call paths that continue others, over the least growth that counts.
	leastInlined = 1.0 / 16
	// goesOn is the share of its growth from which on a site goes on to grow.
	goesOn = 0.05
)

// generatedPath is a call path of generated code that grew.
type generatedPath struct {
	site   symbolize.SiteID
	group  int
	gained int64
	late   bool // it had nothing in use at first
	// leaf is the native function that allocates, and functions are the generated functions that called it, the innermost
	// first.
	leaf      string
	functions []string
}

// isWithout reports whether a path is another one without some of its functions.
func (p *generatedPath) isWithout(whole *generatedPath) bool {
	if p.leaf != whole.leaf || len(p.functions) >= len(whole.functions) {
		return false
	}
	rest := p.functions
	for _, f := range whole.functions {
		if len(rest) > 0 && rest[0] == f {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

// generatedPaths returns the call paths of generated code, those that grew most first.
func generatedPaths(s *scope, symbols *symbolize.Symbols, columns []sites.Column, groups [][]symbolize.SiteID) (out []generatedPath) {
	for i, members := range groups {
		for _, site := range members {
			functions := generatedFunctions(symbols, site)
			gained := s.gained(columns[site])
			if functions == nil || gained <= 0 {
				continue
			}
			first, _ := s.ends(columns[site])
			out = append(out, generatedPath{site, i, gained, first == 0, nativeLeaf(symbols, site), functions})
		}
	}
	slices.SortStableFunc(out, func(a, b generatedPath) int { return cmp.Compare(b.gained, a.gained) })
	return out[:min(len(out), mostGenerated)]
}

// generatedFunctions are the generated functions of a call path, the innermost first; nil if there are none.
func generatedFunctions(s *symbolize.Symbols, site symbolize.SiteID) (out []string) {
	for _, id := range s.Stack(s.SiteStack(site)) {
		if l := &s.Locations[id]; isGenerated(l) {
			out = append(out, l.Frames[0].Function+"\x00"+l.Frames[0].File)
		}
	}
	return out
}

// nativeLeaf is the function that allocates; "" if it is generated.
func nativeLeaf(s *symbolize.Symbols, site symbolize.SiteID) string {
	l := &s.Locations[s.Stack(s.SiteStack(site))[0]]
	if isGenerated(l) {
		return ""
	}
	return s.Label(l)
}

func isGenerated(l *symbolize.Location) bool {
	return l.Source == symbolize.SourcePerfMap || l.Source == symbolize.SourceJITDump
}

// continuation is the call paths of a group that those of another one may continue, and these.
type continuation struct {
	to, from      int // the groups
	before, after []symbolize.SiteID
}

// continuations pairs groups whose call paths differ only in functions that may have been compiled into their callers.
func continuations(paths []generatedPath) (out []continuation) {
	index := map[[2]int]int{}
	for i := range paths {
		for k := range paths {
			whole, p := &paths[i], &paths[k]
			if !p.late || p.group == whole.group || !p.isWithout(whole) {
				continue
			}
			pair := [2]int{whole.group, p.group}
			n, known := index[pair]
			if !known {
				n, index[pair] = len(out), len(out)
				out = append(out, continuation{to: whole.group, from: p.group})
			}
			out[n].before, out[n].after = withSite(out[n].before, whole.site), withSite(out[n].after, p.site)
		}
	}
	return out
}

func withSite(list []symbolize.SiteID, site symbolize.SiteID) []symbolize.SiteID {
	if slices.Contains(list, site) {
		return list
	}
	return append(list, site)
}

// joinInlined moves call paths that continue those of another group to that group, and returns the groups that are left.
func joinInlined(s *scope, symbols *symbolize.Symbols, columns []sites.Column, groups [][]symbolize.SiteID, minBytes int64) [][]symbolize.SiteID {
	sum := func(ids []symbolize.SiteID) sites.Column { return sumOf(columns, ids, s.series.Heads) }
	moved := map[symbolize.SiteID]bool{}
	for _, c := range continuations(generatedPaths(s, symbols, columns, groups)) {
		c.after = slices.DeleteFunc(c.after, func(site symbolize.SiteID) bool { return moved[site] })
		if len(c.after) == 0 || !s.takesOver(sum(c.before), sum(c.after), minBytes) {
			continue
		}
		groups[c.from] = slices.DeleteFunc(groups[c.from], func(site symbolize.SiteID) bool { return slices.Contains(c.after, site) })
		groups[c.to] = append(groups[c.to], c.after...)
		for _, site := range c.after {
			moved[site] = true
		}
	}
	return slices.DeleteFunc(groups, func(members []symbolize.SiteID) bool { return len(members) == 0 })
}

// takesOver reports whether the growth of one column ends when that of another begins.
func (s *scope) takesOver(before, after sites.Column, minBytes int64) bool {
	old, _ := s.live(before)
	now, _ := s.live(after)
	last, least := s.Len()-1, leastInlined*float64(minBytes)
	if len(old) <= last || len(now) <= last || now[last] < least || old[last]-old[0] < least {
		return false // hidden, or small
	}
	begin := slices.IndexFunc(now, func(bytes float64) bool { return bytes > 0 })
	return begin > 0 && old[begin-1] > old[0] && old[last]-old[begin] <= goesOn*(old[begin]-old[0])
}
