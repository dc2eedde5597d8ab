//go:build linux && amd64

package roots

import (
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/blocktest"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// look runs testdata/held.c until it is ready and takes a snapshot of it.
func look(t *testing.T, flags ...string) *snapshot.Snapshot {
	t.Helper()
	program := filepath.Join(t.TempDir(), "held")
	args := append([]string{"-g", "-Wall", "-pthread", "-rdynamic", "-o", program, "testdata/held.c"}, flags...)
	out, err := exec.Command(testutil.Need(t, "gcc"), args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program)
	require.Empty(t, testutil.Ready(t, cmd))
	return blocktest.Snapshot(t, cmd)
}

// marked is a graph with its roots.
type marked struct {
	*graph.Graph
	roots   []Root
	heap    *glibc.Heap
	process *target.Process
}

// mark finds the blocks, and what holds them.
func mark(t *testing.T, s *snapshot.Snapshot) marked {
	t.Helper()
	process, err := target.Open(s.PID)
	require.NoError(t, err)
	g := glibc.ProcessOf(s.Memory, s.Mappings, process.Libc.Path)
	g.Resident = s.Resident
	heap, err := glibc.Walk(g)
	require.NoError(t, err)
	require.Empty(t, heap.Problems)
	p := Process{
		Memory: s.Memory, Mappings: s.Mappings, Threads: s.Threads, Own: heap.Own, Kernel: KernelWords(s.PID),
		Libc: process.Libc.Path,
	}
	list := Of(p, &heap.Blocks)
	memory := graph.Memory{Memory: s.Memory, Resident: s.Resident}
	streams := process.Libc.Symbol("_IO_list_all").Start
	require.NotZero(t, streams)
	m, err := graph.Build(memory, &heap.Blocks, graph.Options{Doubtful: StreamBuffers(s.Memory, streams)})
	require.NoError(t, err)
	m.Mark(Graph(list))
	assert.Zero(t, m.Unreadable())
	return marked{m, list, heap, process}
}

// TestTruth compares what holds blocks with what the program says.
func TestTruth(t *testing.T) {
	kinds := map[uint64]Kind{
		0: Global, 1: Kernel, 2: TLS, 3: Stack, 4: Unknown, 5: Shared, // as in the program
		20: graph.Lost, 21: graph.UnderLost, 22: graph.Cycle, 23: graph.None,
	}
	for _, flag := range []string{"-O0", "-O2"} {
		t.Run(flag, func(t *testing.T) {
			s := look(t, flag)
			m := mark(t, s)
			program := m.process.Program()
			count, err := s.Memory.Uint64(program.Symbol("truths").Start)
			require.NoError(t, err)
			truth := make([]byte, 16*count)
			require.NoError(t, s.Memory.Read(program.Symbol("truth").Start, truth))
			wanted := map[uint64]Kind{}
			for ; len(truth) > 0; truth = truth[16:] {
				// The address of a block that was freed may be that of a new one.
				address, kind := ^binary.LittleEndian.Uint64(truth), kinds[binary.LittleEndian.Uint64(truth[8:])]
				wanted[address] = max(wanted[address], kind)
			}
			right, wrong := map[Kind]int{}, map[[2]Kind]int{}
			for address, want := range wanted {
				got := graph.None
				if p, ok := m.Path(address, 1); ok {
					if got = p.Phase; want == graph.None && wanted[p.Blocks[0].Start] != graph.None {
						continue // a larger block is there now
					}
				}
				if got == want {
					right[want]++
				} else {
					wrong[[2]Kind{want, got}]++
				}
			}
			t.Logf("right %v, wrong %v, totals %v", right, wrong, m.Totals())
			for _, want := range kinds {
				assert.Positive(t, right[want], "%d", want)
			}
			for k, n := range wrong {
				// A register or a stack may still have the address of a block that is lost.
				assert.True(t, k[0] >= graph.Lost && n <= right[k[0]]/100+1, "%d of kind %d are taken for kind %d", n, k[0], k[1])
			}
		})
	}
}

// TestLibraryLast: what the program holds counts more than what the C library has, even in fewer steps.
func TestLibraryLast(t *testing.T) {
	s := look(t, "-O1")
	m := mark(t, s)
	program := m.process.Program()
	text, err := s.Memory.Uint64(program.Symbol("environment_text").Start)
	require.NoError(t, err)
	p, ok := m.Path(^text, 10)
	require.True(t, ok)
	require.Equal(t, Global, p.Phase)
	assert.Equal(t, program.Path, m.roots[p.Root].Module)
	assert.Len(t, p.Blocks, 6)
}

// TestEveryWordOnce: blocks, roots and the allocator's memory do not overlap, and are all of the writable memory.
func TestEveryWordOnce(t *testing.T) {
	s := look(t, "-O1")
	m := mark(t, s)
	var all []blocks.Range
	for _, r := range m.roots {
		if r.Range.Size() > 0 {
			all = append(all, r.Range)
		}
	}
	for _, r := range m.heap.Blocks.Regions() {
		all = append(all, r.Range)
	}
	all = append(all, m.heap.Own...)
	for i, a := range all {
		for _, b := range all[i+1:] {
			require.False(t, a.Start < b.End && b.Start < a.End, "%#x and %#x overlap", a, b)
		}
	}
	for _, mapping := range s.Mappings {
		if mapping.Permissions[:2] == "rw" {
			left := subtract([]blocks.Range{{Start: mapping.Start, End: mapping.End}}, all)
			require.Empty(t, left, "%+v", mapping)
		}
	}
}
