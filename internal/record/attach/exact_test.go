//go:build linux && amd64

package attach

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// known is a program that does known things, one for each call of next.
type known struct {
	*process
	in  io.Writer
	dir string
	s   *attached
}

func (k *known) next(t *testing.T, want string) {
	t.Helper()
	_, err := k.in.Write([]byte{'\n'})
	require.NoError(t, err)
	line, err := k.out.ReadString('\n')
	require.NoError(t, err, readFile(t, k.stderr))
	require.Equal(t, want+"\n", line)
}

// startKnown starts a program and waits until it is ready.
func startKnown(t *testing.T, program string) *known {
	t.Helper()
	k := &known{dir: t.TempDir()}
	k.process = runWith(t, program, func(p *process) {
		in, err := p.StdinPipe()
		require.NoError(t, err)
		k.in = in
	})
	return k
}

// inuse takes a snapshot, and returns the bytes and objects in use.
func (k *known) inuse(t *testing.T) (bytes, objects int64) {
	t.Helper()
	total := k.snapshot(t).Total
	return total.InuseBytes, total.InuseObjects
}

func (k *known) snapshot(t *testing.T) *heapfile.Snapshot {
	t.Helper()
	require.NoError(t, k.s.Snapshot())
	names := k.s.snapshots(t)
	slices.Sort(names)
	f, err := os.Open(names[len(names)-1])
	require.NoError(t, err)
	defer f.Close()
	snapshot, err := heapfile.Read(f, filepath.Base(f.Name()))
	require.NoError(t, err)
	return snapshot
}

// TestKnownAllocations records every allocation of a program that does known things. What it
// allocated before is not seen, when it is freed either; of a large block from before that grows, only
// what is added is seen.
func TestKnownAllocations(t *testing.T) {
	program := compile(t, "known.c", "-fno-builtin")
	for _, again := range []string{"the engine is loaded", "the engine is there already"} {
		t.Run(again, func(t *testing.T) {
			k := startKnown(t, program)
			if again != "the engine is loaded" {
				_, err := attachTo(t, k.Process.Pid, settings(t.TempDir(), 1, 0)).Stop()
				require.NoError(t, err)
			}
			k.s = attachTo(t, k.Process.Pid, settings(k.dir, 1, 0))
			k.next(t, "freed")
			bytes, objects := k.inuse(t)
			assert.Zero(t, bytes)
			assert.Zero(t, objects)
			k.next(t, "grown")
			bytes, objects = k.inuse(t)
			assert.InEpsilon(t, 4<<20, bytes, 0.01)
			assert.EqualValues(t, 1, objects)
			k.next(t, "kept")
			after, objects := k.inuse(t)
			assert.EqualValues(t, 5000*1000, after-bytes)
			assert.EqualValues(t, 5001, objects)
			k.next(t, "dropped")
			after, _ = k.inuse(t)
			assert.Equal(t, bytes, after)
			_, err := k.s.Stop()
			require.NoError(t, err)
		})
	}
}

// TestFreesThatAreNotSeen: a block that is allocated again was freed, also if the program has kept the address of free.
func TestFreesThatAreNotSeen(t *testing.T) {
	k := startKnown(t, compile(t, "release.c", "-fno-builtin"))
	k.s = attachTo(t, k.Process.Pid, settings(k.dir, 4096, 0))
	const functions, kept = 6, 100
	for range 3 {
		k.next(t, "replaced")
		_, objects := k.inuse(t)
		assert.Greater(t, objects, int64(functions*kept/2), "an estimate of 150 samples")
		assert.Less(t, objects, int64(2*functions*kept), "there is free memory that was not used again")
	}
	_, err := k.s.Stop()
	require.NoError(t, err)
}

