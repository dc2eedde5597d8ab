package leaksim

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// eventful returns small processes of a mode to which something happens.
func eventful(t *testing.T, mode string, has func(life) bool) *Process {
	t.Helper()
	for seed := range uint64(200) {
		p := &Process{seed: seed, snapshots: 12, Mode: modeNamed(t, mode), pick: always(behaviourNamed(t, "leak-steady")), eventful: true}
		p.simulate(4, 6)
		if has(p.life) {
			return p
		}
	}
	t.Fatal("no such process")
	return nil
}

// TestStarvedProcesses: the snapshots of a timer are even over the wall clock, but not over the work;
// the processor time follows the work.
func TestStarvedProcesses(t *testing.T) {
	uneven := func(l life) bool {
		return l.activity == nil && l.manifest && !l.exits && l.start == 0 && spread(steps(l.wall)) > 0.5
	}
	p := eventful(t, "timer", uneven)
	var wall, work, cpu []float64
	for _, s := range p.shots() {
		wall, work, cpu = append(wall, float64(s.time.UnixNano())), append(work, float64(s.step)), append(cpu, float64(s.cpu))
	}
	require.Less(t, spread(steps(wall)), 0.1)
	require.Greater(t, spread(steps(work)), 0.2)
	perWork := steps(cpu)
	for i, w := range steps(work) {
		perWork[i] /= w
	}
	require.Less(t, spread(perWork), 0.1)
}

func steps(v []float64) (out []float64) {
	for i := 1; i < len(v); i++ {
		out = append(out, v[i]-v[i-1])
	}
	return out
}

// spread is the standard deviation over the mean.
func spread(v []float64) float64 {
	var sum, squares float64
	for _, x := range v {
		sum, squares = sum+x, squares+x*x
	}
	mean := sum / float64(len(v))
	return math.Sqrt(max(0, squares/float64(len(v))-mean*mean)) / mean
}

// TestExit: the last snapshot is that of the exit, a reader finds it, and the truth ends before it.
func TestExit(t *testing.T) {
	for _, mode := range []string{"timer", "jemalloc", "builtin"} {
		p := eventful(t, mode, func(l life) bool { return l.exits && l.manifest })
		dir, shots := written(t, p)
		require.True(t, shots[len(shots)-1].exit)
		judged := window(shots)
		require.False(t, judged[len(judged)-1].exit)
		s, err := series.Open([]string{dir}, series.Options{})
		require.NoError(t, err)
		require.Len(t, s.Heads, len(shots))
		require.Equal(t, filename.TriggerExit, s.Triggers[len(shots)-1])
		require.NotEqual(t, filename.TriggerExit, s.Triggers[len(shots)-2])
		for i := range shots {
			cpu, known := s.ProcessorTimeAt(i)
			require.True(t, known)
			require.Equal(t, shots[i].cpu, cpu)
		}
		require.NoError(t, s.Close())
	}
}

// TestStartUp: a process with a start-up phase allocates faster then.
func TestStartUp(t *testing.T) {
	p := eventful(t, "timer", func(l life) bool { return l.start > 0.05 && l.activity == nil })
	im := p.images[0]
	total := im.total()
	begun, at := im.grid.Index(0.02), im.grid.Index(p.life.start)
	early := float64(total[at].AllocBytes-total[begun].AllocBytes) / float64(at-begun)
	late := float64(total[len(total)-1].AllocBytes-total[at].AllocBytes) / float64(len(total)-1-at)
	require.Greater(t, early, late)
}

// TestLoad: the functions of a process allocate by its load.
func TestLoad(t *testing.T) {
	for kind, wants := range map[string]func(early, late, uneven float64) bool{
		"load-rising":  func(early, late, _ float64) bool { return late > 1.5*early },
		"load-falling": func(early, late, _ float64) bool { return early > 1.5*late },
		"load-bursts":  func(_, _, uneven float64) bool { return uneven > 0.3 },
	} {
		strong := func(l life) bool { return l.kind == kind && slices.Max(l.activity) > 2*slices.Min(l.activity) }
		p := eventful(t, "timer", strong)
		require.InDelta(t, 1, mean(p.life.activity), 1e-9, kind)
		im := p.images[0]
		var rate []float64
		for i, total := im.grid.Index(0), im.total(); i+20 < len(total); i += 20 {
			rate = append(rate, float64(total[i+20].AllocBytes-total[i].AllocBytes))
		}
		third := len(rate) / 3
		require.True(t, wants(mean(rate[1:third]), mean(rate[2*third:]), spread(rate)), "%s: %v", kind, rate)
	}
}

func mean(v []float64) (sum float64) {
	for _, x := range v {
		sum += x / float64(len(v))
	}
	return sum
}

// TestFirstSnapshot: in a recording that begins with its process, the first snapshot shows next to nothing, and the
// second one all that is allocated at the start.
func TestFirstSnapshot(t *testing.T) {
	for _, mode := range []Mode{modeNamed(t, "timer"), modeNamed(t, "builtin"), tracedModes()[0], tracedModes()[1]} {
		for seed := range uint64(20) {
			p := &Process{seed: seed, snapshots: 12, Mode: mode, pick: always(behaviourNamed(t, "constant")), Population: Traced}
			p.simulate(40, 60)
			im, shots := p.images[0], p.shots()
			require.True(t, p.life.begins)
			require.LessOrEqual(t, len(shots), 12)
			total := im.total()
			require.Less(t, allocated(p, shots[0].step), len(im.sites)/3)
			if mode.trigger == byTime {
				require.Equal(t, len(im.sites), allocated(p, shots[1].step))
			}
			require.Positive(t, total[shots[1].step].Bytes)
		}
	}
}

// allocated counts the functions that have allocated at a step.
func allocated(p *Process, step int) (n int) {
	im := p.images[0]
	for i := range im.sites {
		if im.siteAt(&im.sites[i], step).Allocs > 0 {
			n++
		}
	}
	return n
}

// TestUnevenlyIsPositive: work never stops completely, so that the wall clock is finite.
func TestUnevenlyIsPositive(t *testing.T) {
	for seed := range uint64(40) {
		pace := unevenly(random.New(seed, 1))
		for x := -0.5; x < 2; x += 0.01 {
			require.Positive(t, pace(x))
		}
	}
}
