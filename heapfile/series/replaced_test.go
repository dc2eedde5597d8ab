package series

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
		require.ElementsMatch(t, want, withoutReplaced(known, added), "%v %v", known, added)
	}
}

// TestManyOverlappingMappings: a library that replaces another starts a new space, however many
// mappings are above the other: just-in-time compilers grow anonymous ranges step by step.
func TestManyOverlappingMappings(t *testing.T) {
	known := []heapfile.Mapping{{Start: 0x1000, Limit: 0x100000, Path: "/lib/old.so"}}
	for i := range heapfile.Addr(300) {
		known = append(known, heapfile.Mapping{Start: 0x2000 + i, Limit: 0x90000})
	}
	var sp spaces
	mappings := func(more ...heapfile.Mapping) []heapfile.Mapping {
		return append([]heapfile.Mapping{{Start: 0x500, Limit: 0x600, Path: "/bin/program"}}, more...)
	}
	require.Equal(t, Space(0), sp.next(&Head{}, mappings(known...)))
	require.Equal(t, Space(1), sp.next(&Head{}, mappings(heapfile.Mapping{Start: 0x80000, Limit: 0x80100, Path: "/lib/new.so"})))
	for _, m := range sp.list[1].Mappings {
		require.NotEqual(t, "/lib/old.so", m.Path)
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
	require.Len(t, withoutReplaced(same, same), n)
	require.Empty(t, withoutReplaced(different, same))
	require.Empty(t, withoutReplaced(same, different))
	require.Empty(t, withoutReplaced(different, different))
	require.Less(t, time.Since(begin), time.Minute, "40 billion pairs take longer")
}
