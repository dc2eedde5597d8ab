// Package causes finds functions that explain the growth of many call paths together.
//
// A program may leak through hundreds of functions, each of which grows little, because one of
// their callers keeps what they allocate. [Find] descends from the outermost callers, as long as
// one function deeper on the stacks keeps most of the growth of the function before it. Where that
// ends, the growth spreads over several callees: the function is a cause.
//
// The result depends only on the order of the paths. The time is proportional to the number of
// their frames.
package causes

import "slices"

// Path is a call path that grew or shrank.
type Path struct {
	// Growth is in bytes. It may be negative.
	Growth int64
	// Site is the number of the site that the path belongs to.
	Site int
	// Functions are the numbers of the functions on the path that may be causes, leaf first. A
	// function that calls itself occurs several times.
	Functions []int
}

// Cause is a function and the call paths below it.
type Cause struct {
	Function int
	// Paths are indices of the paths that the function is on.
	Paths []int
	// Growth is that of the paths, in bytes.
	Growth int64
	// Sites is the number of sites that grew on these paths.
	Sites int
}

const (
	// leastShare is the least share of the whole growth that a cause explains.
	leastShare = 0.2
	// mostOfRest is the least share of what earlier causes do not explain.
	mostOfRest = 0.5
	// entryShare is the share of the growth above which a function without callers is the entry of
	// the program, on which everything depends.
	entryShare = 0.95
	// maxCauses bounds the result.
	maxCauses = 3
	// maxSteps bounds the descent: each step but the last loses a part of the growth.
	maxSteps = 64
)

// Find returns the causes of growth, which is in bytes. The cause of the largest part comes first. A
// function is not a cause if one site has most of its growth, because the site tells more.
func Find(paths []Path, growth int64) (out []Cause) {
	rest, left := make([]int, len(paths)), growth
	for i := range rest {
		rest[i] = i
	}
	for len(out) < maxCauses && left > 0 {
		c, ok := deepest(paths, rest, left)
		if !ok || float64(c.Growth) < leastShare*float64(growth) {
			break
		}
		out = append(out, c)
		rest = slices.DeleteFunc(rest, func(i int) bool { _, found := slices.BinarySearch(c.Paths, i); return found })
		left -= c.Growth
	}
	slices.SortStableFunc(out, func(a, b Cause) int { return int(min(1, max(-1, b.Growth-a.Growth))) })
	return out
}

// deepest returns the deepest function that has most of a growth and spreads it over several sites.
// ok is false if there is none, or only the entry of the program.
func deepest(paths []Path, among []int, growth int64) (c Cause, ok bool) {
	c = Cause{Function: -1, Paths: among, Growth: growth}
	for range maxSteps {
		next, found := deeper(paths, c, mostOfRest*float64(growth))
		if !found || !next.spreads(paths) {
			break
		}
		c, ok = next, true
	}
	return c, ok && !(isEntry(paths, c) && float64(c.Growth) > entryShare*float64(growth))
}

// tally is the growth of the paths on which a function is, and how far from the leaf it is on them.
type tally struct {
	growth   int64
	paths    int
	distance int // sum
	last     int // the path that was counted last
}

// deeper returns the function with the most growth among those that are nearer to the leaf than c
// on its paths, and have at least a part of the growth. Of functions with the same growth it is the
// one that is nearest to the leaf.
func deeper(paths []Path, c Cause, least float64) (Cause, bool) {
	tallies := map[int]*tally{}
	var order []int // of first appearance
	for _, i := range c.Paths {
		for d, f := range below(&paths[i], c.Function) {
			t, known := tallies[f]
			if !known {
				t = &tally{last: -1}
				tallies[f], order = t, append(order, f)
			}
			if t.last != i { // else the function calls itself
				*t = tally{t.growth + paths[i].Growth, t.paths + 1, t.distance + d, i}
			}
		}
	}
	best, found := 0, false
	for _, f := range order {
		if t := tallies[f]; float64(t.growth) >= least && (!found || t.before(*tallies[best])) {
			best, found = f, true
		}
	}
	if !found {
		return Cause{}, false
	}
	return causeOf(paths, c.Paths, best), true
}

// before reports whether a function is taken rather than another.
func (t tally) before(o tally) bool {
	if t.growth != o.growth {
		return t.growth > o.growth
	}
	return t.distance*o.paths < o.distance*t.paths
}

// below are the functions of a path that are nearer to the leaf than a function; all for -1.
func below(p *Path, function int) []int {
	if function < 0 {
		return p.Functions
	}
	return p.Functions[:max(0, slices.Index(p.Functions, function))]
}

// causeOf returns a function as the cause of the growth of those paths that it is on.
func causeOf(paths []Path, among []int, function int) Cause {
	c := Cause{Function: function}
	grown := map[int]int64{}
	for _, i := range among {
		if slices.Contains(paths[i].Functions, function) {
			c.Paths = append(c.Paths, i)
			c.Growth += paths[i].Growth
			grown[paths[i].Site] += paths[i].Growth
		}
	}
	for _, g := range grown {
		if g > 0 {
			c.Sites++
		}
	}
	return c
}

// isEntry reports whether most of the growth has no caller of the function.
func isEntry(paths []Path, c Cause) bool {
	var outermost int64
	for _, i := range c.Paths {
		if f := paths[i].Functions; f[len(f)-1] == c.Function {
			outermost += paths[i].Growth
		}
	}
	return 2*outermost > c.Growth
}

// spreads reports whether no single site has most of the growth of a cause.
func (c *Cause) spreads(paths []Path) bool {
	grown := map[int]int64{}
	for _, i := range c.Paths {
		grown[paths[i].Site] += paths[i].Growth
	}
	for _, g := range grown {
		if 2*g > c.Growth {
			return false
		}
	}
	return true
}
