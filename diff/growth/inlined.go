package growth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize"
)

// A just-in-time compiler may compile a function into its caller while the process runs. The call paths of the
// function then end, and others begin that are the same but for it. They are one site, unless the allocator recorded a
// part of the stack only: that of the caller then has another outermost frame.

const (
	// mostGenerated bounds the call paths of generated code that are looked at: those that grew most.
	mostGenerated = 512
	// mostFrames bounds the frames of each of them: the innermost ones.
	mostFrames = 128
	// mostPairs bounds the pairs of groups that are compared.
	mostPairs = 1024
	// Call paths that continue others gain at least this share of the least growth that counts.
	leastInlined = 1.0 / 16
	// A site has ended if it then varies by at most this share of its growth.
	goesOn = 0.05
	// Rates of one leak differ by at most this factor.
	otherRate = 2
)

// generatedPath is a call path through generated code that grew.
type generatedPath struct {
	site   symbolize.SiteID
	gained int64
	late   bool // it had nothing in use at first
	// frames are numbers of functions, the innermost first. Those of generated functions are negative.
	frames []int
}

// isWithout reports whether a path is another one without some of its generated functions.
func (p *generatedPath) isWithout(whole *generatedPath) bool {
	rest := p.frames
	for i, f := range whole.frames {
		switch {
		case len(rest) > len(whole.frames)-i:
			return false
		case len(rest) > 0 && rest[0] == f:
			rest = rest[1:]
		case f >= 0:
			return false
		}
	}
	return len(rest) == 0 && len(p.frames) < len(whole.frames)
}

// inliner finds call paths that continue those of other groups.
type inliner struct {
	*judgement
	groups [][]symbolize.SiteID
	of     map[symbolize.SiteID]int // the group of a call path
	// joined are the call paths that were moved to a group.
	joined map[int][]symbolize.SiteID
}

// joinInlined moves call paths that continue those of another group to that group, if they leak together. Groups may be
// empty then.
func (j *judgement) joinInlined(groups [][]symbolize.SiteID) {
	n := inliner{j, groups, map[symbolize.SiteID]int{}, map[int][]symbolize.SiteID{}}
	joins := slices.DeleteFunc(n.pairs(n.paths()), func(p pair) bool { return p.begin < 0 })
	// Three call paths in a row are joined from the last one on.
	slices.SortStableFunc(joins, func(a, b pair) int { return cmp.Compare(b.begin, a.begin) })
	for _, p := range joins {
		n.join(p)
	}
}

// join moves the later call paths of a pair, with those that continue them, to the group of the earlier ones.
func (j *inliner) join(p pair) {
	from, to := j.of[p.after[0]], j.of[p.before[0]]
	moved := append(slices.Clone(p.after), j.joined[from]...)
	whole := append(slices.Clone(j.groups[to]), moved...)
	if from == to || len(j.groups[from]) == 0 || !j.site(whole, j.crowd.inStep(to)).Label.IsLeak() {
		return
	}
	isMoved := func(m symbolize.SiteID) bool { return slices.Contains(moved, m) }
	j.groups[from] = slices.DeleteFunc(j.groups[from], isMoved)
	j.groups[to] = whole
	j.joined[to] = append(j.joined[to], moved...)
	for _, site := range moved {
		j.of[site] = to
	}
}

// paths returns the call paths through generated code that grew, those that grew most first.
func (j *inliner) paths() []generatedPath {
	generated := map[symbolize.LocationID]bool{}
	for i := range j.symbols.Locations {
		if inlinable(&j.symbols.Locations[i]) {
			generated[symbolize.LocationID(i)] = true
		}
	}
	if len(generated) == 0 {
		return nil
	}
	isGenerated := func(id symbolize.LocationID) bool { return generated[id] }
	var out []generatedPath
	for i, members := range j.groups {
		for _, site := range members {
			first, last := j.scope.ends(j.columns[site])
			if last > first && slices.ContainsFunc(j.stack(site), isGenerated) {
				out = append(out, generatedPath{site: site, gained: last - first, late: first == 0})
				j.of[site] = i
			}
		}
	}
	slices.SortStableFunc(out, func(a, b generatedPath) int { return cmp.Compare(b.gained, a.gained) })
	out = out[:min(len(out), mostGenerated)]
	numbers := map[string]int{}
	for i := range out {
		out[i].frames = j.frames(out[i].site, numbers)
	}
	return out
}

