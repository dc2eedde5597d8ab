package growth

import (
	"slices"

	diffcauses "github.com/heaplapse/heaplapse/diff/causes"
	"github.com/heaplapse/heaplapse/diff/internal/group"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Cause is a function through which many sites grow.
type Cause struct {
	// Site is the sum of the call paths below the function. Its Blame refers to the function.
	Site
	// Sites is the number of sites that grew there.
	Sites int
	// Share is the share of the heap's growth that is there, 0 to 1.
	Share float64
	// Small is true for the sum of the sites that are too small to be judged one by one. They have no
	// function in common: Blame is that of one of them.
	Small bool
}

// causes are the functions through which many sites grow, or the sum of the small sites.
type causes struct {
	list []Cause
	// leaking is the number of causes that leak, and explained the share of the heap's growth that
	// is below them or on sites that leak; 0 if none leaks.
	leaking   int
	explained float64
	// paths are the call paths that leak, and those below causes that leak.
	paths []symbolize.SiteID
	// tested is the number of curves of small sites that were judged.
	tested int
}

// causes finds the causes. If no function explains why the heap grows in small sites, that is their
// sum. members are the call paths by group.
func (j *judgement) causes(members [][]symbolize.SiteID, l *listing, h *heap) (out causes) {
	out.list = j.functionCauses(members, l.explained)
	sites := tallyOf(l.sites)
	if len(out.list) == 0 && onlySmallGrow(sites, h, l.smallBytes) {
		out.list, out.tested = j.smallSites(l), 1
	}
	leaking := map[symbolize.SiteID]bool{}
	for i := range out.list {
		if c := &out.list[i]; c.Label.IsLeak() {
			out.leaking++
			sites.paths = append(sites.paths, c.Members...)
		}
	}
	out.paths = sites.paths
	if out.leaking == 0 {
		return out
	}
	var bytes int64
	for _, id := range sites.paths {
		if !leaking[id] {
			leaking[id] = true
			bytes += j.gained[id]
		}
	}
	out.explained = shareOf(bytes, j.heapGained)
	return out
}

// shareOf is a share from 0 to 1 of the growth of the heap.
func shareOf(bytes, heapGained int64) float64 {
	return max(0, min(1, float64(bytes)/float64(heapGained)))
}

// onlySmallGrow reports whether the heap grows, mostly in sites that are too small to be judged.
func onlySmallGrow(sites tally, h *heap, smallBytes int64) bool {
	return sites.leaks == 0 && sites.suspects == 0 && h.total.Label.IsLeak() && isMost(smallBytes, h.gained())
}

// smallSites is the sum of the small sites as a cause; none if it does not leak.
func (j *judgement) smallSites(l *listing) []Cause {
	share := min(1, float64(l.smallBytes)/float64(j.heapGained))
	c := Cause{Site: j.site(l.smallMembers, 0), Sites: l.small, Share: share, Small: true}
	if !c.Label.IsSuspicious() {
		return nil
	}
	c.Site = j.shown(c.Site)
	return []Cause{c}
}

// functionCauses are the functions that explain the growth of many sites, if their sum may leak.
// members are the call paths by group. Growth that is explained, and that of code of modules, which
// runs once, is no part of it.
func (j *judgement) functionCauses(members [][]symbolize.SiteID, explained map[symbolize.SiteID]bool) (out []Cause) {
	least := int64(j.options.MinGrowth)
	left := j.heapGained
	if left < least {
		return nil
	}
	functions := newFunctions(j.symbols, j.blamer)
	var paths []diffcauses.Path
	var ids []symbolize.SiteID
	for n, group := range members {
		for _, id := range group {
			switch gained := j.gained[id]; {
			case gained == 0:
			case explained[id], j.blamer.Importing(j.stack(id)):
				left -= gained
			default:
				paths = append(paths, diffcauses.Path{Growth: gained, Site: n, Functions: functions.of(j.stack(id))})
				ids = append(ids, id)
			}
		}
	}
	for _, found := range diffcauses.Find(paths, left) {
		var below []symbolize.SiteID
		for _, i := range found.Paths {
			below = append(below, ids[i])
		}
		column := j.columns.Sum(below)
		share := min(1, float64(found.Growth)/float64(j.heapGained))
		c := Cause{Site: j.siteOf(column, below, 0), Sites: found.Sites, Share: share}
		if found.Growth >= least && c.Label.IsSuspicious() {
			c.Site = withValues(c.Site, column)
			c.Blame = functions.find(j.stack(c.Members[0]), found.Function)
			out = append(out, c)
		}
	}
	return out
}

// functions numbers the functions that may be causes: those of the program and of its libraries. The
// code of a Python module is no function: all that a program does is below that of its main module.
type functions struct {
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	keys    *group.Functions
	index   group.Index
	known   map[symbolize.LocationID][]candidate // by frame
}

// candidate is a frame that may be a cause.
type candidate struct {
	number  int // notCause if it cannot be one
	library bool
}

// notCause is the number of a frame that cannot be a cause: a runtime, or one without a name.
const notCause = -1

func newFunctions(s *symbolize.Symbols, blamer *class.Blamer) *functions {
	known := map[symbolize.LocationID][]candidate{}
	return &functions{symbols: s, blamer: blamer, keys: group.NewFunctions(s), known: known}
}

// of returns the functions of a call path, leaf first. A function of a library that calls the
// program's own code, such as that of a web framework, is none: it does not request what the
// program keeps.
func (f *functions) of(stack []symbolize.LocationID) (out []int) {
	own := false
	for _, l := range stack {
		for _, c := range f.at(l) {
			if c.number == notCause || own && c.library {
				continue
			}
			own = own || !c.library
			if len(out) == 0 || out[len(out)-1] != c.number {
				out = append(out, c.number)
			}
		}
	}
	return out
}

// find returns the frame of a function on a call path, the nearest one to the leaf.
func (f *functions) find(stack []symbolize.LocationID, function int) class.FrameRef {
	for i, l := range stack {
		if k := slices.IndexFunc(f.at(l), func(c candidate) bool { return c.number == function }); k >= 0 {
			return class.FrameRef{Position: i, Frame: k}
		}
	}
	return class.FrameRef{}
}

// at returns the frames at a location.
func (f *functions) at(id symbolize.LocationID) []candidate {
	if list, ok := f.known[id]; ok {
		return list
	}
	l := &f.symbols.Locations[id]
	classes := f.blamer.Classes(id)
	list := make([]candidate, len(l.Frames))
	for k := range l.Frames {
		list[k] = candidate{notCause, classes[k] == class.Library}
		isModule := l.Script() && l.Frames[k].Function == "<module>"
		if c := classes[k]; !isModule && (c == class.Application || c == class.Library) {
			list[k].number, _ = f.index.Number(f.keys.Key(l, k))
		}
	}
	f.known[id] = list
	return list
}
