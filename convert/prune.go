package convert

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
)

// foldedName is the function of the sample that replaces the folded ones.
const foldedName = "(folded samples)"

// prune folds the smallest samples into one, so that at most limit samples remain. The totals do
// not change. A note gives the number of folded samples and their size.
func (s *Samples) prune(limit int) {
	if limit <= 0 || len(s.rows) <= limit {
		return
	}
	keep := max(limit-1, 0)
	order := slices.Clone(s.rows)
	slices.SortStableFunc(order, func(a, b sample) int { return cmp.Compare(weight(b), weight(a)) })
	dropped := map[heapfile.StackID]bool{}
	for _, r := range order[keep:] {
		dropped[r.stack] = true
		s.other = s.other.Add(r.Counts)
	}
	s.folded = len(dropped)
	s.rows = slices.DeleteFunc(s.rows, func(r sample) bool { return dropped[r.stack] })
	s.notes = append(s.notes, fmt.Sprintf("%d samples with %d bytes in use were folded into one, to keep at most %d",
		s.folded, s.other.InuseBytes, limit))
}

// weight orders samples by size: by bytes in use, then by bytes allocated.
func weight(r sample) float64 {
	abs := func(v int64) float64 { return max(float64(v), -float64(v)) }
	return abs(r.InuseBytes) + abs(r.AllocBytes)*1e-6
}
