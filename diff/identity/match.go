package identity

import (
	"cmp"
	"slices"
	"strings"
)

// Tier is the step at which sites were matched.
type Tier uint8

// Tiers, the surest first.
const (
	ByPlace      Tier = iota // build ID and offset of every frame
	ByFile                   // path and offset of every frame, of files without a build ID that seem to be the same
	ByNames                  // every function, leaf to root
	ByCallers                // the function to blame and its next four callers, without template arguments
	BySimilarity             // the same function to blame, and four fifths of all functions
	ByBlame                  // the function to blame
	Unmatched
)

var tierNames = [...]string{"build-id", "file", "names", "callers", "similar", "function", "unmatched"}

// String is the stable name used in JSON.
func (t Tier) String() string { return tierNames[t] }

// Match is the sites of two sides that are the same, as indices; one side is empty for Unmatched.
// There may be several of a side: a loose key does not tell them apart.
type Match struct {
	Tier          Tier
	Base, Current []int
}

// Pair matches two sides. Every site is in exactly one match. The order is that of the sites of
// current, then of those that only base has.
func Pair(base, current []Site) []Match {
	p := newPairer(base, current)
	p.byKey(ByPlace, func(s Site) string { return s.Place })
	p.byKey(ByFile, func(s Site) string { return s.Offsets })
	p.byKey(ByNames, func(s Site) string { return strings.Join(s.Frames, "\x00") })
	p.byKey(ByCallers, callersKey)
	p.bySimilarity()
	p.byKey(ByBlame, blameKey)
	return p.done()
}

// PairPlaces is Pair for two sides of one process image, where places alone tell sites apart: what
// is elsewhere is another site.
func PairPlaces(base, current []Site) []Match {
	p := newPairer(base, current)
	p.byKey(ByPlace, func(s Site) string { return s.Place })
	return p.done()
}

func newPairer(base, current []Site) *pairer {
	return &pairer{sides: [2][]Site{base, current}, left: [2][]int{all(len(base)), all(len(current))}}
}

// done adds what nothing matched, and sorts.
func (p *pairer) done() []Match {
	for _, i := range p.left[0] {
		p.out = append(p.out, Match{Tier: Unmatched, Base: []int{i}})
	}
	for _, i := range p.left[1] {
		p.out = append(p.out, Match{Tier: Unmatched, Current: []int{i}})
	}
	slices.SortFunc(p.out, compareMatches)
	return p.out
}

func compareMatches(a, b Match) int {
	if len(a.Current) > 0 && len(b.Current) > 0 {
		return cmp.Compare(a.Current[0], b.Current[0])
	}
	if len(a.Current) == 0 && len(b.Current) == 0 {
		return cmp.Compare(a.Base[0], b.Base[0])
	}
	return cmp.Compare(len(b.Current), len(a.Current))
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// nearCallers is the number of callers that ByCallers compares.
const nearCallers = 4

func callersKey(s Site) string {
	if s.Blame < 0 {
		return ""
	}
	near := s.Frames[s.Blame:min(len(s.Frames), s.Blame+1+nearCallers)]
	parts := make([]string, len(near))
	for i, f := range near {
		parts[i] = Untemplated(f)
	}
	return strings.Join(parts, "\x00")
}

func blameKey(s Site) string {
	if s.Blame < 0 {
		return ""
	}
	return Untemplated(s.Frames[s.Blame])
}

type pairer struct {
	sides [2][]Site
	left  [2][]int // not matched yet
	out   []Match
}

// byKey matches all sites of the same key; "" matches nothing.
func (p *pairer) byKey(tier Tier, key func(Site) string) {
	groups, order := p.group(key)
	for _, k := range order {
		if g := groups[k]; len(g[0]) > 0 && len(g[1]) > 0 {
			p.take(Match{tier, g[0], g[1]})
		}
	}
	p.sweep()
}

// group sorts what is left by key, in order of first appearance.
func (p *pairer) group(key func(Site) string) (groups map[string]*[2][]int, order []string) {
	groups = map[string]*[2][]int{}
	for side := range p.sides {
		for _, i := range p.left[side] {
			k := key(p.sides[side][i])
			if k == "" {
				continue
			}
			if groups[k] == nil {
				groups[k] = &[2][]int{}
				order = append(order, k)
			}
			groups[k][side] = append(groups[k][side], i)
		}
	}
	return groups, order
}

func (p *pairer) take(m Match) { p.out = append(p.out, m) }

// sweep takes what was matched out of what is left.
func (p *pairer) sweep() {
	var taken [2]map[int]bool
	taken[0], taken[1] = map[int]bool{}, map[int]bool{}
	for _, m := range p.out {
		for _, i := range m.Base {
			taken[0][i] = true
		}
		for _, i := range m.Current {
			taken[1][i] = true
		}
	}
	for side := range p.left {
		p.left[side] = slices.DeleteFunc(p.left[side], func(i int) bool { return taken[side][i] })
	}
}

const (
	// similar is the share of functions that two stacks have in common to be taken for one.
	similar = 0.8
	// maxSimilar bounds the pairs that are compared within one function to blame.
	maxSimilar = 1 << 20
)

// bySimilarity matches, within one function to blame, each site with the most similar one.
func (p *pairer) bySimilarity() {
	groups, order := p.group(blameKey)
	for _, k := range order {
		g := groups[k]
		if len(g[0])*len(g[1]) <= maxSimilar {
			p.similarIn(g[0], g[1])
		}
	}
	p.sweep()
}

type likeness struct {
	base, current int
	share         float64
}

func (p *pairer) similarIn(base, current []int) {
	var list []likeness
	sets := make([]map[string]bool, len(base))
	for i, b := range base {
		sets[i] = frameSet(p.sides[0][b])
	}
	for _, c := range current {
		set := frameSet(p.sides[1][c])
		for i, b := range base {
			if s := jaccard(sets[i], set); s >= similar {
				list = append(list, likeness{b, c, s})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y likeness) int { return cmp.Compare(y.share, x.share) })
	usedBase, usedCurrent := map[int]bool{}, map[int]bool{}
	for _, l := range list {
		if usedBase[l.base] || usedCurrent[l.current] {
			continue
		}
		usedBase[l.base], usedCurrent[l.current] = true, true
		p.take(Match{BySimilarity, []int{l.base}, []int{l.current}})
	}
}

func frameSet(s Site) map[string]bool {
	out := map[string]bool{}
	for _, f := range s.Frames {
		out[Untemplated(f)] = true
	}
	return out
}

// jaccard is the size of the intersection over that of the union.
func jaccard(a, b map[string]bool) float64 {
	both := 0
	for f := range a {
		if b[f] {
			both++
		}
	}
	return float64(both) / float64(max(len(a)+len(b)-both, 1))
}
