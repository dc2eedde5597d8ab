package series_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

func TestProcessThatGrewLatelyIsSelected(t *testing.T) {
	const (
		grew    = "its heap grew most in the later half of its snapshots"
		largest = "no heap grew lately, and of those with enough snapshots it has the largest"
		few     = "no heap grew lately, and of those with most snapshots it has the largest"
	)
	for rule, c := range map[string]struct {
		first, second []int // sizes of the heap of the processes 10 and 20
		want          int
		why           string
	}{
		"a parent that has loaded its program, and a worker": {
			[]int{0, 900, 900, 900, 900, 900, 900, 900}, []int{300, 310, 320, 330, 340, 350}, 20, grew},
		"two that grow":                  {[]int{0, 10, 20, 30, 40, 50}, []int{0, 11, 22, 33, 44, 55}, 20, grew},
		"a worker that freed its memory": {[]int{9, 9, 9, 9, 9, 9, 9}, []int{1, 10, 20, 30, 40, 50, 2}, 20, grew},
		"one that freed it in steps":     {[]int{9, 9, 9, 9, 9, 9, 10}, []int{1, 10, 20, 30, 40, 50, 60, 20, 8, 2}, 20, grew},
		"too few snapshots for a verdict": {
			[]int{1, 2, 3, 4, 5, 6}, []int{0, 900, 2000}, 10, grew},
		"an empty parent, and a worker that shrinks": {
			[]int{0, 0, 0, 0, 0, 0, 0, 0}, []int{9, 8, 7, 6, 5, 4}, 20, largest},
		"a small one that was recorded for longer": {
			[]int{3, 3, 3, 3, 3, 3, 3, 3, 3}, []int{50, 50, 50, 50, 50, 50}, 20, largest},
		"none that grows":       {[]int{5, 5, 5, 5, 5, 5}, []int{7, 7, 7, 7, 7, 7}, 20, largest},
		"a shell and a program": {[]int{9}, []int{5, 5, 5}, 20, few},
		"one snapshot of each":  {[]int{5}, []int{4}, 10, few},
		"none that differs":     {[]int{5, 5}, []int{5, 5}, 10, few},
	} {
		t.Run(rule, func(t *testing.T) {
			files := map[string]string{}
			for pid, sizes := range map[int][]int{10: c.first, 20: c.second} {
				for i, size := range sizes {
					files[fmt.Sprintf("p_%d.%04d.heap", pid, i+1)] = heap(size, 1000*(i+1))
				}
			}
			s := open(t, series.Options{}, put(t, files))
			require.Equal(t, c.want, s.Process.PID)
			require.Equal(t, c.why, s.Chosen)
			require.Contains(t, heaptest.Find(t, s.Warnings, heapfile.WarnManyProcesses).Msg,
				fmt.Sprintf("reading %d with %d snapshots, because %s; ignored: %d", c.want, len(s.Heads), c.why, 30-c.want))
		})
	}
}

func TestWarningOfManyProcessesIsShort(t *testing.T) {
	files := map[string]string{}
	for pid := range 9 {
		files[fmt.Sprintf("p_%d.0001.heap", pid+1)] = heap(1, 1)
	}
	s := open(t, series.Options{}, put(t, files))
	require.Contains(t, heaptest.Find(t, s.Warnings, heapfile.WarnManyProcesses).Msg, "ignored: 2, 3, 4 and 5 more")
}

func TestNoReasonForAProcessThatTheUserChose(t *testing.T) {
	require.Empty(t, open(t, series.Options{Process: "4712"}, processes(t)).Chosen)
}
