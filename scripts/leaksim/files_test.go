package leaksim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
	blame "github.com/heaplapse/heaplapse/symbolize/class"

	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
)

// only returns a process with a few functions of one behaviour.
func only(b behaviour.Behaviour, m Mode, seed uint64, snapshots int) *Process {
	p := &Process{seed: seed, snapshots: snapshots, Mode: m, pick: always(b)}
	p.simulate(4, 6)
	return p
}

// always draws one behaviour.
func always(b behaviour.Behaviour) func(*rand.Rand, float64) behaviour.Behaviour {
	return func(*rand.Rand, float64) behaviour.Behaviour { return b }
}

// small returns the process of a seed, with fewer functions.
func small(seed uint64, snapshots int) *Process {
	all := modes()
	return smallIn(all[seed%uint64(len(all))], seed, snapshots)
}

func smallIn(m Mode, seed uint64, snapshots int) *Process {
	p := &Process{seed: seed, snapshots: snapshots, Mode: m, pick: behaviour.Mixture}
	p.simulate(30, 50)
	return p
}

func modeNamed(t *testing.T, name string) Mode {
	t.Helper()
	for _, m := range slices.Concat(modes(), bornModes(), tracedModes(), collectedModes()) {
		if m.name == name {
			return m
		}
	}
	t.Fatalf("no mode %q", name)
	return Mode{}
}

func written(t *testing.T, p *Process) (dir string, shots []shot) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, p.Write(dir))
	return dir, p.shots()
}

func read(t *testing.T, dir string, p *Process, s shot) *heapfile.Snapshot {
	t.Helper()
	snap, err := heapfile.ReadFile(filepath.Join(dir, p.fileName(s)))
	require.NoError(t, err)
	return snap
}

// TestFilesMatchSimulation reads and symbolizes the files of every behaviour, and compares the
// counts of each function with the simulation.
func TestFilesMatchSimulation(t *testing.T) {
	testutil.NoRace(t)
	for i, b := range behaviour.Behaviours() {
		t.Run(b.Name, func(t *testing.T) {
			p := only(b, modeNamed(t, "timer"), uint64(i), 6)
			dir, shots := written(t, p)
			require.Len(t, shots, 6)
			for k, got := range perFunction(t, dir) {
				im := shots[k].image
				for i := range im.sites {
					want := im.siteAt(&im.sites[i], shots[k].step)
					require.Equal(t, counts(want), got[im.sites[i].name], "%s, snapshot %d", im.sites[i].name, k)
					delete(got, im.sites[i].name)
				}
				require.Empty(t, got, "unknown functions")
			}
		})
	}
}

func counts(p memory.Point) heapfile.Counts {
	return heapfile.Counts{InuseObjects: p.Live, InuseBytes: p.Bytes, AllocObjects: p.Allocs, AllocBytes: p.AllocBytes}
}

// perFunction sums the estimates of each snapshot by the function that is blamed.
func perFunction(t *testing.T, dir string) []map[string]heapfile.Counts {
	t.Helper()
	series, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	defer series.Close()
	require.Empty(t, series.Problems)
	symbols, err := symbolize.Resolve(t.Context(), series, symbolize.Options{Sysroot: filepath.Join(dir, "sysroot")})
	require.NoError(t, err)
	blamer := blame.NewBlamer(symbols, nil)
	var out []map[string]heapfile.Counts
	for s, err := range series.All(1) {
		require.NoError(t, err)
		sums := map[string]heapfile.Counts{}
		for _, row := range s.Samples {
			stack := symbols.Stack(row.Stack)
			ref, ok := blamer.Blame(stack)
			if !ok {
				require.True(t, s.Completeness.Truncated, "only a truncated row has no addresses")
				continue
			}
			l := &symbols.Locations[stack[ref.Position]]
			require.True(t, l.Named(), "%#x: %s", l.Address, l.Reason)
			name := l.Frames[ref.Frame].Function
			sums[name] = sums[name].Add(s.Estimate(row))
		}
		out = append(out, sums)
	}
	return out
}

// TestRowsSumToTheHeader covers every mode of recording of the first populations.
func TestRowsSumToTheHeader(t *testing.T) {
	testutil.NoRace(t)
	for i, m := range modes() {
		t.Run(fmt.Sprint(i, m.name), func(t *testing.T) {
			p := small(uint64(i), 8)
			require.Equal(t, m, p.Mode)
			dir, shots := written(t, p)
			require.NotEmpty(t, shots)
			for _, s := range shots {
				snap := read(t, dir, p, s)
				switch {
				case m.Truncated:
					checkTruncated(t, p, s, snap)
				case m.format == jemalloc:
					checkJemalloc(t, snap)
				default:
					require.Equal(t, snap.Total, snap.Completeness.Rows)
					require.Empty(t, snap.Warnings)
				}
			}
		})
	}
}

