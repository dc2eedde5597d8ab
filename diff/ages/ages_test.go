package ages

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// seconds is a time.
func seconds(n float64) time.Time { return time.Unix(1000, int64(n*1e9)) }

// TestBefore: what was allocated between two times is divided evenly.
func TestBefore(t *testing.T) {
	for _, c := range []struct {
		since, before float64
		want          int64
	}{{-5, -5, 100}, {2, 3, 100}, {3, 4, 100}, {3.75, 4.25, 50}, {1, 5, 75}, {4, 5, 0}, {5, 5, 0}} {
		got := before(seconds(4), seconds(c.since), heapfile.Birth{Before: seconds(c.before), Objects: 1, Bytes: 100})
		assert.Equal(t, c.want, got, "%v to %v", c.since, c.before)
	}
}

func TestHalves(t *testing.T) {
	b := births{
		moments: []time.Time{seconds(1), seconds(2), seconds(4)},
		sites: map[symbolize.SiteID][]heapfile.Birth{
			0: {{Before: seconds(1), Bytes: 7}, {Before: seconds(4), Bytes: 100}},
			1: {{Before: seconds(2), Bytes: 5}},
		},
	}
	a := Ages{old: b.halves(seconds(3))}
	assert.Equal(t, map[symbolize.SiteID]halves{0: {107, 57}, 1: {5, 5}}, a.old)
	share, ok := a.Old([]symbolize.SiteID{0, 1})
	assert.True(t, ok)
	assert.InDelta(t, 62./112, share, 1e-9)
	_, ok = a.Old(nil)
	assert.False(t, ok)
	_, ok = (*Ages)(nil).Old(nil)
	assert.False(t, ok)
}

// block is memory that was allocated at a time, and is freed at another one.
type block struct{ born, freed time.Time }

// recording writes the snapshots of a program as the recorder does. It is some milliseconds late with the moments,
// keeps few of them, and is now and then too busy to tell births. fileDelay is how much later than that the files are
// written.
type recording struct {
	snapshots, moments int
	fileDelay          time.Duration
	random             *rand.Rand
}

const blockSize = 1000 // bytes

func (r recording) write(t *testing.T, sites [][]block) string {
	t.Helper()
	dir := t.TempDir()
	var kept []time.Time
	for i := range r.snapshots {
		at := seconds(float64(i) + 0.2*r.random.Float64()).Add(time.Duration(r.random.IntN(20)) * time.Millisecond)
		at = at.Truncate(time.Millisecond)
		if r.random.IntN(10) > 0 {
			kept = append(kept, at)
		} else {
			at = at.Add(time.Microsecond) // no births
		}
		if len(kept) > r.moments {
			n := 1 + r.random.IntN(len(kept)-2)
			kept = slices.Delete(kept, n, n+1)
		}
		text := snapshotOf(at, kept, sites)
		name := filepath.Join(dir, fmt.Sprintf("app_7.%04d.heap", i+1))
		testutil.WriteFile(t, name, text, 0o600)
		require.NoError(t, os.Chtimes(name, at, at.Add(r.fileDelay)))
	}
	return dir
}

// snapshotOf is a snapshot at a time. If that is no moment, it does not tell births.
func snapshotOf(at time.Time, moments []time.Time, sites [][]block) string {
	var rows strings.Builder
	all := 0
	for i, blocks := range sites {
		born := make([]int, len(moments)+1)
		n := 0
		for _, b := range blocks {
			if !b.born.After(at) && b.freed.After(at) {
				k, _ := slices.BinarySearchFunc(moments, b.born, time.Time.Compare)
				born[k]++
				n++
			}
		}
		all += n
		fmt.Fprintf(&rows, "%d: %d [%d: %d] @ %#x\n", n, n*blockSize, n, n*blockSize, 0x1000*(i+1))
		if n == 0 || !slices.ContainsFunc(moments, at.Equal) {
			continue
		}
		rows.WriteString("# births")
		for k, moment := range moments {
			if born[k] > 0 {
				fmt.Fprintf(&rows, " %d:%d:%d", moment.UnixMilli(), born[k], born[k]*blockSize)
			}
		}
		rows.WriteByte('\n')
	}
	return fmt.Sprintf("heap profile: %d: %d [%d: %d] @ heapprofile/131072\n%s", all, all*blockSize, all, all*blockSize, &rows)
}

// TestSurvivorsBecomeFewer: of what was allocated in a part, never more is in use at a later snapshot, and all of what
// is never freed.
func TestSurvivorsBecomeFewer(t *testing.T) {
	parts := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		sites := make([][]block, 2) // one that leaks, and one that does not
		for range 3000 {
			born := seconds(40 * random.Float64())
			sites[0] = append(sites[0], block{born, seconds(1e6)})
			sites[1] = append(sites[1], block{born, born.Add(time.Duration(10 * random.ExpFloat64() * 1e9))})
		}
		r := recording{snapshots: 40, moments: 3 + random.IntN(40), random: random}
		r.fileDelay = time.Duration(random.IntN(11)-5) * time.Millisecond
		s, err := series.Open([]string{r.write(t, sites)}, series.Options{})
		require.NoError(t, err)
		symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
		require.NoError(t, err)
		a, err := Read(s, symbols, Options{First: 0, Last: len(s.Heads) - 1})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NotNil(t, a)
		parts += len(a.Ends)
		leak, other := a.Of([]symbolize.SiteID{0}), a.Of([]symbolize.SiteID{1})
		if sum(leak[len(leak)-1]) < sum(other[len(other)-1]) {
			leak, other = other, leak
		}
		for at := 1; at < len(a.Ends); at++ {
			for part := range at {
				require.Equal(t, leak[at-1][part], leak[at][part], "seed %d: %v", seed, leak)
				require.LessOrEqual(t, other[at][part], other[at-1][part], "seed %d: %v", seed, other)
			}
			require.Positive(t, leak[at][at], "seed %d: %v", seed, leak)
		}
	}
	assert.Greater(t, parts, 60*5)
}

func sum(c Cohorts) (all int64) {
	for _, bytes := range c {
		all += bytes
	}
	return all
}
