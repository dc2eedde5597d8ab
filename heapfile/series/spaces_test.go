package series

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
)

// TestManyOverlappingMappings: a library that replaces another starts a new space, however many
// mappings are above the other: just-in-time compilers grow anonymous ranges step by step.
func TestManyOverlappingMappings(t *testing.T) {
	known := []heapfile.Mapping{{Start: 0x1000, Limit: 0x100000, Path: "/lib/old.so"}}
	for i := range heapfile.Addr(300) {
		known = append(known, heapfile.Mapping{Start: 0x2000 + i, Limit: 0x90000})
	}
	var sp spaces
	maps := func(more ...heapfile.Mapping) []heapfile.Mapping {
		return append([]heapfile.Mapping{{Start: 0x500, Limit: 0x600, Path: "/bin/program"}}, more...)
	}
	require.Equal(t, Space(0), sp.next(&Head{}, maps(known...)))
	require.Equal(t, Space(1), sp.next(&Head{}, maps(heapfile.Mapping{Start: 0x80000, Limit: 0x80100, Path: "/lib/new.so"})))
	for _, m := range sp.list[1].Mappings {
		require.NotEqual(t, "/lib/old.so", m.Path)
	}
}
