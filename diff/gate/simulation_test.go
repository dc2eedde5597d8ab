package gate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// rates returns the shares of simulated nights on which an unchanged program fails, and on which
// one whose hot function holds 50 % more fails for it.
func rates(t *testing.T, set int, cv float64, nights uint64) (alarms, found float64) {
	t.Helper()
	for seed := range nights {
		n := newNoise(seed, cv)
		earlier := service().set(set, n)
		quiet, err := Compare(service().run(set, n), earlier, nil, Options{})
		require.NoError(t, err)
		loud, err := Compare(service().with("Cache::insert", times(1.5)).run(set, n), earlier, nil, Options{})
		require.NoError(t, err)
		if quiet.Verdict == Fail {
			alarms += 1 / float64(nights)
		}
		if loud.Verdict == Fail && len(loud.Rows) > 0 && loud.Rows[0].Function == "Cache::insert" && loud.Rows[0].Status == Regressed {
			found += 1 / float64(nights)
		}
	}
	return alarms, found
}

// nights is the number of simulated nights of each kind.
func nights() uint64 {
	if testutil.Full() {
		return 2000
	}
	return 200
}

// TestFalseAlarmsAndPower: for any noise, fewer than one unchanged run of twenty fails, over all
// its functions. A gain of 50 % is found if the noise allows it. docs/gate.md has these numbers,
// measured with HEAPLAPSE_FULL=1.
func TestFalseAlarmsAndPower(t *testing.T) {
	testutil.NoRace(t)
	for _, c := range []struct {
		set          int
		cv           float64
		alarms, find float64 // at most, at least
	}{
		{4, 0.01, 0, 1}, {4, 0.03, 0.01, 0.9}, {4, 0.05, 0.02, 0.5}, {4, 0.1, 0.03, 0}, {4, 0.2, 0.05, 0},
		{6, 0.01, 0, 1}, {6, 0.03, 0.01, 0.99}, {6, 0.05, 0.02, 0.9}, {6, 0.1, 0.03, 0.3}, {6, 0.2, 0.05, 0},
		{14, 0.01, 0, 1}, {14, 0.03, 0.01, 1}, {14, 0.05, 0.02, 0.99}, {14, 0.1, 0.04, 0.6}, {14, 0.2, 0.05, 0.1},
	} {
		t.Run(fmt.Sprintf("%d runs, noise %.0f %%", c.set, 100*c.cv), func(t *testing.T) {
			t.Parallel()
			alarms, found := rates(t, c.set, c.cv, nights())
			t.Logf("%d runs, noise %.0f %%: fails unchanged %.2f %%; finds a gain of 50 %% %.1f %%", c.set, 100*c.cv, 100*alarms, 100*found)
			require.LessOrEqual(t, alarms, c.alarms)
			require.GreaterOrEqual(t, found+1e-9, c.find)
		})
	}
}

// TestRegressionDespiteAnOutlier: one night of the set that ended early does not hide a regression.
func TestRegressionDespiteAnOutlier(t *testing.T) {
	n := newNoise(1, 0.02)
	set := service().set(13, n)
	set = append(set, service().with("Cache::insert", times(0.3)).run(20, n))
	r, err := Compare(service().with("Cache::insert", times(1.5)).run(30, n), set, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(r, "Cache::insert"))
}
