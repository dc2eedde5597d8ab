package compare_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// opened is a fixture with its symbols.
type opened struct {
	series  *series.Series
	symbols *symbolize.Symbols
}

func openFixture(t *testing.T, name, sysroot string) opened {
	t.Helper()
	s, err := series.Open([]string{testutil.Data(t, name)}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: testutil.Data(t, sysroot)})
	require.NoError(t, err)
	return opened{s, symbols}
}

func (o opened) side(t *testing.T, index int) *compare.Side {
	t.Helper()
	s, err := compare.NewSide(o.series, o.symbols, index, nil)
	require.NoError(t, err)
	return s
}

// TestDifferencesAddUp: the rows and what is hidden add up to the difference of the totals, for any
// two snapshots and any grouping.
func TestDifferencesAddUp(t *testing.T) {
	testutil.NoRace(t)
	leaky, python := openFixture(t, "leaky", "leaky/sysroot"), openFixture(t, "python", "python/sysroot")
	jemalloc, bare := openFixture(t, "leaky-jemalloc", "leaky/sysroot"), openFixture(t, "leaky-jemalloc-noaccum", "leaky/sysroot")
	for name, pair := range map[string][2]*compare.Side{
		"one process":            {leaky.side(t, 1), leaky.side(t, 23)},
		"backwards":              {leaky.side(t, 23), leaky.side(t, 1)},
		"truncated":              {python.side(t, 1), python.side(t, 11)},
		"complete and truncated": {python.side(t, 0), python.side(t, 11)},
		"two allocators":         {leaky.side(t, 23), jemalloc.side(t, 14)},
		"without alloc":          {jemalloc.side(t, 2), bare.side(t, 2)},
		"two different programs": {leaky.side(t, 23), python.side(t, 5)},
	} {
		for _, by := range sites.GroupBys {
			t.Run(fmt.Sprintf("%s by %s", name, by), func(t *testing.T) {
				c := compare.Snapshots(pair[0], pair[1], compare.Options{GroupBy: by})
				sum := pair[1].Hidden().Sub(pair[0].Hidden())
				for i := range c.Rows {
					sum = sum.Add(c.Rows[i].Delta())
				}
				want := c.Total()
				if !c.HasAlloc() {
					sum.AllocBytes, sum.AllocObjects, want.AllocBytes, want.AllocObjects = 0, 0, 0, 0
				}
				require.Equal(t, want, sum)
			})
		}
	}
}

// TestOtherProcessIsComparedByNames: another allocator has other frames below those of the program.
func TestOtherProcessIsComparedByNames(t *testing.T) {
	leaky, jemalloc := openFixture(t, "leaky", "leaky/sysroot"), openFixture(t, "leaky-jemalloc", "leaky/sysroot")
	c := compare.Snapshots(leaky.side(t, 23), jemalloc.side(t, 14), compare.Options{})
	require.False(t, c.SameProcess)
	require.Less(t, c.UnmatchedShare(), 0.02)
	require.True(t, compare.Snapshots(leaky.side(t, 1), leaky.side(t, 23), compare.Options{}).SameProcess)
	other := compare.Snapshots(leaky.side(t, 23), openFixture(t, "node", "node/sysroot").side(t, 9), compare.Options{})
	require.Greater(t, other.UnmatchedShare(), 0.9, "different programs have hardly anything in common")
}

// TestTruncatedSnapshotsHaveBounds: the leak is absent from a truncated snapshot, where it may be
// as large as the smallest row.
func TestTruncatedSnapshotsHaveBounds(t *testing.T) {
	python := openFixture(t, "python", "python/sysroot")
	c := compare.Snapshots(python.side(t, 1), python.side(t, 8), compare.Options{})
	require.Equal(t, compare.ChangeGrown, c.Rows[0].Change, "it may have been there before, so it is not new")
	require.NotZero(t, c.Rows[0].BaseBound.InuseBytes+c.Rows[0].CurrentBound.InuseBytes)
	require.Equal(t, int64(295), c.Rows[0].BaseBound.InuseBytes)
	whole := compare.Snapshots(python.side(t, 0), python.side(t, 8), compare.Options{})
	require.Equal(t, compare.ChangeNew, whole.Rows[0].Change, "the first snapshot is complete")
	require.Zero(t, whole.Rows[0].BaseBound.InuseBytes+whole.Rows[0].CurrentBound.InuseBytes)
}

// snapshot writes and opens a snapshot with rows of objects and bytes in use at an offset in a
// library. A program at 0x400000 calls it. There are no files for either. The header may count more
// than the rows.
func snapshot(t *testing.T, library, hiddenObjects, hiddenBytes int64, rows ...[3]int64) opened {
	t.Helper()
	var text strings.Builder
	objects, bytes := hiddenObjects, hiddenBytes
	for _, r := range rows {
		objects, bytes = objects+r[0], bytes+r[1]
		fmt.Fprintf(&text, "%6d: %8d [%6d: %8d] @ 0x%x 0x401000\n", r[0], r[1], r[0], r[1], library+r[2])
	}
	head := fmt.Sprintf("heap profile: %6d: %8d [%6d: %8d] @ heapprofile\n", objects, bytes, objects, bytes)
	maps := fmt.Sprintf("\nMAPPED_LIBRARIES:\n400000-500000 r-xp 00000000 00:00 1 /nowhere/server\n%x-%x r-xp 00000000 00:00 2 /nowhere/libfoo.so\n", library, library+0x100000)
	dir := t.TempDir()
	testutil.WriteFile(t, filepath.Join(dir, "p.0001.heap"), head+text.String()+maps, 0o600)
	s, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
	require.NoError(t, err)
	return opened{s, symbols}
}