// inlinable reports whether a compiler that runs in the process may compile a function into others.
func inlinable(l *symbolize.Location) bool {
	return l.Source == symbolize.SourcePerfMap || l.Source == symbolize.SourceJITDump
}

// dispatch is in the names of V8's own code between JavaScript and the native functions that it calls. Which of it is
// on a stack depends on how the caller was compiled.
var dispatch = [...]string{
	"Builtins_", "v8::internal::Builtin_", "v8::internal::FunctionCallbackArguments::", "HandleApiCallHelper<",
}

func isDispatch(name string) bool {
	return slices.ContainsFunc(dispatch[:], func(part string) bool { return strings.Contains(name, part) })
}

// frames numbers the functions of a call path, without V8's dispatch.
func (j *inliner) frames(site symbolize.SiteID, numbers map[string]int) (out []int) {
	stack := j.stack(site)
	for _, id := range stack[:min(len(stack), mostFrames)] {
		l := &j.symbols.Locations[id]
		name, sign := j.symbols.Label(l), 1
		if l.Named() {
			f := &l.Frames[len(l.Frames)-1]
			name = fmt.Sprint(f.Function, "\x00", f.File, "\x00", f.StartLine) // many functions are anonymous
		}
		if inlinable(l) {
			sign = -1
		} else if isDispatch(name) {
			continue
		}
		n, known := numbers[name]
		if !known {
			n = len(numbers) + 1
			numbers[name] = n
		}
		out = append(out, sign*n)
	}
	return out
}

// pair is call paths of a group, and those of another one that differ from them in inlined functions only.
type pair struct {
	before, after []symbolize.SiteID
	begin         int // the point at which those of the second group take over; -1 if they do not
}

// pairs compares call paths of different groups.
func (j *inliner) pairs(paths []generatedPath) (out []pair) {
	index := map[[2]int]int{}
	for i := range paths {
		for k := range paths {
			whole, p := &paths[i], &paths[k]
			key := [2]int{j.of[whole.site], j.of[p.site]}
			if !p.late || key[0] == key[1] || !p.isWithout(whole) {
				continue
			}
			n, known := index[key]
			if !known {
				if len(out) == mostPairs {
					continue
				}
				n, index[key] = len(out), len(out)
				out = append(out, pair{})
			}
			out[n].before, out[n].after = withSite(out[n].before, whole.site), withSite(out[n].after, p.site)
		}
	}
	for i := range out {
		out[i].begin = j.takeOver(j.sum(out[i].before), j.sum(out[i].after))
	}
	return out
}

func withSite(list []symbolize.SiteID, site symbolize.SiteID) []symbolize.SiteID {
	if slices.Contains(list, site) {
		return list
	}
	return append(list, site)
}

// sum is the curve of some call paths; it is shorter than the judged snapshots if one of them hides it.
func (j *inliner) sum(ids []symbolize.SiteID) []float64 {
	live, _ := j.scope.live(sumOf(j.columns, ids, j.scope.series.Heads))
	return live
}

// takeOver returns the point from which on a curve goes on with the growth of another one, which ends there, at a
// similar rate; -1 if there is none.
func (j *inliner) takeOver(old, now []float64) int {
	last, least := j.scope.Len()-1, leastInlined*j.options.MinGrowth
	if len(old) <= last || len(now) <= last || now[last] < least || old[last]-old[0] < least {
		return -1 // hidden, or small
	}
	begin := slices.IndexFunc(now, func(bytes float64) bool { return bytes > 0 })
	if begin < 2 || max(old[begin-1], old[begin]) <= old[begin-2] {
		return -1 // the old one had ended before
	}
	if rest := old[begin:]; slices.Max(rest)-slices.Min(rest) > goesOn*(old[begin]-old[0]) {
		return -1
	}
	from := begin / 2
	before := (old[begin] - old[from]) / j.elapsed(from, begin)
	after := now[last] / j.elapsed(begin-1, last)
	if !(after <= otherRate*before && before <= otherRate*after) {
		return -1
	}
	return begin
}

// elapsed is the time between two points, or their distance if the times are not known.
func (j *inliner) elapsed(from, to int) float64 {
	if clock := j.scope.series.Clock; clock.Source.IsTime() {
		return clock.At[j.scope.First+to] - clock.At[j.scope.First+from]
	}
	return float64(to - from)
}
