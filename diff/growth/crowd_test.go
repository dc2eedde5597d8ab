package growth

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// crowdColumns returns n columns of the given number of snapshots, each a group of its own.
func crowdColumns(n, snapshots int, bytes, alloc func(site, i int) float64) (
	scope, []sites.Column, [][]symbolize.SiteID,
) {
	columns, groups := make([]sites.Column, n), make([][]symbolize.SiteID, n)
	for site := range columns {
		for i := range snapshots {
			columns[site].Bytes = append(columns[site].Bytes, int64(bytes(site, i)))
			columns[site].Alloc = append(columns[site].Alloc, int64(alloc(site, i)))
		}
		groups[site] = []symbolize.SiteID{symbolize.SiteID(site)}
	}
	s := scope{
		Range: sites.Range{First: 0, Last: snapshots - 1}, hasAlloc: true,
		series: &series.Series{Heads: make([]*series.Head, snapshots)}, work: make([]float64, snapshots),
	}
	return s, columns, groups
}

const crowdMiB = 1 << 20

// TestPaceIsThatOfMostSites: a process slows down to a tenth in the second half. One site allocates
// more than all others together, and at an even rate.
func TestPaceIsThatOfMostSites(t *testing.T) {
	slowed := func(i int) float64 { return float64(min(i, 12)) + 0.1*float64(max(0, i-12)) }
	s, columns, groups := crowdColumns(20, 25, func(int, int) float64 { return crowdMiB }, func(site, i int) float64 {
		if site == 7 {
			return 1e12 * float64(i)
		}
		return 1e6 * float64(site+1) * slowed(i)
	})
	s.setPace(crowdOf(s, columns, groups, crowdMiB).pace)
	for i, work := range s.work {
		require.InDelta(t, slowed(i)/slowed(24), work/s.work[24], 1e-6, "snapshot %d", i)
	}
}

// TestPaceNeedsManySites: with few sites that allocate all the time, the work stays what it was.
func TestPaceNeedsManySites(t *testing.T) {
	once := func(_, i int) float64 { return 1e6 * float64(min(i, 1)) }
	s, columns, groups := crowdColumns(20, 25, once, once)
	c := crowdOf(s, columns, groups, crowdMiB)
	require.Nil(t, c.pace)
	s.work[24] = 5
	s.setPace(c.pace)
	require.InDelta(t, 5, s.work[24], 0)
}

// TestSitesGrowInStep: half of the sites grow at the same moments, as code does that something builds
// anew; the others grow at moments of their own.
func TestSitesGrowInStep(t *testing.T) {
	const n = 30
	bytes := func(site, i int) float64 {
		if site < n/2 {
			return crowdMiB * float64(site+1) * float64(i/6) // all at once, every six snapshots
		}
		return crowdMiB * float64(i/(13+site%4))
	}
	s, columns, groups := crowdColumns(n, 48, bytes, bytes)
	c := crowdOf(s, columns, groups, crowdMiB)
	for site := range n {
		if site < n/2 {
			require.Greater(t, c.inStep(site), 0.7, "site %d", site)
		} else {
			require.Less(t, c.inStep(site), 0.6, "site %d", site)
		}
	}
	few := crowdOf(s, columns[:5], groups[:5], crowdMiB)
	require.Zero(t, few.inStep(0), "of few sites, two may grow together by chance")
}

// TestHiddenSitesAreNoCrowd: a site that a snapshot does not show counts for nothing.
func TestHiddenSitesAreNoCrowd(t *testing.T) {
	bytes := func(site, i int) float64 { return crowdMiB * float64((site+1)*i) }
	s, columns, groups := crowdColumns(20, 10, bytes, bytes)
	for i := range columns {
		columns[i].Bytes[4], columns[i].Alloc[4] = sites.Hidden, sites.Hidden
	}
	c := crowdOf(s, columns, groups, crowdMiB)
	require.Nil(t, c.pace)
	require.Zero(t, c.growers)
}

// TestManyGroupsAreSampled: the cost is bounded, and the pace is that of all.
func TestManyGroupsAreSampled(t *testing.T) {
	growing := func(site, i int) float64 { return float64(site+1) * math.Pow(float64(i), 2) }
	s, columns, groups := crowdColumns(3*mostGroups+1, 8, growing, growing)
	c := crowdOf(s, columns, groups, 1)
	require.LessOrEqual(t, c.growers, mostGroups)
	require.Greater(t, c.growers, mostGroups/2)
	require.InDelta(t, 4.0/49, c.pace[2], 1e-3)
}

// TestOneSnapshotIsNoCrowd: nothing grows in a single snapshot.
func TestOneSnapshotIsNoCrowd(t *testing.T) {
	one := func(int, int) float64 { return crowdMiB }
	s, columns, groups := crowdColumns(20, 1, one, one)
	c := crowdOf(s, columns, groups, crowdMiB)
	require.Nil(t, c.pace)
	require.Zero(t, c.inStep(3))
}

// TestMedianRise: the sites that exist early tell how the sites of a process rise, whether it was recorded from its
// start on or not.
func TestMedianRise(t *testing.T) {
	doubling := func(_, i int) float64 { return crowdMiB * math.Pow(2, float64(i)/6) }
	rising := func(site, i int) float64 { return crowdMiB * float64(i*(site+1)) } // from nothing, all alike
	steady := func(_, i int) float64 { return crowdMiB * float64(1+i%2) }
	started := func(_, i int) float64 { return crowdMiB * float64(min(i, 1)) }
	late := func(_, i int) float64 { return crowdMiB * float64(max(0, i-5)) }
	byFirst := func(from int, first, others func(site, i int) float64) func(site, i int) float64 {
		return func(site, i int) float64 {
			if site < from {
				return first(site, i)
			}
			return others(site, i)
		}
	}
	for _, c := range []struct {
		name  string
		sites int
		bytes func(site, i int) float64
		want  float64
	}{
		{"from the first snapshot on", 3, doubling, 7.0 / 6 * math.Ln2},
		// The last third of 0, 1, 2, … 11 has a mean of 9.5, values 2 to 5 one of 2.5.
		{"from nothing", 3, rising, math.Log(9.5 / 2.5)},
		{"all there at once, after an empty snapshot", 3, started, 0},
		{"most are steady", 12, byFirst(7, steady, rising), 0},
		{"most rise", 12, byFirst(5, steady, rising), math.Log(9.5 / 2.5)},
		{"one that rises beside many that began late", 12, byFirst(1, rising, late), math.Log(9.5 / 2.5)},
	} {
		s, columns, _ := crowdColumns(c.sites, 12, c.bytes, c.bytes)
		require.InDelta(t, c.want, medianRise(s, columns), 1e-6, c.name)
	}
}

// TestWorkBesideASite: what a site allocates is its load, and not the work of the process.
func TestWorkBesideASite(t *testing.T) {
	all, own := []float64{0, 10, 30, 70}, []float64{0, 5, 20, 50}
	require.Equal(t, []float64{0, 5, 10, 20}, beside(all, own))
	require.Nil(t, beside(all, []float64{0, 10, 29, 68}), "the others allocate next to nothing")
	require.Equal(t, all, beside(all, nil), "its allocations are not known")
	require.Nil(t, beside(nil, own))
}
