package page

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// longSeries has n snapshots a second apart with a peak, two process images and one odd trigger.
func longSeries(n, peak, restart, odd int) *series.Series {
	s := &series.Series{}
	for i := range n {
		h := &series.Head{Index: i}
		h.Completeness.Estimate.InuseBytes = 1
		if i == peak {
			h.Completeness.Estimate.InuseBytes = 2
		}
		trigger := filename.TriggerTime
		if i >= restart {
			h.Image = 1
		}
		if i == odd {
			trigger = filename.TriggerManual
		}
		s.Heads = append(s.Heads, h)
		s.Triggers = append(s.Triggers, trigger)
		s.Clock.At = append(s.Clock.At, float64(i))
	}
	return s
}

func TestMomentsOfALongSeries(t *testing.T) {
	s := longSeries(1000, 333, 700, 444)
	got := chooseMoments(s, &growth.Result{Range: sites.Range{First: 700, Last: 998}}, DefaultMoments)
	require.Len(t, got, DefaultMoments)
	require.True(t, slices.IsSorted(got))
	for _, i := range []int{0, 333, 444, 445, 699, 700, 998, 999} {
		require.Contains(t, got, i)
	}
	widest := 0
	for i := 1; i < len(got); i++ {
		widest = max(widest, got[i]-got[i-1])
	}
	require.LessOrEqual(t, widest, 8, "evenly spaced in time: 1000/240 is 4.2")
}

func TestAShortSeriesIsShownWhole(t *testing.T) {
	s := longSeries(240, 0, 240, -1)
	require.Equal(t, upTo(240), chooseMoments(s, &growth.Result{Range: sites.Range{Last: 239}}, DefaultMoments))
}

// TestManyTurnsLeaveRoom: the restarts of a process leave room for other moments.
func TestMomentsOfManyRestarts(t *testing.T) {
	s := longSeries(1000, 0, 1000, -1)
	for i, h := range s.Heads {
		h.Image = i / 2
	}
	for _, limit := range []int{2, 3, 10, 240} {
		got := chooseMoments(s, &growth.Result{Range: sites.Range{Last: 1}}, limit)
		require.Len(t, got, limit)
		require.Equal(t, 0, got[0])
		require.Equal(t, 999, got[len(got)-1])
	}
}

// TestEqualTimes: snapshots may have the same time.
func TestEqualTimes(t *testing.T) {
	s := longSeries(1000, 0, 1000, -1)
	for i := range s.Clock.At {
		s.Clock.At[i] = float64(i / 900)
	}
	require.Len(t, chooseMoments(s, &growth.Result{Range: sites.Range{Last: 999}}, 240), 240)
}
