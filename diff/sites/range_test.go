package sites

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// TestTheExitEndsNoJudgedSeries: the trigger tells which snapshots a program took when it exited, or the heap does,
// of which little is left.
func TestTheExitEndsNoJudgedSeries(t *testing.T) {
	for name, c := range map[string]struct {
		inuse  []int64
		exits  int // the last snapshots that have the exit as their trigger
		atExit int
	}{
		"the heap is freed":                      {[]int64{10, 20, 30, 40, 50, 60, 70, 5}, 0, 1},
		"two snapshots of the end":               {[]int64{10, 20, 30, 40, 50, 60, 70, 5, 5}, 0, 2},
		"nothing is freed, and the trigger says": {[]int64{10, 20, 30, 40, 50, 60, 70, 70}, 1, 1},
		"the trigger says it of two":             {[]int64{10, 20, 30, 40, 50, 60, 70, 70, 65}, 2, 2},
		"the program runs":                       {[]int64{10, 20, 30, 40, 50, 60, 70, 80}, 0, 0},
		"emptied from time to time":              {[]int64{10, 50, 90, 12, 50, 90, 50, 11}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &series.Series{}
			for i, n := range c.inuse {
				head := &series.Head{Index: i}
				head.Completeness.Estimate = heapfile.Counts{InuseBytes: n << 20}
				trigger := filename.TriggerTime
				if i >= len(c.inuse)-c.exits {
					trigger = filename.TriggerExit
				}
				s.Heads, s.Triggers = append(s.Heads, head), append(s.Triggers, trigger)
				s.Clock.At, s.CPU = append(s.Clock.At, float64(i)), append(s.CPU, nil)
			}
			r := JudgedRange(s, 0, 0)
			require.Equal(t, c.atExit, r.AtExit)
			require.Equal(t, len(c.inuse)-c.atExit, r.Len())
		})
	}
}
