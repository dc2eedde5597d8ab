package heapfile_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// seriesFixtures are directories of ../testdata that hold one series each.
var seriesFixtures = []string{"leaky", "leaky-jemalloc", "dialects/restart", "dialects/fork", "dialects/dlclose", "dialects/sampled"}

// pass is what a visitor sees, in order.
type pass struct{ seen []string }

func (p *pass) visit(s *heapfile.Snapshot) error {
	line := fmt.Sprintln(s.Path, s.Index, s.Epoch, s.Total, s.Completeness)
	for _, r := range s.Samples {
		line += fmt.Sprintln(r.Stack, s.Stacks.Space(r.Stack), s.Stacks.Addrs(r.Stack), r.Counts, r.Cut)
	}
	p.seen = append(p.seen, line)
	return nil
}

func TestStackIDsDoNotDependOnTheNumberOfWorkers(t *testing.T) {
	for _, dir := range seriesFixtures {
		t.Run(dir, func(t *testing.T) {
			var one, eight pass
			a := open(t, heapfile.Options{Workers: 1, Visit: one.visit}, testutil.Data(t, dir))
			b := open(t, heapfile.Options{Workers: 8, Visit: eight.visit}, testutil.Data(t, dir))
			require.Greater(t, len(one.seen), 2)
			require.Equal(t, one.seen, eight.seen)
			require.Equal(t, a.Stacks.Len(), b.Stacks.Len())
			require.Equal(t, a.Spaces, b.Spaces)
		})
	}
}

func TestEachShowsWhatVisitSaw(t *testing.T) {
	for _, dir := range seriesFixtures {
		t.Run(dir, func(t *testing.T) {
			var first, again pass
			s := open(t, heapfile.Options{Visit: first.visit}, testutil.Data(t, dir))
			stacks := s.Stacks.Len()
			for _, workers := range []int{1, 3} {
				again = pass{}
				require.NoError(t, s.Each(workers, again.visit))
				require.Equal(t, first.seen, again.seen)
			}
			require.Equal(t, stacks, s.Stacks.Len(), "a further pass adds no stacks")
		})
	}
}

func TestOneShowsWhatVisitSaw(t *testing.T) {
	for _, dir := range seriesFixtures {
		t.Run(dir, func(t *testing.T) {
			var first pass
			s := open(t, heapfile.Options{Visit: first.visit}, testutil.Data(t, dir))
			for i := range s.Heads {
				var one pass
				require.NoError(t, s.One(i, one.visit))
				require.Equal(t, first.seen[i:i+1], one.seen)
			}
		})
	}
}

func TestHeadsHoldNoRows(t *testing.T) {
	for _, h := range open(t, heapfile.Options{}, testutil.Data(t, "leaky")).Heads {
		require.Nil(t, h.Samples)
		require.Nil(t, h.Mappings)
		require.Positive(t, h.Rows)
	}
}

func TestASeriesReadsAsItsFilesDo(t *testing.T) {
	s := open(t, heapfile.Options{}, testutil.Data(t, "leaky"))
	require.NoError(t, s.Each(0, func(x *heapfile.Snapshot) error {
		alone, err := heapfile.ReadFile(x.Path)
		require.NoError(t, err)
		require.Equal(t, show(alone), show(x))
		require.Equal(t, alone.Mappings, x.Mappings)
		require.Equal(t, alone.Completeness, x.Completeness)
		return nil
	}))
}

func TestSymbolsOfAllSnapshotsAreCollected(t *testing.T) {
	dir := put(t, map[string]string{
		"p.0001.heap": lines("--- symbol", "0x1 f", "---", "--- heap") + heap(1, 1),
		"p.0002.heap": lines("--- symbol", "0x2 g", "---", "--- heap") + heap(2, 2),
	})
	require.Equal(t, map[heapfile.Addr][]string{1: {"f"}, 2: {"g"}}, open(t, heapfile.Options{}, dir).Symbols)
}
