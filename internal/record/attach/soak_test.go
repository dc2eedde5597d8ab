//go:build linux && amd64

package attach

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
)

// soak is how long TestSoak attaches and detaches, from HEAPLAPSE_SOAK ("2h").
func soak(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HEAPLAPSE_SOAK")
	if text == "" {
		return 6 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// Numbers that soak.c shares, by their index.
const (
	soakBegun = iota
	soakAllocated
	soakLongest
	soakDrop
)

// soakNumbers is the file of these numbers.
type soakNumbers struct{ *os.File }

func newSoakNumbers(t *testing.T) soakNumbers {
	t.Helper()
	name := filepath.Join(t.TempDir(), "shared")
	require.NoError(t, os.WriteFile(name, make([]byte, 4096), 0o600))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return soakNumbers{f}
}

func (n soakNumbers) get(t *testing.T, i int64) int64 {
	t.Helper()
	var b [8]byte
	_, err := n.ReadAt(b[:], i*8)
	require.NoError(t, err)
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func (n soakNumbers) set(t *testing.T, i int64, v uint64) {
	t.Helper()
	_, err := n.WriteAt(binary.LittleEndian.AppendUint64(nil, v), i*8)
	require.NoError(t, err)
}

// keptObjects returns the number of objects of the size that soak.c keeps in the last snapshot.
func (a *attached) keptObjects(t *testing.T) (n int64) {
	t.Helper()
	const size = 7777
	names := a.snapshots(t)
	require.NotEmpty(t, names)
	f, err := os.Open(names[len(names)-1])
	require.NoError(t, err)
	defer f.Close()
	s, err := heapfile.Read(f, filepath.Base(f.Name()))
	require.NoError(t, err)
	for _, row := range s.Samples {
		if row.InuseObjects > 0 && row.InuseBytes == row.InuseObjects*size {
			n += row.InuseObjects
		}
	}
	return n
}

// events returns the events of the recording.
func (a *attached) events(t *testing.T) (text string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(a.dir, "*.events.jsonl"))
	require.NoError(t, err)
	for _, name := range names {
		text += readFile(t, name)
	}
	return text
}

// TestSoak attaches to a server that never rests, and detaches, for as long as HEAPLAPSE_SOAK says. Each
// recording has exactly the blocks that were allocated meanwhile, and the process does not need more and
// more. Stalls are logged: how long a thread is not run also depends on the machine, so the same server runs
// beside it, not attached to.
func TestSoak(t *testing.T) {
	const first = 3 // cycles, after which nothing grows
	duration := soak(t)
	every := min(duration/6, 20*time.Second)
	program, plugin := compile(t, "soak.c", "-fno-builtin"), compile(t, "plugin.c", "-shared", "-fPIC")
	numbers, beside := newSoakNumbers(t), newSoakNumbers(t)
	p, other := run(t, program, plugin, numbers.Name()), run(t, program, plugin, beside.Name())
	var before, after usage
	cycle := 0
	for end := time.Now().Add(duration); time.Now().Before(end) || cycle <= first; cycle++ {
		dir := t.TempDir()
		least := numbers.get(t, soakBegun)
		s := attachTo(t, p.Process.Pid, settings(dir, 1, 500))
		from := numbers.get(t, soakAllocated)
		time.Sleep(every / 2)
		to := numbers.get(t, soakAllocated)
		sum, err := s.Stop()
		require.NoError(t, err)
		most := numbers.get(t, soakBegun)
		assert.Zero(t, sum.Left)
		got := s.keptObjects(t)
		if got < to-from-1 || got > most-least+1 { // one was begun before
			t.Errorf("cycle %d: %d blocks are recorded, %d to %d were allocated\n%s", cycle, got, to-from, most-least, s.events(t))
		}
		require.NoError(t, os.RemoveAll(dir))
		numbers.set(t, soakDrop, 1)
		beside.set(t, soakDrop, 1)
		require.Eventually(t, func() bool { return numbers.get(t, soakDrop) == 0 }, time.Minute, time.Millisecond)
		time.Sleep(every / 2)
		after = usageOf(t, p.Process.Pid)
		if cycle == first-1 {
			before = after
		}
	}
	t.Logf("%d cycles in %s; after %d %+v, in the end %+v; the longest round of a thread took %s, beside it %s",
		cycle, duration, first, before, after,
		time.Duration(numbers.get(t, soakLongest)), time.Duration(beside.get(t, soakLongest)))
	const tolerance = 16 << 10 // KiB: what the allocator keeps differs
	assert.LessOrEqual(t, after.Resident, before.Resident+tolerance)
	assert.LessOrEqual(t, after.Threads, before.Threads+1) // one that has just begun
	assert.LessOrEqual(t, after.OpenFiles, before.OpenFiles+1)
	assert.LessOrEqual(t, after.Mappings, before.Mappings+50) // threads, and libraries
	assert.Contains(t, p.end(t), "done\n")
	assert.Contains(t, other.end(t), "done\n")
}

// TestForkHandlers attaches to a server that forks, and that has a library whose handlers of fork allocate,
// unmap, or wait for another thread that does. The engine registers its own last, so that they run inside.
func TestForkHandlers(t *testing.T) {
	library := compile(t, "../../../../engine/testdata/handlers.c", "-shared", "-fPIC")
	plugin, program := compile(t, "plugin.c", "-shared", "-fPIC"), compile(t, "soak.c", "-fno-builtin")
	for _, handler := range []string{"prepare", "parent", "child"} {
		for _, work := range []string{"malloc", "unmap", "wait"} {
			t.Run(handler+" "+work, func(t *testing.T) {
				t.Parallel()
				shared := filepath.Join(t.TempDir(), "shared")
				require.NoError(t, os.WriteFile(shared, make([]byte, 4096), 0o600))
				p := runWith(t, program, func(p *process) {
					p.Cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "HANDLER="+handler, "WORK="+work)
				}, plugin, shared)
				for range 3 {
					s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 512, 50))
					time.Sleep(300 * time.Millisecond) // six forks
					sum, err := s.Stop()
					require.NoError(t, err)
					assert.Zero(t, sum.Left)
				}
				assert.Contains(t, p.end(t), "done\n")
			})
		}
	}
}
