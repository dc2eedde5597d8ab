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
	s   *Session
}

func (k *known) next(t *testing.T, want string) {
	t.Helper()
	_, err := k.in.Write([]byte{'\n'})
	require.NoError(t, err)
	line, err := k.out.ReadString('\n')
	require.NoError(t, err, readFile(t, k.stderr))
	require.Equal(t, want+"\n", line)
}

// inuse takes a snapshot, and returns the bytes and objects in use.
func (k *known) inuse(t *testing.T) (bytes, objects int64) {
	t.Helper()
	require.NoError(t, k.s.Snapshot())
	names := snapshots(t, k.dir)
	slices.Sort(names)
	f, err := os.Open(names[len(names)-1])
	require.NoError(t, err)
	defer f.Close()
	snapshot, err := heapfile.Read(f, filepath.Base(f.Name()))
	require.NoError(t, err)
	return snapshot.Total.InuseBytes, snapshot.Total.InuseObjects
}

// TestKnownAllocations records every allocation of a program that does known things. What it
// allocated before is not seen, when it is freed either; of a large block from before that grows, only
// what is added is seen.
func TestKnownAllocations(t *testing.T) {
	program := compile(t, "known.c", "-fno-builtin")
	for _, again := range []string{"the engine is loaded", "the engine is there already"} {
		t.Run(again, func(t *testing.T) {
			k := &known{dir: t.TempDir()}
			k.process = runWith(t, program, func(p *process) {
				in, err := p.StdinPipe()
				require.NoError(t, err)
				k.in = in
			})
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

// TestNothingIsLeft looks for addresses of the engine in all memory of files that the process has
// mapped, which has the tables of imports. It also attaches often: nothing must accumulate.
func TestNothingIsLeft(t *testing.T) {
	p := run(t, compile(t, "churn.c"), compile(t, "plugin.c", "-shared", "-fPIC"))
	pid := p.Process.Pid
	_, err := attachTo(t, pid, settings(t.TempDir(), 4096, 0)).Stop()
	require.NoError(t, err)
	before := leftovers(t, pid)
	for range cycles() / 4 {
		s := attachTo(t, pid, settings(t.TempDir(), 4096, 0))
		assert.NotEmpty(t, s.Functions)
		_, err := s.Stop()
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return leftovers(t, pid) == before }, 30*time.Second, 10*time.Millisecond)
	assert.Contains(t, p.end(t), "done\n")
}

// leftover is what attaching might leave in a process.
type leftover struct {
	addresses       int // of the engine, in the memory of other files
	scratch, helper int // mappings and threads
}

func leftovers(t *testing.T, pid int) (n leftover) {
	t.Helper()
	p, err := target.Open(pid)
	require.NoError(t, err)
	require.NotNil(t, p.Engine)
	for i, m := range p.Mappings {
		isEngine := strings.Contains(m.Path, "memfd:"+fileName)
		if m.Path == "" && m.Permissions[2] == 'x' {
			n.scratch++
		}
		// The tables are in the mappings of a file, and in the memory behind them (.bss).
		behind := m.Path == "" && i > 0 && p.Mappings[i-1].End == m.Start && strings.HasPrefix(p.Mappings[i-1].Path, "/")
		if isEngine || m.Permissions[0] != 'r' || !strings.HasPrefix(m.Path, "/") && !behind {
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
