package leaksim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// programs returns what the hosts of a fleet have in common: the name, the behaviour and the call paths of
// each function.
func programs(f Fleet, hosts int) (out [][]string, all []*Process) {
	for h := range hosts {
		p := f.Host(h)
		var names []string
		for i := range p.images[0].sites {
			s := &p.images[0].sites[i]
			names = append(names, s.name+" "+s.behaviour.Name+" "+stackText(s.stacks[0], 0))
		}
		out, all = append(out, names), append(all, p)
	}
	return out, all
}

// TestHostsRunOneProgram: the functions of all hosts are the same; what happens is not.
func TestHostsRunOneProgram(t *testing.T) {
	for seed := range uint64(4) { // with and without a start-up phase
		list, all := programs(Fleet{Seed: seed, Snapshots: 8, Recording: "jemalloc"}, 3)
		require.Equal(t, list[0], list[1])
		require.Equal(t, list[0], list[2])
		require.NotEqual(t, all[0].images[0].history[0], all[1].images[0].history[0])
		require.NotEqual(t, all[0].from, all[1].from)
		require.Equal(t, all[0].seconds, all[1].seconds)
		require.Equal(t, all[0].life.manifest, all[1].life.manifest)
		for _, p := range all {
			shots := p.shots()
			require.Len(t, shots, 8)
			require.Greater(t, p.life.wallAt(shots[0].step), p.life.wallAt(0)+0.9*p.from)
		}
	}
}

// TestHostIsReproducible: a host does not depend on how many hosts were simulated before it.
func TestHostIsReproducible(t *testing.T) {
	f := Fleet{Seed: 3, Snapshots: 8, Recording: "jemalloc-accum"}
	_ = f.Host(0)
	require.Equal(t, f.Host(2).Functions(), f.Host(2).Functions())
}

// TestRestartedTogether: all hosts have run as long as the program of the seed.
func TestRestartedTogether(t *testing.T) {
	_, all := programs(Fleet{Seed: 1, Snapshots: 8, Recording: "timer", Together: true}, 2)
	require.Zero(t, all[0].from)
	require.Equal(t, all[0].images[0].grid, all[1].images[0].grid)
	require.NotEqual(t, all[0].images[0].history[0], all[1].images[0].history[0])
}

// TestLabel: some leaks occur only on the hosts with the label, others on all hosts, and a harmless
// function is one everywhere.
func TestLabel(t *testing.T) {
	f := Fleet{Snapshots: 8, Recording: "timer", Labelled: 2}
	only, everywhere := 0, 0
	for f.Seed = range 3 {
		hosts := [][]Function{}
		for h := range 4 {
			hosts = append(hosts, f.Host(h).Functions())
		}
		for i := range hosts[0] {
			leaks := func(h int) bool { return hosts[h][i].Verdict != IsHarmless }
			require.Equal(t, hosts[0][i].Name, hosts[3][i].Name)
			require.Equal(t, leaks(0), leaks(1))
			require.Equal(t, leaks(2), leaks(3))
			require.False(t, leaks(2) && !leaks(0))
			switch {
			case leaks(0) && leaks(2):
				everywhere++
			case leaks(0):
				only++
			}
			require.Equal(t, hosts[2][i].Behaviour, hosts[3][i].Behaviour)
		}
	}
	require.Positive(t, only)
	require.Positive(t, everywhere)
}
