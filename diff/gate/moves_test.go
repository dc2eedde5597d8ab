package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/stretchr/testify/require"
)

// TestSplitFunctions: what one half of a split function lost, the other gained. The split does not
// hide that both halves hold more than the function did.
func TestSplitFunctions(t *testing.T) {
	split := func(rest, part float64) program {
		return append(service().with("Cache::insert", times(rest)),
			function{"Cache::allocate_entry Cache::insert Server::handle Server::loop main", "cache.cc", part * 40 * mib, 0, 0})
	}
	r := judged(t, split(0.4, 0.6), Options{})
	require.Equal(t, Pass, r.Verdict)
	require.Equal(t, Moved, status(r, "Cache::allocate_entry"))
	require.Equal(t, Moved, status(r, "Cache::insert"))
	require.Equal(t, []string{"Cache::insert"}, listed(r, "Cache::allocate_entry").MovedWith)

	r = judged(t, split(0.4, 1.1), Options{})
	require.Equal(t, Fail, r.Verdict)
	row := listed(r, "Cache::allocate_entry")
	require.Equal(t, Regressed, row.Status)
	require.InDelta(t, 24*mib, row.Values[0].Moved, 2*mib)
	require.InDelta(t, 20*mib, row.Values[0].Rest(), 2*mib)
}

// TestALossExplainsOneGain: one function that is gone does not explain two new ones of its size.
func TestALossExplainsOneGain(t *testing.T) {
	p := service().with("Cache::insert", rename("Cache::store Server::handle Server::loop main"))
	p = append(p, function{"Cache::shadow Server::handle Server::loop main", "cache.cc", 39 * mib, 0, 0})
	r := judged(t, p, Options{})
	require.Equal(t, Fail, r.Verdict)
	require.Equal(t, Moved, status(r, "Cache::store"))
	require.Equal(t, Regressed, status(r, "Cache::shadow"))
}

// TestALossElsewhere: a loss in another part of the program does not explain a gain.
func TestALossElsewhere(t *testing.T) {
	r := judged(t, service().with("Session::open", times(1.5)).with("Index::build", times(0.1)), Options{})
	require.Equal(t, Regressed, status(r, "Session::open"))
	require.Equal(t, Improved, status(r, "Index::build"))
}

// TestAVariableNeighbour: a function that is small on some nights, as a queue is, is small tonight
// by chance, and does not explain a gain. The median absolute deviation of its set is small all the
// same.
func TestAVariableNeighbour(t *testing.T) {
	n := newNoise(7, 0.01)
	small := func(p program) program { return p.with("parse_request", times(0.1)) }
	var set []*baseline.Run
	for night := range 12 {
		p := service()
		if night%4 == 0 {
			p = small(p)
		}
		set = append(set, p.run(night, n))
	}
	r, err := Compare(small(service().with("Cache::insert", times(1.3))).run(20, n), set, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Fail, r.Verdict, "%+v", r.Rows)
	require.Equal(t, Regressed, status(r, "Cache::insert"))
	require.Empty(t, listed(r, "Cache::insert").MovedWith)
}

// TestMovesDespiteAnOutlier: a split is recognised although one night of the set ended early.
func TestMovesDespiteAnOutlier(t *testing.T) {
	n := newNoise(1, 0.02)
	set := service().set(13, n)
	set = append(set, service().with("Cache::insert", times(0.3)).run(20, n))
	split := append(service().with("Cache::insert", times(0.4)),
		function{"Cache::allocate_entry Cache::insert Server::handle Server::loop main", "cache.cc", 24 * mib, 0, 0})
	r, err := Compare(split.run(30, n), set, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict, "%+v", r.Rows)
	require.Equal(t, Moved, status(r, "Cache::allocate_entry"))
}

// TestMovesBalance: moves change no total of a run, explain at most the change of a row in each run,
// and take each byte of a loss once.
func TestMovesBalance(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	explained := 0
	for range 200 {
		v := &view{base: BaseSet, set: []int{1, 2, 3}, centre: []int{1, 2, 3}}
		rows, changes, histories, original := make([]*row, 30), make([]change, 30), make([]history, 30), make([]history, 30)
		for i := range rows {
			before, after := 1e6*r.Float64()*float64(r.IntN(2)), 1e6*r.Float64()*float64(r.IntN(2))
			night := r.IntN(3) // the last of the runs after the change
			values := []float64{after, before, before, before}
			for run := 1; run <= night; run++ {
				values[run] = after
			}
			rows[i] = &row{function: fmt.Sprintf("class%d::f%d", r.IntN(3), i), levels: make([]baseline.Level, 4)}
			for run, x := range values {
				rows[i].levels[run] = baseline.Level{Bytes: x}
			}
			histories[i] = history{values, make([]float64, 4), make([]float64, 4)}
			original[i].values = slices.Clone(values)
			changes[i] = change{before: before, after: after, least: 1e4}
		}
		moves := findMoves(v, rows, histories, changes)
		for run := range 4 {
			sum := 0.0
			for i := range rows {
				moved := histories[i].values[run] - original[i].values[run]
				delta := original[i].values[0] - original[i].values[run]
				sum += moved
				require.LessOrEqual(t, math.Abs(moved), math.Abs(delta)+1e-6)
				require.GreaterOrEqual(t, moved*delta, -1e-3, "a move has the sign of the change")
			}
			require.InDelta(t, 0, sum, 1e-3)
		}
		for _, m := range moves {
			explained += len(m.with)
		}
	}
	require.Positive(t, explained)
}
