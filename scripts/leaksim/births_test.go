package leaksim

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
)

// TestBirths reads the snapshots of a process in each mode: each row that has memory in use tells when it was
// allocated, at moments that are those of snapshots, up to the snapshot itself.
func TestBirths(t *testing.T) {
	for i, m := range bornModes() {
		t.Run(m.name, func(t *testing.T) {
			p := smallIn(m, uint64(i), 12)
			dir, shots := written(t, p)
			for _, s := range shots {
				snap := readBirths(t, filepath.Join(dir, p.fileName(s)))
				for row, sample := range snap.Samples {
					require.Equal(t, sample.Counts.InuseBytes > 0 && !s.exit, len(snap.Births[row]) > 0)
					for _, b := range snap.Births[row] {
						require.True(t, slices.ContainsFunc(s.moments, func(m time.Time) bool {
							return m.Truncate(time.Millisecond).Equal(b.Before)
						}), "%v", b)
					}
				}
			}
		})
	}
}

func readBirths(t *testing.T, path string) *heapfile.Snapshot {
	t.Helper()
	d := heapfile.Decoder{Births: true}
	snap, err := d.ReadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), path)
	require.NoError(t, err)
	require.Empty(t, snap.Warnings)
	return snap
}

func named(t *testing.T, name string) behaviour.Behaviour {
	t.Helper()
	all := slices.Concat(behaviour.Behaviours(), behaviour.Varied())
	i := slices.IndexFunc(all, func(b behaviour.Behaviour) bool { return b.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}

// oldShare is the share of what a unit has in use at the end that was allocated before some snapshot.
func oldShare(im *image, unit, before int) float64 {
	births, classes := im.births[unit][len(im.births[unit])-1], im.classes[unit][len(im.classes[unit])-1]
	var old, all float64
	for interval, counts := range births {
		for class, n := range counts {
			bytes := float64(n * classes[class].Size)
			all += bytes
			if interval <= before {
				old += bytes
			}
		}
	}
	return old / max(1, all)
}

// TestBirthsOfBehaviours checks which memory dies first: that of a leak that is constant was allocated evenly, and of
// sessions that live for a short time nothing is old, however the load rises.
func TestBirthsOfBehaviours(t *testing.T) {
	for name, want := range map[string][2]float64{
		"leak-arena": {0.25, 0.75}, "load-ramp": {0, 0.02}, "noisy-constant": {0, 0.02},
	} {
		for seed := range uint64(6) {
			p := &Process{seed: seed, snapshots: 12, Mode: bornModes()[0], pick: always(named(t, name))}
			p.simulate(4, 6)
			im := p.images[0]
			if im.grid.Burn > 0 || im.exits {
				continue // an older part, or no births of the last step
			}
			for s := range im.sites {
				for k := range im.sites[s].stacks {
					unit := im.sites[s].first + k
					if end := im.history[unit][im.grid.Steps()-1]; end.Bytes > 1<<20 && end.Live > 40 {
						old := oldShare(im, unit, 5)
						require.GreaterOrEqual(t, old, want[0], "%s, seed %d", name, seed)
						require.LessOrEqual(t, old, want[1], "%s, seed %d", name, seed)
					}
				}
			}
		}
	}
}
