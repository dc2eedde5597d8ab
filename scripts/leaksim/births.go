package leaksim

import (
	"fmt"
	"math"
	"strings"

	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
)

// born returns what a unit has in use in a snapshot, and the comment that tells when it was allocated, as the recorder
// writes it. r has the cumulative counts. The comment has the moments of all snapshots so far; the recorder drops some
// if there are more than 40. The snapshot of the exit has no comment.
func (p *Process) born(unit int, s shot, r memory.Point) (memory.Point, string) {
	if s.exit {
		return r, ""
	}
	var comment strings.Builder
	var sum estimates
	r.Live, r.Bytes = 0, 0
	for interval, counts := range s.image.births[unit][s.mark] {
		for class, n := range counts {
			c := s.image.classes[unit][s.mark][class]
			objects := float64(n) / c.Chance
			sum.add(estimates{objects: objects, bytes: objects * float64(c.Size)})
		}
		// What is rounded are the sums up to here, so that the last one is nearly the sum of all.
		objects, size := int64(math.Round(sum.objects))-r.Live, int64(math.Round(sum.bytes))-r.Bytes
		if objects <= 0 && size <= 0 {
			continue
		}
		r.Live, r.Bytes = r.Live+objects, r.Bytes+size
		fmt.Fprintf(&comment, " %d:%d:%d", s.moments[interval].UnixMilli(), objects, size)
	}
	if comment.Len() == 0 {
		return r, ""
	}
	return r, "# births" + comment.String() + "\n"
}