// TestMeanOf30Runs compares the mean of the estimates of 30 recordings with the truth: of blocks of
// four sizes, and of a block from before that grows. The standard deviation of the means is 0.4 %.
func TestMeanOf30Runs(t *testing.T) {
	if !full() {
		t.Skip("long: set HEAPLAPSE_FULL=1")
	}
	const period, processes, runs = 16384, 3, 10
	const kept, growth = 32 << 20, 4 << 20
	program := compile(t, "amounts.c", "-fno-builtin")
	sums := map[int64]int64{}
	for range processes {
		k := startKnown(t, program)
		for range runs {
			k.s = attachTo(t, k.Process.Pid, settings(k.dir, period, 0))
			k.next(t, "allocated")
			for size, bytes := range bytesBySize(k.snapshot(t), 16, 400, 4096, 60000, growth) {
				sums[size] += bytes
			}
			_, err := k.s.Stop()
			require.NoError(t, err)
			for _, name := range k.s.snapshots(t) {
				require.NoError(t, os.Remove(name))
			}
			k.next(t, "dropped")
		}
	}
	for _, size := range []int64{16, 400, 4096, 60000} {
		ratio := float64(sums[size]) / (processes * runs * kept)
		t.Logf("blocks of %d bytes: mean/truth %.4f", size, ratio)
		assert.InDelta(t, 1, ratio, 0.03)
	}
	ratio := float64(sums[growth]) / (processes * runs * growth)
	t.Logf("a block from before that grows by %d bytes: mean/truth %.4f", growth, ratio)
	assert.InDelta(t, 1, ratio, 0.1)
}

// bytesBySize returns the bytes in use of the stacks that allocate blocks of about the given sizes.
func bytesBySize(s *heapfile.Snapshot, sizes ...int64) map[int64]int64 {
	sums := map[int64]int64{}
	for _, sample := range s.Samples {
		for _, size := range sizes {
			if n := sample.InuseObjects; n > 0 && sample.InuseBytes/n > size*8/10 && sample.InuseBytes/n < size*12/10 {
				sums[size] += sample.InuseBytes
			}
		}
	}
	return sums
}

// TestNothingIsLeft looks for addresses of the engine in all memory of files that the process has
// mapped, which has the tables of imports. It also attaches often: nothing must accumulate.
func TestNothingIsLeft(t *testing.T) {
	p := run(t, compile(t, "churn.c"), compile(t, "plugin.c", "-shared", "-fPIC"))
	pid := p.Process.Pid
	_, err := attachTo(t, pid, settings(t.TempDir(), 4096, 0)).Stop()
	require.NoError(t, err)
	before := settled(t, pid)
	const forkHandlers = 3 // the functions of pthread_atfork, which cannot be taken back
	assert.Equal(t, forkHandlers, before.addresses)
	for range cycles() / 4 {
		s := attachTo(t, pid, settings(t.TempDir(), 4096, 0))
		assert.NotEmpty(t, s.Functions)
		_, err := s.Stop()
		require.NoError(t, err)
	}
	assert.Equal(t, before, settled(t, pid))
	assert.Contains(t, p.end(t), "done\n")
}

// leftover is what attaching might leave in a process.
type leftover struct {
	addresses       int // of the engine, in the memory of other files
	scratch, helper int // mappings and threads
}

// settled returns what is left when the engine's thread has ended, which it does some time after Stop.
func settled(t *testing.T, pid int) (n leftover) {
	t.Helper()
	require.Eventually(t, func() bool {
		n = leftovers(t, pid)
		return n.helper == 0
	}, 30*time.Second, 10*time.Millisecond)
	return n
}

func leftovers(t *testing.T, pid int) (n leftover) {
	t.Helper()
	p, err := target.Open(pid)
	require.NoError(t, err)
	require.NotNil(t, p.Engine)
	for i, m := range p.Mappings {
		if m.Path == "" && m.Permissions[2] == 'x' {
			n.scratch++
		}
		// The tables are in the mappings of a file, and in the memory behind them (.bss).
		file := m.Path
		if file == "" && i > 0 && p.Mappings[i-1].End == m.Start {
			file = p.Mappings[i-1].Path
		}
		if m.Permissions[0] != 'r' || !strings.HasPrefix(file, "/") || strings.Contains(file, "memfd:"+fileName) {
			continue
		}
		b := make([]byte, m.End-m.Start)
		if p.Memory.Read(m.Start, b) != nil {
			continue // unmapped meanwhile
		}
		for ; len(b) >= 8; b = b[8:] {
			if p.Engine.HasCode(binary.LittleEndian.Uint64(b)) {
				n.addresses++
			}
		}
	}
	for _, th := range target.Threads(pid) {
		if th.Name == fileName {
			n.helper++
		}
	}
	return n
}
