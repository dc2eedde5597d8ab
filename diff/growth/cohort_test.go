package growth

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// columnList are columns by SiteID, of which none are added up.
type columnList []sites.Column

func (l columnList) Len() int                                { return len(l) }
func (l columnList) Sum(ids []symbolize.SiteID) sites.Column { return l[ids[0]] }

// madeUpCurves returns n curves of the given number of snapshots, each a group of its own.
func madeUpCurves(n, snapshots int, bytes, alloc func(site, i int) float64) (*curves, [][]symbolize.SiteID) {
	columns, groups := make(columnList, n), make([][]symbolize.SiteID, n)
	for site := range columns {
		for i := range snapshots {
			columns[site].Bytes = append(columns[site].Bytes, int64(bytes(site, i)))
			columns[site].Alloc = append(columns[site].Alloc, int64(alloc(site, i)))
		}
		groups[site] = []symbolize.SiteID{symbolize.SiteID(site)}
	}
	c := curvesOf(window{
		Range: sites.Range{First: 0, Last: snapshots - 1}, hasAlloc: true,
		series: &series.Series{Heads: make([]*series.Head, snapshots)},
	}, columns)
	return &c, groups
}

const mebibyte = 1 << 20

// TestWorkIsThatOfMostSites: a process slows down to a tenth in the second half. One site allocates
// more than all others together, and at an even rate.
func TestWorkIsThatOfMostSites(t *testing.T) {
	slowed := func(i int) float64 { return float64(min(i, 12)) + 0.1*float64(max(0, i-12)) }
	c, groups := madeUpCurves(20, 25, func(int, int) float64 { return mebibyte }, func(site, i int) float64 {
		if site == 7 {
			return 1e12 * float64(i)
		}
		return 1e6 * float64(site+1) * slowed(i)
	})
	cohort := cohortOf(c, groups, mebibyte)
	work := workOf(&c.window, &cohort).done
	for i, done := range work {
		require.InDelta(t, slowed(i)/slowed(24), done/work[24], 1e-6, "snapshot %d", i)
	}
}

// TestWorkNeedsManySites: with few sites that allocate all the time, the work is the processor
// time.
func TestWorkNeedsManySites(t *testing.T) {
	once := func(_, i int) float64 { return 1e6 * float64(min(i, 1)) }
	c, groups := madeUpCurves(20, 25, once, once)
	cohort := cohortOf(c, groups, mebibyte)
	require.Nil(t, cohort.work)
	c.processor = make([]float64, 25)
	require.Equal(t, work{done: c.processor}, workOf(&c.window, &cohort))
}

// TestSitesGrowInStep: half of the sites grow at the same moments, as code does that something
// builds anew; the others grow at moments of their own.
func TestSitesGrowInStep(t *testing.T) {
	const n = 30
	bytes := func(site, i int) float64 {
		if site < n/2 {
			return mebibyte * float64(site+1) * float64(i/6) // all at once, every six snapshots
		}
		return mebibyte * float64(i/(13+site%4))
	}
	c, groups := madeUpCurves(n, 48, bytes, bytes)
	cohort := cohortOf(c, groups, mebibyte)
	for site := range n {
		if site < n/2 {
			require.Greater(t, cohort.inStep(site), 0.7, "site %d", site)
		} else {
			require.Less(t, cohort.inStep(site), 0.6, "site %d", site)
		}
	}
	few := cohortOf(c, groups[:5], mebibyte)
	require.Zero(t, few.inStep(0), "of few sites, two may grow together by chance")
}

// TestHiddenSitesDoNotCount: a site that a snapshot does not show counts for nothing.
func TestHiddenSitesDoNotCount(t *testing.T) {
	bytes := func(site, i int) float64 { return mebibyte * float64((site+1)*i) }
	c, groups := madeUpCurves(20, 10, bytes, bytes)
	for _, column := range c.columns.(columnList) {
		column.Bytes[4], column.Alloc[4] = sites.Hidden, sites.Hidden
	}
	cohort := cohortOf(c, groups, mebibyte)
	require.Nil(t, cohort.work)
	require.Zero(t, cohort.growers)
}

// TestManyGroupsAreSampled: the cost is bounded, and the work is that of all.
func TestManyGroupsAreSampled(t *testing.T) {
	growing := func(site, i int) float64 { return float64(site+1) * math.Pow(float64(i), 2) }
	c, groups := madeUpCurves(3*mostGroups+1, 8, growing, growing)
	cohort := cohortOf(c, groups, 1)
	require.LessOrEqual(t, cohort.growers, mostGroups)
	require.Greater(t, cohort.growers, mostGroups/2)
	require.InDelta(t, 4.0/49, cohort.work[2], 1e-3)
}

// TestOneSnapshotHasNoCohort: nothing grows in a single snapshot.
func TestOneSnapshotHasNoCohort(t *testing.T) {
	one := func(int, int) float64 { return mebibyte }
	c, groups := madeUpCurves(20, 1, one, one)
	cohort := cohortOf(c, groups, mebibyte)
	require.Nil(t, cohort.work)
	require.Zero(t, cohort.inStep(3))
}

// TestMedianRise: the sites that exist early tell how the sites of a process rise, whether it was
// recorded from its start on or not.
func TestMedianRise(t *testing.T) {
	doubling := func(_, i int) float64 { return mebibyte * math.Pow(2, float64(i)/6) }
	rising := func(site, i int) float64 { return mebibyte * float64(i*(site+1)) } // from nothing, all alike
	steady := func(_, i int) float64 { return mebibyte * float64(1+i%2) }
	started := func(_, i int) float64 { return mebibyte * float64(min(i, 1)) }
	late := func(_, i int) float64 { return mebibyte * float64(max(0, i-5)) }
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
		curves, _ := madeUpCurves(c.sites, 12, c.bytes, c.bytes)
		require.InDelta(t, c.want, curves.medianRise, 1e-6, c.name)
	}
}

// TestWorkWithoutSelf: what a site allocates is its load, and not the work of the process.
func TestWorkWithoutSelf(t *testing.T) {
	all, own := []float64{0, 10, 30, 70}, []float64{0, 5, 20, 50}
	require.Equal(t, []float64{0, 5, 10, 20}, withoutSelf(all, own))
	require.Nil(t, withoutSelf(all, []float64{0, 10, 29, 68}), "the others allocate next to nothing")
	require.Equal(t, all, withoutSelf(all, nil), "its allocations are not known")
	require.Nil(t, withoutSelf(nil, own))
}
