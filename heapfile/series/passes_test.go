package series_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// seriesFixtures are directories of testdata that hold one series each.
var seriesFixtures = []string{"leaky", "leaky-jemalloc", "dialects/restart", "dialects/fork", "dialects/dlclose", "dialects/sampled"}

// pass is what a visitor receives, in order.
type pass struct{ seen []string }

func (p *pass) visit(s *series.Snapshot) error {
	line := fmt.Sprintln(s.Path, s.Index, s.Image, s.Total, s.Completeness)
	for _, r := range s.Samples {
		line += fmt.Sprintln(r.Stack, s.Stacks.Space(r.Stack), s.Stacks.Addrs(r.Stack), r.Counts, r.Truncated)
	}
	p.seen = append(p.seen, line)
	return nil
}

func TestStackIDsDoNotDependOnTheNumberOfWorkers(t *testing.T) {
	for _, dir := range seriesFixtures {
		t.Run(dir, func(t *testing.T) {
			var one, eight pass
			a := open(t, series.Options{Workers: 1, Visit: one.visit}, testutil.Data(t, dir))
			b := open(t, series.Options{Workers: 8, Visit: eight.visit}, testutil.Data(t, dir))
			require.Greater(t, len(one.seen), 2)
			require.Equal(t, one.seen, eight.seen)
			require.Equal(t, a.Stacks.Len(), b.Stacks.Len())
			require.Equal(t, a.Spaces, b.Spaces)
		})
	}
}

func TestAllYieldsWhatVisitReceives(t *testing.T) {
	for _, dir := range seriesFixtures {
		t.Run(dir, func(t *testing.T) {
			var first, again pass
			s := open(t, series.Options{Visit: first.visit}, testutil.Data(t, dir))
			stacks := s.Stacks.Len()
			for _, workers := range []int{1, 3} {
				again = pass{}
				for snap, err := range s.All(workers) {
					require.NoError(t, err)
					require.NoError(t, again.visit(snap))
				}
				require.Equal(t, first.seen, again.seen)
			}
			require.Equal(t, stacks, s.Stacks.Len(), "a further pass adds no stacks")
		})
	}
}

func TestReadReturnsWhatVisitReceives(t *testing.T) {
	for _, dir := range seriesFixtures {
		t.Run(dir, func(t *testing.T) {
			var first pass
			s := open(t, series.Options{Visit: first.visit}, testutil.Data(t, dir))
			for i := range s.Heads {
				var one pass
				snap, err := s.Read(i)
				require.NoError(t, err)
				require.NoError(t, one.visit(snap))
				require.Equal(t, first.seen[i:i+1], one.seen)
			}
		})
	}
}

func TestPassMayEndEarly(t *testing.T) {
	s := open(t, series.Options{}, testutil.Data(t, "leaky"))
	seen := 0
	for _, err := range s.All(2) {
		require.NoError(t, err)
		if seen++; seen == 3 {
			break
		}
	}
	require.Equal(t, 3, seen)
}

// TestChangedFileIsAnError covers a program that restarts and overwrites its files between two
// passes.
func TestChangedFileIsAnError(t *testing.T) {
	row := func(stack string) string { return heaptest.Exact("1: 10 [1: 10]", "1: 10 [1: 10] @ "+stack) }
	for name, later := range map[string]string{
		"another stack":  row("0x400002"),
		"another number": heaptest.Exact("1: 20 [1: 20]", "1: 20 [1: 20] @ 0x400001"),
		"another row":    heaptest.Exact("2: 20 [2: 20]", "1: 10 [1: 10] @ 0x400001", "1: 10 [1: 10] @ 0x400001"),
		"not a snapshot": "",
	} {
		t.Run(name, func(t *testing.T) {
			dir := put(t, map[string]string{"p.0001.heap": row("0x400001"), "p.0002.heap": row("0x400001")})
			s := open(t, series.Options{}, dir)
			path := filepath.Join(dir, "p.0002.heap")
			require.NoError(t, os.WriteFile(path, []byte(later), 0o600))
			_, err := s.Read(0)
			require.NoError(t, err)
			_, err = s.Read(1)
			require.ErrorContains(t, err, path)
			if later != "" {
				require.ErrorIs(t, err, series.ErrChanged)
			}
			var last error
			for _, err := range s.All(0) {
				last = err
			}
			require.Equal(t, err, last)
		})
	}
}

func TestSeriesHasTheRowsOfItsFiles(t *testing.T) {
	for x, err := range open(t, series.Options{}, testutil.Data(t, "leaky")).All(0) {
		require.NoError(t, err)
		alone, err := heapfile.ReadFile(x.Path)
		require.NoError(t, err)
		require.Equal(t, rows(alone.Samples, alone.Stacks.Addrs), rows(x.Samples, x.Stacks.Addrs))
		require.Equal(t, alone.Completeness, x.Completeness)
	}
}

// rows returns the rows of a snapshot as text.
func rows(samples []heapfile.Sample, addrs func(heapfile.StackID) []heapfile.Addr) (out []string) {
	for _, s := range samples {
		out = append(out, fmt.Sprint(s.Counts, s.Truncated, addrs(s.Stack)))
	}
	return out
}

// TestSymbolsBelongToTheirProcessImage covers a restart: the same address is another function in
// another image.
func TestSymbolsBelongToTheirProcessImage(t *testing.T) {
	symbolized := func(symbol string, alloc, base int) string {
		return heaptest.Lines("--- symbol", symbol, "---", "--- heap") + snapshot(alloc, "0x1", image(base))
	}
	s := open(t, series.Options{}, put(t, map[string]string{
		"p.0001.heap": symbolized("0x1 f", 100, 0x550000),
		"p.0002.heap": symbolized("0x2 g", 200, 0x550000),
		"p.0003.heap": symbolized("0x1 h", 300, 0x770000),
	}))
	functions := map[series.Place]string{}
	for place, symbol := range s.Symbols {
		functions[place] = symbol.Frames[0].Function
	}
	require.Equal(t, map[series.Place]string{{Image: 0, Addr: 1}: "f", {Image: 0, Addr: 2}: "g", {Image: 1, Addr: 1}: "h"}, functions)
}
