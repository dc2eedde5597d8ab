package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
)

// handler is a function of a service that holds 34 KiB, and more in one build.
func handler(more float64) function {
	return function{"Handler::keep Server::handle Server::loop main", "handler.cc", 34<<10 + more, 0, 0}
}

// TestASureChangeBelowTheThreshold: twelve times what four runs have is no noise, and fails although it is
// less than the threshold in bytes. In a heap of 2 GiB, it is listed.
func TestASureChangeBelowTheThreshold(t *testing.T) {
	n := newNoise(1, 0.01)
	four := append(service(), handler(0)).set(4, n)
	leaking := append(service(), handler(376<<10)).run(9, n)
	r, err := Compare(leaking, four, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(r, "Handler::keep"))
	require.Equal(t, "Handler::keep", r.Rows[0].Function)

	t.Run("with a chosen size", func(t *testing.T) {
		size := float64(mib)
		r, err := Compare(leaking, four, nil, Options{Thresholds: Override{Bytes: &size}})
		require.NoError(t, err)
		require.Equal(t, Pass, r.Verdict)
		require.Equal(t, Changed, status(r, "Handler::keep"))
	})
	t.Run("of fewer runs", func(t *testing.T) {
		r, err := Compare(leaking, four[:3], nil, Options{})
		require.NoError(t, err)
		require.Equal(t, Pass, r.Verdict, "the noise is not known")
		require.Equal(t, Changed, status(r, "Handler::keep"))
	})
	t.Run("of a function that varies", func(t *testing.T) {
		var set []*baseline.Run
		for night, more := range []float64{0, 200 << 10, 50 << 10, 300 << 10} {
			set = append(set, append(service(), handler(more)).run(night, n))
		}
		r, err := Compare(leaking, set, nil, Options{})
		require.NoError(t, err)
		require.Equal(t, Pass, r.Verdict)
	})
	t.Run("in a large heap", func(t *testing.T) {
		large := func(more float64) program {
			return append(program{{"Cache::insert Server::handle Server::loop main", "cache.cc", 2048 * mib, 0, 0}}, handler(more))
		}
		r, err := Compare(large(376<<10).run(9, noise{}), large(0).set(4, noise{}), nil, Options{})
		require.NoError(t, err)
		require.Equal(t, Pass, r.Verdict)
		require.Equal(t, Changed, status(r, "Handler::keep"))
	})
}

// TestACacheThatFillsUp: a row that rises in the only baseline has no steady level there, so that the
// next run may have more of it. A leak that the baseline does not have is a regression.
func TestACacheThatFillsUp(t *testing.T) {
	filling := service().with("Cache::insert", func(f *function) { f.bytes, f.slope = 4.5*mib, 6*mib })
	full := append(service().with("Cache::insert", func(f *function) { f.bytes = 6 * mib }),
		function{"Leak::keep Server::handle main", "leak.cc", 1.2 * mib, 1.6 * mib, 0})
	r, err := Compare(full.run(9, noise{}), filling.set(1, noise{}), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Changed, status(r, "Cache::insert"))
	require.Equal(t, Regressed, status(r, "Leak::keep"))
	require.Equal(t, "Leak::keep", r.Rows[0].Function)

	flat := filling.with("Cache::insert", func(f *function) { f.slope = 0 })
	r, err = Compare(full.run(9, noise{}), flat.set(1, noise{}), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Regressed, status(r, "Cache::insert"), "it was steady")
}