// checkTruncated checks that the file is truncated at the size of the buffer, and that the header
// has the totals of all rows.
func checkTruncated(t *testing.T, p *Process, s shot, snap *heapfile.Snapshot) {
	t.Helper()
	require.True(t, snap.Completeness.Truncated)
	require.LessOrEqual(t, snap.Size, int64(bufferSize))
	_, total := p.rows(s, s.image.texts())
	require.Equal(t, counts(total), snap.Total)
	require.Less(t, snap.Completeness.Rows.AllocBytes, snap.Total.AllocBytes)
	require.LessOrEqual(t, snap.Completeness.Rows.InuseBytes, snap.Total.InuseBytes)
}

// checkJemalloc compares the estimates of header and rows. The header is computed from the sum of
// all stacks, so the raw numbers differ.
func checkJemalloc(t *testing.T, snap *heapfile.Snapshot) {
	t.Helper()
	header := heapfile.Sample{Counts: snap.Total}.Estimate(snap.Period)
	require.InEpsilon(t, header.InuseBytes, snap.Completeness.Estimate.InuseBytes, 0.02)
}

// TestUnbiased checks the pair that jemalloc writes for one object of 8 bytes and one of 8 MiB.
func TestUnbiased(t *testing.T) {
	e := estimate([]memory.Class{
		{Size: 8, Chance: -math.Expm1(-8.0 / samplePeriod), Sampled: 1},
		{Size: 8 << 20, Chance: -math.Expm1(-float64(8<<20) / samplePeriod), Sampled: 1},
	})
	objects, size := raw(e.objects, e.bytes)
	require.Equal(t, []int64{17, 2312}, []int64{objects, size})
}

// TestEstimatesAreUnbiased compares the estimates from sampled files with the true sums, over many
// processes.
func TestEstimatesAreUnbiased(t *testing.T) {
	testutil.NoRace(t)
	for _, name := range []string{"jemalloc", "jemalloc-accum", "heap_v2", "builtin", "go"} {
		t.Run(name, func(t *testing.T) {
			var estimated, truth, variance float64
			for seed := range uint64(30) {
				p := only(behaviourNamed(t, "noisy-constant"), modeNamed(t, name), seed, 3)
				dir, shots := written(t, p)
				s := shots[len(shots)-1]
				estimated += float64(read(t, dir, p, s).Completeness.Estimate.InuseBytes)
				for i := range s.image.sites {
					truth += float64(s.image.siteAt(&s.image.sites[i], s.step).Bytes)
					variance += math.Pow(samplingNoise(s.image, &s.image.sites[i], s.mark, p.Mode.period), 2)
				}
			}
			require.InDelta(t, truth, estimated, 4*math.Sqrt(variance))
			require.Less(t, 4*math.Sqrt(variance), truth/5, "the tolerance is small")
		})
	}
}

