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
	ByCallers                // the blamed function and its next four callers, without template arguments
	BySimilarity             // the same blamed function, and four fifths of all functions
	ByBlame                  // the blamed function
	Unmatched
)

var tierNames = [...]string{"build-id", "file", "names", "callers", "similar", "function", "unmatched"}

// String returns the stable name used in JSON.
func (t Tier) String() string { return tierNames[t] }

// Match is the sites of two sides that are the same, as indices. One side is empty for Unmatched. A
// side has several sites where a loose key is that of all of them.
type Match struct {
	Tier          Tier
	Base, Current []int
}

// Pair matches two sides. Every site is in exactly one match. Matches are in the order of the sites
// of current, followed by the sites that only base has.
func Pair(base, current []Site) []Match {
	return match(base, current,
		keyTier(ByPlace, placeKey),
		keyTier(ByFile, func(s Site) string { return s.Offsets }),
		keyTier(ByNames, func(s Site) string { return strings.Join(s.Frames, "\x00") }),
		keyTier(ByCallers, callersKey),
		matchSimilar,
		keyTier(ByBlame, Site.Function))
}

// PairPlaces is Pair for two sides of one process image, where sites at different places are
// different sites.
func PairPlaces(base, current []Site) []Match {
	return match(base, current, keyTier(ByPlace, placeKey))
}

func placeKey(s Site) string { return s.Place }

// sides are the sites of base and current.
type sides [2][]Site

// remaining are the indices of the sites of both sides that are not matched yet.
type remaining [2][]int

// tier finds matches among the remaining sites.
type tier func(sides, remaining) []Match

// match applies tiers, each to what the tiers before it left over.
func match(base, current []Site, tiers ...tier) []Match {
	s, left := sides{base, current}, remaining{indices(len(base)), indices(len(current))}
	var out []Match
	for _, find := range tiers {
		found := find(s, left)
		out = append(out, found...)
		left = left.without(found)
	}
	for _, i := range left[0] {
		out = append(out, Match{Tier: Unmatched, Base: []int{i}})
	}
	for _, i := range left[1] {
		out = append(out, Match{Tier: Unmatched, Current: []int{i}})
	}
	slices.SortFunc(out, compareMatches)
	return out
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// without are the sites that none of the matches has.
func (r remaining) without(matches []Match) remaining {
	var taken [2]map[int]bool
	taken[0], taken[1] = map[int]bool{}, map[int]bool{}
	for _, m := range matches {
		for side, members := range [2][]int{m.Base, m.Current} {
			for _, i := range members {
				taken[side][i] = true
			}
		}
	}
	var out remaining
	for side := range r {
		for _, i := range r[side] {
			if !taken[side][i] {
				out[side] = append(out[side], i)
			}
		}
	}
	return out
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

// keyTier matches all sites of the same key; "" matches nothing.
func keyTier(t Tier, key func(Site) string) tier {
	return func(s sides, left remaining) (out []Match) {
		for _, g := range groupBy(s, left, key) {
			if len(g[0]) > 0 && len(g[1]) > 0 {
				out = append(out, Match{t, g[0], g[1]})
			}
		}
		return out
	}
}

// groupBy puts the remaining sites of the same key together, in order of first appearance. Sites
// with the key "" are left out.
func groupBy(s sides, left remaining, key func(Site) string) (groups []remaining) {
	numbers := map[string]int{}
	for side := range s {
		for _, i := range left[side] {
			k := key(s[side][i])
			if k == "" {
				continue
			}
			n, known := numbers[k]
			if !known {
				n = len(groups)
				numbers[k] = n
				groups = append(groups, remaining{})
			}
			groups[n][side] = append(groups[n][side], i)
		}
	}
	return groups
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
