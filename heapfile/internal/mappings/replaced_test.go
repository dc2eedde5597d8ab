package mappings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
)

// replaces is the specification: the mappings overlap, and are of files, but not of the same file
// at the same base.
func replaces(k, m heapfile.Mapping) bool {
	if !isFile(k) || !isFile(m) || k.Start >= m.Limit || m.Start >= k.Limit {
		return false
	}
	return placeOf(k) != placeOf(m) || (k.Inode != m.Inode && k.Inode != 0 && m.Inode != 0)
}

// TestWithoutReplacedAgainstBruteForce compares each pair of mappings.
func TestWithoutReplacedAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	paths := []string{"/a", "/a", "/b", "", "[heap]"}
	list := func(n int) (out []heapfile.Mapping) {
		for range n {
			start := heapfile.Addr(random.IntN(200))
			out = append(out, heapfile.Mapping{
				Start: start, Limit: start + 1 + heapfile.Addr(random.IntN(30)), Offset: heapfile.Addr(random.IntN(2)) * start,
				Path: paths[random.IntN(len(paths))], Inode: uint64(random.IntN(3)),
			})
		}
		return out
	}
	for range 500 {
		known, added := list(random.IntN(20)), list(random.IntN(8))
		want := slices.DeleteFunc(slices.Clone(known), func(k heapfile.Mapping) bool {
			return slices.ContainsFunc(added, func(m heapfile.Mapping) bool { return replaces(k, m) })
		})
		require.ElementsMatch(t, want, WithoutReplaced(known, added), "%v %v", known, added)
	}
}

// TestOverlappingMappingsAreFast: crafted mappings that all overlap, of one file and of different
// ones, cost no quadratic time.
func TestOverlappingMappingsAreFast(t *testing.T) {
	const n = 100_000
	list := func(path func(i int) string) (out []heapfile.Mapping) {
		for i := range heapfile.Addr(n) {
			out = append(out, heapfile.Mapping{Start: i, Offset: i, Limit: 4*n - i, Path: path(int(i))})
		}
		return out
	}
	same := list(func(int) string { return "/a" })
	different := list(func(i int) string { return fmt.Sprintf("/%d", i) })
	begin := time.Now()
	require.Len(t, WithoutReplaced(same, same), n)
	require.Empty(t, WithoutReplaced(different, same))
	require.Empty(t, WithoutReplaced(same, different))
	require.Empty(t, WithoutReplaced(different, different))
	require.Less(t, time.Since(begin), time.Minute, "40 billion pairs take longer")
}
