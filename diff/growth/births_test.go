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
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// sessionsUnderLoad writes a recording of sessions that live for three intervals. In each interval, one more begins
// than in the one before. If they are lost instead, as many bytes are in use, and their births are those of a leak.
func sessionsUnderLoad(t *testing.T, lost bool) string {
	t.Helper()
	const snapshots, life, size = 40, 3, 64 << 10
	dir, start := t.TempDir(), time.Unix(1_700_000_000, 0)
	inUse := func(i int) (sum int) {
		for born := max(0, i-life+1); born <= i; born++ {
			sum += born
		}
		return sum
	}
	moment := func(i int) time.Time { return start.Add(time.Duration(i) * 10 * time.Second) }
	allocated := 0
	for i := range snapshots {
		allocated += i
		var births strings.Builder
		for born := range i + 1 {
			n := inUse(born) - inUse(born-1)
			if !lost {
				n = born
				if born <= i-life {
					n = 0
				}
			}
			if n > 0 {
				fmt.Fprintf(&births, " %d:%d:%d", moment(born).UnixMilli(), n, n*size)
			}
		}
		counts := fmt.Sprintf("%d: %d [%d: %d] @", inUse(i), inUse(i)*size, allocated, allocated*size)
		writeAged(t, dir, i, moment(i), counts, births.String())
	}
	return dir
}

// writeAged writes a snapshot with a single site at 0x1000. births may be empty. head is what comes before the profile.
func writeAged(t *testing.T, dir string, i int, moment time.Time, counts, births string, head ...string) {
	t.Helper()
	text := strings.Join(head, "") + fmt.Sprintf("heap profile: %s heapprofile/131072\n%s 0x1000\n", counts, counts)
	if births != "" {
		text += "# births" + births + "\n"
	}
	name := filepath.Join(dir, fmt.Sprintf("app_7.%04d.heap", i+1))
	testutil.WriteFile(t, name, text, 0o600)
	require.NoError(t, os.Chtimes(name, moment, moment))
}

// judgeAged returns a function that judges a recording, and its ages.
func judgeAged(t *testing.T, dir string) (judge func(growth.Options) *growth.Result, born *ages.Ages) {
	t.Helper()
	var columns sites.Collector
	s, err := series.Open([]string{dir}, series.Options{Visit: columns.Visit})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
	require.NoError(t, err)
	judged := sites.JudgedRange(s, 0, 0)
	born, err = ages.Read(s, symbols, ages.Options{First: judged.First, Last: judged.Last})
	require.NoError(t, err)
	require.NotNil(t, born)
	return func(o growth.Options) *growth.Result { return growth.Judge(s, symbols, &columns, o) }, born
}

// confidence is that of the only site, judged with and without births.
func confidence(t *testing.T, dir string) (with, without float64) {
	t.Helper()
	judge, born := judgeAged(t, dir)
	one := func(o growth.Options) *growth.Site {
		r := judge(o)
		require.Len(t, r.Sites, 1)
		return &r.Sites[0]
	}
	plain, aged := one(growth.Options{All: true}), one(growth.Options{All: true, Ages: born})
	require.Nil(t, plain.Births)
	require.NotNil(t, aged.Births)
	return aged.Confidence, plain.Confidence
}

// TestAgesDecide: two recordings have the same curve. One has sessions, of which nothing gets old, and one a leak.
func TestAgesDecide(t *testing.T) {
	sessions, plain := confidence(t, sessionsUnderLoad(t, false))
	leak, same := confidence(t, sessionsUnderLoad(t, true))
	require.InDelta(t, plain, same, 1e-9)
	require.Less(t, sessions, plain)
	require.Greater(t, leak, plain)
}
