package period_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/period"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

func open(t *testing.T, path string) *series.Series {
	t.Helper()
	s, err := series.Open([]string{testutil.Data(t, path)}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestMoments uses 24 snapshots, one every two seconds.
func TestMoments(t *testing.T) {
	s := open(t, "leaky")
	for text, want := range map[string][2]int{
		"1":                         {0, 0},
		"24":                        {23, 23},
		"0s":                        {0, 0},
		"9s":                        {5, 4},
		"10s":                       {5, 5},
		"1h":                        {24, 23},
		"-1s":                       {0, -1},
		"2026-11-21T06:40:11Z":      {8, 8},
		"2026-11-21 06:40:11":       {8, 8},
		"2026-11-21T07:40:11+01:00": {8, 8},
		"2026-11-22":                {24, 23},
		"2026-11-21":                {0, -1},
	} {
		start, err := period.Start(s, text)
		require.NoError(t, err, text)
		end, err := period.End(s, text)
		require.NoError(t, err, text)
		require.Equal(t, want, [2]int{start, end}, text)
	}
}

// TestTime: the number of a snapshot is its time, and a time need not be that of one.
func TestTime(t *testing.T) {
	s := open(t, "leaky")
	for text, want := range map[string]string{"1": "06:39:55", "24": "06:40:41", "9s": "06:40:04", "2026-11-21T06:40:11Z": "06:40:11"} {
		got, err := period.Time(s, text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.UTC().Format(time.TimeOnly), text)
	}
	_, err := period.Time(s, "soon")
	require.ErrorContains(t, err, "want the number of a snapshot")
}

func TestErrors(t *testing.T) {
	s := open(t, "leaky")
	for text, want := range map[string]string{
		"0": "snapshots 1 to 24", "25": "snapshots 1 to 24", "-1": "snapshots 1 to 24", "soon": "want the number of a snapshot", "": "want the number of a snapshot",
	} {
		_, err := period.Start(s, text)
		require.ErrorContains(t, err, want, text)
		_, err = period.End(s, text)
		require.ErrorContains(t, err, want, text)
	}
}
