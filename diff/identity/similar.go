package identity

import (
	"cmp"
	"slices"
)

const (
	// leastSimilar is the share of functions that two stacks must have in common.
	leastSimilar = 0.8
	// maxSimilar bounds the pairs that are compared within one function.
	maxSimilar = 1 << 20
)

// matchSimilar matches, among the sites that are attributed to one function, each with the most
// similar one of the other side. A site is in one match at most.
func matchSimilar(s sides, left remaining) (out []Match) {
	for _, g := range groupBy(s, left, Site.Function) {
		if len(g[0])*len(g[1]) > maxSimilar {
			continue
		}
		used := [2]map[int]bool{{}, {}}
		for _, l := range similarities(s, g) {
			if !used[0][l.base] && !used[1][l.current] {
				used[0][l.base], used[1][l.current] = true, true
				out = append(out, Match{BySimilarity, []int{l.base}, []int{l.current}})
			}
		}
	}
	return out
}

type similarity struct {
	base, current int
	share         float64 // of the functions that are on both stacks
}

// similarities are the pairs that are similar enough, the most similar first.
func similarities(s sides, group remaining) (out []similarity) {
	base := make([]map[string]bool, len(group[0]))
	for i, b := range group[0] {
		base[i] = functions(s[0][b])
	}
	for _, c := range group[1] {
		current := functions(s[1][c])
		for i, b := range group[0] {
			if share := jaccard(base[i], current); share >= leastSimilar {
				out = append(out, similarity{b, c, share})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y similarity) int { return cmp.Compare(y.share, x.share) })
	return out
}

// functions are those on a stack, without template arguments.
func functions(s Site) map[string]bool {
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