// TestOffsetsMatchSitesOfMissingFiles: two processes have a library without names and build ID at
// different places.
func TestOffsetsMatchSitesOfMissingFiles(t *testing.T) {
	base := snapshot(t, 0x7f0000000000, 0, 0, [3]int64{1, 100, 0x1000}, [3]int64{2, 200, 0x2000}, [3]int64{3, 300, 0x3000})
	current := snapshot(t, 0x7fff00000000, 0, 0, [3]int64{1, 100, 0x1000}, [3]int64{2, 900, 0x2000}, [3]int64{4, 400, 0x4000})
	c := compare.Snapshots(base.side(t, 0), current.side(t, 0), compare.Options{})
	require.False(t, c.SameProcess)
	require.Equal(t, 1, c.Unchanged)
	require.Len(t, c.Rows, 3)
	require.Equal(t, []compare.Change{compare.ChangeGrown, compare.ChangeNew, compare.ChangeGone}, []compare.Change{c.Rows[0].Change, c.Rows[1].Change, c.Rows[2].Change})
	require.Equal(t, identity.ByFile, c.Rows[0].Tier)
	require.Equal(t, 4, c.Tiers[identity.ByFile].Sites)
	require.Zero(t, c.Foreign, "the files are the same, so that unmatched sites are new or gone")
}

// TestRebuiltFileIsNotComparedByOffset: the offsets of another build have nothing in common.
func TestRebuiltFileIsNotComparedByOffset(t *testing.T) {
	base := snapshot(t, 0x7f0000000000, 0, 0, [3]int64{1, 100, 0x1000}, [3]int64{2, 200, 0x2000}, [3]int64{3, 300, 0x3000})
	current := snapshot(t, 0x7fff00000000, 0, 0, [3]int64{1, 100, 0x1010}, [3]int64{2, 900, 0x2010}, [3]int64{4, 400, 0x3010})
	c := compare.Snapshots(base.side(t, 0), current.side(t, 0), compare.Options{})
	require.Zero(t, c.Tiers[identity.ByFile].Sites)
}

// TestInOneProcessOnlyPlacesMatch: a site that the base does not have is new, even if it is similar
// to another.
func TestInOneProcessOnlyPlacesMatch(t *testing.T) {
	base := snapshot(t, 0x7f0000000000, 0, 0, [3]int64{1, 100, 0x1000})
	current := snapshot(t, 0x7f0000000000, 0, 0, [3]int64{1, 100, 0x1000}, [3]int64{2, 900, 0x2000})
	c := compare.Snapshots(base.side(t, 0), current.side(t, 0), compare.Options{})
	require.True(t, c.SameProcess)
	require.Len(t, c.Rows, 1)
	require.Equal(t, compare.ChangeNew, c.Rows[0].Change)
}

// TestHiddenPartOfARowIsABound: a truncated snapshot shows one of the two sites of a group.
func TestHiddenPartOfARowIsABound(t *testing.T) {
	truncated := snapshot(t, 0x7f0000000000, 2, 150, [3]int64{1, 1000, 0x1000}, [3]int64{1, 100, 0x5000})
	complete := snapshot(t, 0x7f0000000000, 0, 0, [3]int64{1, 1000, 0x1000}, [3]int64{2, 9000, 0x2000})
	later := compare.Snapshots(truncated.side(t, 0), complete.side(t, 0), compare.Options{GroupBy: sites.ByModule})
	require.Len(t, later.Rows, 1)
	require.Equal(t, int64(150), later.Rows[0].BaseBound.InuseBytes, "0x2000 has at most what the header counts beyond the rows")
	require.Equal(t, int64(1100), later.Rows[0].Base.InuseBytes)
	before := compare.Snapshots(complete.side(t, 0), truncated.side(t, 0), compare.Options{GroupBy: sites.ByModule})
	require.Equal(t, int64(150), before.Rows[0].CurrentBound.InuseBytes)
}

// TestSameBytesWithoutMappingsAreTheSame: a file that is still being written ends before its
// mappings.
func TestSameBytesWithoutMappingsAreTheSame(t *testing.T) {
	text := "heap profile: 3: 300 [3: 300] @ heapprofile\n 1: 100 [1: 100] @ 0x7f0000001000 0x401000\n 2: 200 [2: 200] @ 0x7f0000002000 0x401000\n"
	var sides [2]*compare.Side
	for i := range sides {
		dir := t.TempDir()
		testutil.WriteFile(t, filepath.Join(dir, "p.0001.heap"), text, 0o600)
		s, err := series.Open([]string{dir}, series.Options{})
		require.NoError(t, err)
		symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
		require.NoError(t, err)
		sides[i] = opened{s, symbols}.side(t, 0)
	}
	require.Empty(t, compare.Snapshots(sides[0], sides[1], compare.Options{}).Rows)
}

