package gate

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/stretchr/testify/require"
)

// TestRowsAddUp: in every run, the rows and the rest add up to the total, however the sites were
// matched.
func TestRowsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	list, err := suppress.Parse("leak:Index\n", "s", time.Now())
	require.NoError(t, err)
	for range 50 {
		runs := []*baseline.Run{shuffled(r).run(9, newNoise(r.Uint64(), 0.1))}
		for night := range 5 {
			runs = append(runs, shuffled(r).run(night, newNoise(r.Uint64(), 0.1)))
		}
		sites, _ := matchSites(runs, list)
		rows := groupSites(sites, Options{})
		for i, run := range runs {
			sum := run.Rest
			for _, row := range rows {
				sum = sum.Add(row.levels[i])
			}
			require.InEpsilon(t, run.Total.Bytes, sum.Bytes, 1e-9)
			require.InEpsilon(t, run.Total.AllocBytes, sum.AllocBytes, 1e-9)
		}
	}
}

// TestTiers: the result counts how the sites were matched.
func TestTiers(t *testing.T) {
	r := judged(t, service().with("Pool<Node>::grow", rename("Pool<Edge>::grow Index::load main")).with("config_read", rename("settings main")), Options{})
	require.Equal(t, 10, r.Tiers[identity.ByNames].Sites)
	require.Equal(t, 2, r.Tiers[identity.ByCallers].Sites)
	require.Equal(t, 2, r.Tiers[identity.Unmatched].Sites)
	require.InDelta(t, 0.04, r.UnmatchedShare(), 0.005)
}

// TestFunctionsOfOneName: functions of one name in two files are two rows, so that the large one
// does not hide a regression of the small one. A function that moves to the other file is one row
// with the other.
func TestFunctionsOfOneName(t *testing.T) {
	p := append(service(),
		function{"{anonymous}::grow Importer::run main", "importer.cc", 30 * mib, 0, 0},
		function{"{anonymous}::grow Exporter::run main", "exporter.cc", 4 * mib, 0, 0})
	n := newNoise(3, 0.01)
	worse := append(program{}, p...)
	worse[8].bytes *= 1.5
	r, err := Compare(worse.run(9, n), p.set(6, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Fail, r.Verdict)
	require.Equal(t, "/src/exporter.cc", r.Rows[0].Site.Frames[0].File)
	require.InEpsilon(t, 4*mib, r.Rows[0].Values[0].Before, 0.05)

	moved := append(program{}, p...)
	moved[8].file = "importer.cc"
	r, err = Compare(moved.run(9, n), p.set(6, n), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Verdict)
}

// TestFingerprint: a function has one fingerprint in every build and run.
func TestFingerprint(t *testing.T) {
	a := judged(t, service().with("Pool<Node>::grow", times(2)), Options{})
	b := judged(t, service().with("Pool<Node>::grow", func(f *function) {
		f.stack, f.file, f.bytes = "Pool<Edge>::grow Index::reload main", "other.h", 3*f.bytes
	}), Options{})
	require.Equal(t, listed(a, "Pool::grow").Fingerprint, listed(b, "Pool::grow").Fingerprint)
	require.Len(t, listed(a, "Pool::grow").Fingerprint, 32)
}
