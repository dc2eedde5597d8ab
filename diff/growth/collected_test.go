package growth_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// kept writes a recording of 40 snapshots. A function keeps 64 objects of a size more in each. At one snapshot, an eighth
// of all that is older is released; 0 stands for never.
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
		text := "--- symbol\n0x0000000000001000 " + function + "\n---\n--- heap\n" +
			fmt.Sprintf("heap profile: %s heapprofile/131072\n%s 0x1000\n# births%s\n", counts, counts, births.String())
		name := filepath.Join(dir, fmt.Sprintf("node_7.%04d.heap", i+1))
		testutil.WriteFile(t, name, text, 0o600)
		require.NoError(t, os.Chtimes(name, moment(i), moment(i)))
	}
	return dir
}

// TestNotCollected: buffers of JavaScript that are not used any more are in use until V8 collects its objects, which it does
// when they have grown by 64 MiB. Until then a leak cannot be told.
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
		var columns sites.Collector
		s, err := series.Open([]string{kept(t, c.function, c.size, c.collected)}, series.Options{Visit: columns.Visit})
		require.NoError(t, err)
		symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
		require.NoError(t, err)
		judged := sites.JudgedRange(s, 0, 0)
		born, err := ages.Read(s, symbols, ages.Options{First: judged.First, Last: judged.Last})
		require.NoError(t, err)
		require.NotNil(t, born)
		r := growth.Judge(s, symbols, &columns, growth.Options{Ages: born})
		require.Equal(t, c.want, r.Why, name)
		require.Equal(t, 1, r.Leaks, name)
		require.NoError(t, s.Close())
	}
}
