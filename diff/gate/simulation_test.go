package gate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// rates are the shares of simulated nights on which an unchanged program fails, and one whose hot function holds half as much again.
func rates(t *testing.T, pool int, cv float64, nights uint64) (alarms, found float64) {
	t.Helper()
	for seed := range nights {
		n := newNoise(seed, cv)
		earlier := service().set(pool, n)
		quiet, err := Compare(service().run(pool, n), earlier, nil, Options{})
		require.NoError(t, err)
		loud, err := Compare(service().with("Cache::insert", times(1.5)).run(pool, n), earlier, nil, Options{})
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

// nights that are simulated of each kind.
func nights() uint64 {
	if testutil.Full() {
		return 2000
	}
	return 200
}

// TestFalseAlarmsAndPower: whatever the noise, fewer than one unchanged run of twenty fails, over all its functions; what is half as much
// again is found where the noise allows it. docs/gate.md has these numbers, of HEAPLAPSE_FULL=1.
func TestFalseAlarmsAndPower(t *testing.T) {
	testutil.NoRace(t)
	for _, c := range []struct {
		pool         int
		cv           float64
		alarms, find float64 // at most, at least
	}{
		{4, 0.01, 0, 1}, {4, 0.03, 0.01, 0.9}, {4, 0.05, 0.02, 0.5}, {4, 0.1, 0.03, 0}, {4, 0.2, 0.05, 0},
		{6, 0.01, 0, 1}, {6, 0.03, 0.01, 0.99}, {6, 0.05, 0.02, 0.9}, {6, 0.1, 0.03, 0.3}, {6, 0.2, 0.05, 0},
		{14, 0.01, 0, 1}, {14, 0.03, 0.01, 1}, {14, 0.05, 0.02, 0.99}, {14, 0.1, 0.04, 0.6}, {14, 0.2, 0.05, 0.1},
	} {
		t.Run(fmt.Sprintf("%d runs, noise %.0f %%", c.pool, 100*c.cv), func(t *testing.T) {
			t.Parallel()
			alarms, found := rates(t, c.pool, c.cv, nights())
			t.Logf("%d runs, noise %.0f %%: fails unchanged %.2f %%; finds 50 %% more %.1f %%", c.pool, 100*c.cv, 100*alarms, 100*found)
			require.LessOrEqual(t, alarms, c.alarms)
			require.GreaterOrEqual(t, found+1e-9, c.find)
		})
	}
}

// TestAnOutlierDoesNotBlind: one night that ended early does not hide a regression for as long as it is in the pool.
func TestAnOutlierDoesNotBlind(t *testing.T) {
	n := newNoise(1, 0.02)
	pool := service().set(13, n)
	pool = append(pool, service().with("Cache::insert", times(0.3)).run(20, n))
	r, err := Compare(service().with("Cache::insert", times(1.5)).run(30, n), pool, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(r, "Cache::insert"))
}
