package growth

import (
	"slices"

	"github.com/heaplapse/heaplapse/diff/causes"
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

// addCauses adds the causes to a result.
func (j *judgement) addCauses(r *Result, members [][]symbolize.SiteID, l listing) {
	r.Causes = j.causes(members, l.explained)
	if r.onlySmallGrow() && len(r.Causes) == 0 {
		r.Causes = j.smallSites(r, l.smallMembers)
	}
	leaking := map[symbolize.SiteID]bool{}
	for i := range r.Causes {
		c := &r.Causes[i]
		r.Chance = max(r.Chance, c.Confidence)
		if c.Label.IsLeak() {
			r.LeakingCauses++
			for _, id := range c.Members {
				leaking[id] = true
			}
		}
	}
	if r.LeakingCauses == 0 {
		return
	}
	for i := range r.Sites {
		members, _ := r.Sites[i].Leaking()
		for _, id := range members {
			leaking[id] = true
		}
	}
	var explained int64
	for id := range leaking {
		explained += j.scope.gained(j.columns[id])
	}
	r.Explained = max(0, min(1, float64(explained)/float64(j.heapGained)))
}

// smallSites is the sum of the small sites as a cause; none if it does not leak.
func (j *judgement) smallSites(r *Result, members []symbolize.SiteID) []Cause {
	share := min(1, float64(r.SmallBytes)/float64(j.heapGained))
	c := Cause{Site: j.site(members, 0), Sites: r.Small, Share: share, Small: true}
	r.Tested++
	if !c.Label.IsSuspicious() {
		return nil
	}
	return []Cause{c}
}

// causes are the functions that explain the growth of many sites, if their sum may leak. members are
// the sites by group. Growth that is explained, and that of code of modules, which runs once, is no part of it.
func (j *judgement) causes(members [][]symbolize.SiteID, explained map[symbolize.SiteID]bool) (out []Cause) {
	least := int64(j.options.MinGrowth)
	left := j.heapGained
	if left < least {
		return nil
	}
	functions := newFunctions(j)
	var paths []causes.Path
	var ids []symbolize.SiteID
	for n, group := range members {
		for _, id := range group {
			switch gained := j.scope.gained(j.columns[id]); {
			case gained == 0:
			case explained[id], j.blamer.Importing(j.stack(id)):
				left -= gained
			default:
				paths = append(paths, causes.Path{Growth: gained, Site: n, Functions: functions.of(id)})
				ids = append(ids, id)
			}
		}
	}
	for _, found := range causes.Find(paths, left) {
		var below []symbolize.SiteID
		for _, i := range found.Paths {
			below = append(below, ids[i])
		}
		c := Cause{Site: j.site(below, 0), Sites: found.Sites, Share: min(1, float64(found.Growth)/float64(j.heapGained))}
		c.Blame = functions.find(c.Members[0], found.Function)
		if found.Growth >= least && c.Label.IsSuspicious() {
			out = append(out, c)
		}
	}
	return out
}

// functions numbers the functions that may be causes: those of the program and of its libraries. The
// code of a Python module is no function: all that a program does is below that of its main module.
type functions struct {
	j     *judgement
	keys  *group.Functions
	index group.Index
	known map[symbolize.LocationID][]candidate // by frame
}

// candidate is a frame that may be a cause.
type candidate struct {
	number  int // notCause if it cannot be one
	library bool
}

// notCause is the number of a frame that cannot be a cause: a runtime, or one without a name.
const notCause = -1

func newFunctions(j *judgement) *functions {
	return &functions{j: j, keys: group.NewFunctions(j.symbols), known: map[symbolize.LocationID][]candidate{}}
}

// of returns the functions of a site's call path, leaf first. A function of a library that calls the program's own
// code, such as that of a web framework, is none: it does not request what the program keeps.
func (f *functions) of(id symbolize.SiteID) (out []int) {
	own := false
	for _, l := range f.j.stack(id) {
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

// find returns the frame of a function on a site's call path, the nearest one to the leaf.
func (f *functions) find(id symbolize.SiteID, function int) class.FrameRef {
	for i, l := range f.j.stack(id) {
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
	l := &f.j.symbols.Locations[id]
	classes := f.j.blamer.Classes(id)
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