func TestMoveWithinAFunction(t *testing.T) {
	text := "heap profile: %d: %d [%d: %d] @ heapprofile\n%s\nMAPPED_LIBRARIES:\n"
	dir := t.TempDir()
	testutil.WriteFile(t, filepath.Join(dir, "p.0001.heap"), fmt.Sprintf(text, 2, 3000, 2, 3000, " 1: 2000 [1: 2000] @ 0x10 0x20\n 1: 1000 [1: 1000] @ 0x10 0x30\n"), 0o600)
	testutil.WriteFile(t, filepath.Join(dir, "p.0002.heap"), fmt.Sprintf(text, 2, 3050, 4, 6050, " 1: 1000 [2: 3000] @ 0x10 0x20\n 1: 2050 [2: 3050] @ 0x10 0x30\n"), 0o600)
	s, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
	require.NoError(t, err)
	o := opened{s, symbols}
	c := compare.Snapshots(o.side(t, 0), o.side(t, 1), compare.Options{GroupBy: sites.ByStack})
	require.Len(t, c.Rows, 2)
	for _, r := range c.Rows {
		require.True(t, r.Moved)
	}
}

// TestPersist computes a small example by hand.
func TestPersist(t *testing.T) {
	const maps = "\nMAPPED_LIBRARIES:\n"
	dir := t.TempDir()
	// 0x10 leaks 300 bytes. 0x20 is temporary. 0x30 gains 100, but frees 500. 0x40 was there
	// before.
	testutil.WriteFile(t, filepath.Join(dir, "p.0001.heap"), "heap profile: 2: 500 [2: 500] @ heapprofile\n 1: 400 [1: 400] @ 0x40\n 1: 100 [1: 100] @ 0x30\n"+maps, 0o600)
	testutil.WriteFile(t, filepath.Join(dir, "p.0002.heap"), "heap profile: 7: 1600 [7: 1600] @ heapprofile\n 3: 300 [3: 300] @ 0x10\n 1: 600 [1: 600] @ 0x20\n 2: 300 [2: 300] @ 0x30\n 1: 400 [1: 400] @ 0x40\n"+maps, 0o600)
	testutil.WriteFile(t, filepath.Join(dir, "p.0003.heap"), "heap profile: 6: 900 [12: 2000] @ heapprofile\n 3: 300 [3: 300] @ 0x10\n 2: 200 [7: 700] @ 0x30\n 1: 400 [1: 400] @ 0x40\n 0: 0 [1: 600] @ 0x20\n"+maps, 0o600)
	s, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
	require.NoError(t, err)
	o := opened{s, symbols}
	moments := [3]*compare.Side{o.side(t, 0), o.side(t, 1), o.side(t, 2)}
	p, err := compare.Persist(moments, compare.Options{GroupBy: sites.ByStack})
	require.NoError(t, err)
	require.Len(t, p.Rows, 2)
	require.Equal(t, int64(300), p.Rows[0].Stayed)
	require.Equal(t, int64(300), p.Rows[0].Certain)
	require.Equal(t, int64(3), p.Rows[0].StayedObjects)
	require.Equal(t, int64(100), p.Rows[1].Stayed)
	require.Zero(t, p.Rows[1].Certain, "the site freed more than it gained, so that other objects may have stayed")
	require.Equal(t, int64(400), p.Stayed)

	_, err = compare.Persist([3]*compare.Side{moments[0], moments[2], moments[1]}, compare.Options{})
	require.ErrorContains(t, err, "is not later than")
}

// TestPersistIsABoundIfTheFirstSnapshotIsTruncated: a site that it does not show may have been in
// use then.
func TestPersistIsABoundIfTheFirstSnapshotIsTruncated(t *testing.T) {
	const maps = "\nMAPPED_LIBRARIES:\n"
	dir := t.TempDir()
	testutil.WriteFile(t, filepath.Join(dir, "p.0001.heap"), "heap profile: 2: 500 [2: 500] @ heapprofile\n 1: 400 [1: 400] @ 0x40\n"+maps, 0o600)
	for _, name := range []string{"p.0002.heap", "p.0003.heap"} {
		testutil.WriteFile(t, filepath.Join(dir, name), "heap profile: 4: 1700 [4: 1700] @ heapprofile\n 1: 300 [1: 300] @ 0x10\n 3: 1400 [3: 1400] @ 0x40\n"+maps, 0o600)
	}
	s, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
	require.NoError(t, err)
	o := opened{s, symbols}
	p, err := compare.Persist([3]*compare.Side{o.side(t, 0), o.side(t, 1), o.side(t, 2)}, compare.Options{GroupBy: sites.ByStack})
	require.NoError(t, err)
	require.Len(t, p.Rows, 2)
	require.False(t, p.Rows[0].AtMost, "0x40 is visible")
	require.True(t, p.Rows[1].AtMost, "0x10 may have been there")
}
