package sites

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/filename"
)

// TestTheExitEndsNoJudgedSeries: the trigger tells which snapshots a program took when it exited, or the heap does,
// of which little is left.
func TestTheExitEndsNoJudgedSeries(t *testing.T) {
	for name, c := range map[string]struct {
		inuse  []float64 // MiB, after the 5 with which recorded begins
		exits  int       // the last snapshots that have the exit as their trigger
		atExit int
	}{
		"the heap is freed":                      {[]float64{10, 20, 30, 40, 50, 60, 70, 5}, 0, 1},
		"two snapshots of the end":               {[]float64{10, 20, 30, 40, 50, 60, 70, 5, 5}, 0, 2},
		"nothing is freed, and the trigger says": {[]float64{10, 20, 30, 40, 50, 60, 70, 70}, 1, 1},
		"the trigger says it of two":             {[]float64{10, 20, 30, 40, 50, 60, 70, 70, 65}, 2, 2},
		"the program runs":                       {[]float64{10, 20, 30, 40, 50, 60, 70, 80}, 0, 0},
		"emptied from time to time":              {[]float64{10, 50, 90, 12, 50, 90, 50, 11}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var minutes []minute
			before := 5.0
			for _, n := range c.inuse {
				minutes = append(minutes, minute{cpu: 10, grew: n - before})
				before = n
			}
			s := recorded(minutes...)
			s.Triggers = make([]filename.Trigger, len(s.Heads))
			for i := range c.exits {
				s.Triggers[len(s.Heads)-1-i] = filename.TriggerExit
			}
			r := JudgedRange(s, 0, 0)
			require.Equal(t, c.atExit, r.AtExit)
			require.Equal(t, len(s.Heads)-c.atExit, r.Len())
		})
	}
}
