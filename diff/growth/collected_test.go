package growth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/verdict"
)

// kept writes a recording of 40 snapshots. A function keeps 64 objects of a size more in each. At one snapshot, an
// eighth of all that is older is released; 0 stands for never.
func kept(t *testing.T, function string, size, collected int) string {
	t.Helper()
	const snapshots, each = 40, 64
	dir, start := t.TempDir(), time.Unix(1_700_000_000, 0)
	moment := func(i int) time.Time { return start.Add(time.Duration(i) * 2 * time.Second) }
	for i := range snapshots {
		total := 0
		var births strings.Builder
		for born := range i + 1 {
			n := each
			if collected > 0 && i >= collected && born < collected {
				n -= each / 8
			}
			total += n
			fmt.Fprintf(&births, " %d:%d:%d", moment(born).UnixMilli(), n, n*size)
		}
		all := each * (i + 1)
		counts := fmt.Sprintf("%d: %d [%d: %d] @", total, total*size, all, all*size)
		head := "--- symbol\n0x0000000000001000 " + function + "\n---\n--- heap\n"
		writeAged(t, dir, i, moment(i), counts, births.String(), head)
	}
	return dir
}

// TestNotCollected: buffers of JavaScript that are not used any more are in use until V8 collects its objects, which it
// does when they have grown by 64 MiB. Until then a leak cannot be told.
func TestNotCollected(t *testing.T) {
	const buffers, size = "node::NodeArrayBufferAllocator::Allocate", 16 << 10
	for name, c := range map[string]struct {
		function        string
		size, collected int
		want            verdict.Reason
	}{
		"never":                  {buffers, size, 0, verdict.NotCollected},
		"early":                  {buffers, size, 7, verdict.NotCollected},
		"in the middle":          {buffers, size, 20, verdict.SitesLeak},
		"more than V8 permits":   {buffers, 2 * size, 0, verdict.SitesLeak},
		"not memory of a buffer": {"node::Malloc<char>", size, 0, verdict.SitesLeak},
	} {
		judge, born := judgeAged(t, kept(t, c.function, c.size, c.collected))
		r := judge(growth.Options{Ages: born})
		require.Equal(t, c.want, r.Why, name)
		require.Equal(t, 1, r.Leaks, name)
	}
}