func behaviourNamed(t *testing.T, name string) behaviour.Behaviour {
	t.Helper()
	for _, b := range behaviour.Behaviours() {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no behaviour %q", name)
	return behaviour.Behaviour{}
}

// TestSeries checks that a reader finds the properties of each mode of recording: clock, restarts,
// missing snapshots.
func TestSeries(t *testing.T) {
	testutil.NoRace(t)
	for i, m := range slices.Concat(modes(), tracedModes()) {
		t.Run(fmt.Sprint(i, m.name), func(t *testing.T) {
			p := smallIn(m, uint64(i), 12)
			dir, shots := written(t, p)
			s, err := series.Open([]string{dir}, series.Options{})
			require.NoError(t, err)
			defer s.Close()
			require.Len(t, s.Heads, len(shots))
			clock := series.ClockModified
			switch {
			case m.copied:
				clock = series.ClockAllocated
			case m.format == builtin, p.massifUnit() == "ms":
				clock = series.ClockManifest
			case m.format == massif:
				clock = series.ClockIndex
			}
			require.Equal(t, clock, s.Clock.Source)
			kinds := map[heapfile.WarningKind]bool{}
			for _, w := range s.Warnings {
				kinds[w.Kind] = true
			}
			require.Equal(t, m.images > 1, kinds[heapfile.WarnRestart])
			require.Equal(t, m.missing > 0 && m.format != massif, kinds[heapfile.WarnMissing])
			require.False(t, kinds[heapfile.WarnFork])
			for k, head := range s.Heads {
				require.True(t, m.copied || m.format == massif || shots[k].time.Equal(s.Clock.Times[k]))
				require.Equal(t, m.counted(), head.HasAlloc)
			}
		})
	}
}

// TestTriggers checks that a trigger by bytes allocated gives the requested number of snapshots,
// evenly spaced.
func TestTriggers(t *testing.T) {
	p := only(behaviourNamed(t, "noisy-constant"), modeNamed(t, "allocated"), 1, 20)
	shots := p.shots()
	require.Len(t, shots, 20)
	total := p.images[0].total()
	least, most := int64(math.MaxInt64), int64(0)
	for i := 1; i < len(shots); i++ {
		step := total[shots[i].step].AllocBytes - total[shots[i-1].step].AllocBytes
		least, most = min(least, step), max(most, step)
	}
	require.Greater(t, float64(least), 0.8*float64(most), "steps are even")
}

// TestHighWater checks that each snapshot has more bytes in use than all earlier ones.
func TestHighWater(t *testing.T) {
	p := only(behaviourNamed(t, "random-walk"), modeNamed(t, "high-water"), 3, 10)
	dir, shots := written(t, p)
	require.Len(t, shots, 10)
	var before int64
	for _, s := range shots {
		total := read(t, dir, p, s).Total.InuseBytes
		require.Greater(t, total, before)
		before = total
	}
}

// TestRestartedImagesAreTheSameProgram checks that functions, sizes and stacks repeat, but
// addresses and events do not.
func TestRestartedImagesAreTheSameProgram(t *testing.T) {
	testutil.NoRace(t)
	p := Simulate(7, 12, Plain)
	require.Equal(t, "restarted", p.Mode.name)
	a, b := p.images[0], p.images[1]
	require.Equal(t, len(a.sites), len(b.sites))
	require.NotEqual(t, a.base, b.base)
	differ := 0
	for i := range a.sites {
		require.Equal(t, a.sites[i].name, b.sites[i].name)
		require.Equal(t, a.sites[i].stacks, b.sites[i].stacks)
		require.Equal(t, a.sites[i].plan.Sizes, b.sites[i].plan.Sizes)
		if a.history[i][50] != b.history[i][50] {
			differ++
		}
	}
	require.Greater(t, differ, len(a.sites)/3)
}

// TestDeterministic checks that the same seed gives the same files and times, and another seed
// gives others.
func TestDeterministic(t *testing.T) {
	testutil.NoRace(t)
	for seed := range uint64(len(modes())) {
		p, q, other := small(seed, 8), small(seed, 8), small(seed+uint64(len(modes())), 8)
		dirP, shots := written(t, p)
		dirQ, _ := written(t, q)
		dirOther, _ := written(t, other)
		name := p.fileName(shots[len(shots)-1])
		require.Equal(t, content(t, filepath.Join(dirP, name)), content(t, filepath.Join(dirQ, name)))
		if same, err := os.ReadFile(filepath.Join(dirOther, name)); err == nil {
			require.NotEqual(t, content(t, filepath.Join(dirP, name)), string(same))
		}
		infoP, err := os.Stat(filepath.Join(dirP, name))
		require.NoError(t, err)
		infoQ, err := os.Stat(filepath.Join(dirQ, name))
		require.NoError(t, err)
		require.True(t, infoP.ModTime().Equal(infoQ.ModTime()))
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// TestCurves compares the curves of Functions with the files: exactly, or within the rounding of
// sampled formats. A value that truncation hides is NaN.
func TestCurves(t *testing.T) {
	testutil.NoRace(t)
	for i, m := range slices.Concat(modes(), tracedModes(), []Mode{modeNamed(t, "go"), modeNamed(t, "v8")}) {
		t.Run(fmt.Sprint(i, m.name), func(t *testing.T) {
			p := smallIn(m, uint64(i), 8)
			dir, shots := written(t, p)
			judged := window(shots)[0].image
			inFiles := perFunction(t, dir)
			for _, o := range p.Functions() {
				k := 0
				for n, s := range shots {
					if s.image != judged {
						continue
					}
					want, got := float64(inFiles[n][o.Name].InuseBytes), o.Observed.Bytes[k]
					k++
					if math.IsNaN(got) {
						require.True(t, m.Partial())
						continue
					}
					tolerance := map[format]float64{heapProfile: 0, heapV2: 1e-4, jemalloc: 1e-4, builtin: 1e-3, pprof: 1e-3}[m.format]
					require.InDelta(t, want, got, tolerance*(want+samplePeriod), "%s, snapshot %d", o.Name, n)
				}
				require.Len(t, o.Observed.Bytes, k)
				require.Len(t, o.Observed.Seconds, k)
			}
		})
	}
}

// TestWideFunctions checks that in a wide population some functions have two behaviours, and
// harmless ones do not leak.
func TestWideFunctions(t *testing.T) {
	p := Simulate(7, 8, Wide)
	im := p.images[0]
	last, other := im.grid.Steps()-1, 0
	for i := range im.sites {
		s := &im.sites[i]
		if !s.behaviour.Leak {
			require.Zero(t, im.siteAt(s, last).Leaked, s.behaviour.Name)
		}
		if s.behaviour.Name == "constant" && im.siteAt(s, last).Bytes != im.siteAt(s, 0).Bytes {
			other++
		}
	}
	require.Positive(t, other, "some constant functions have a second behaviour")
}
