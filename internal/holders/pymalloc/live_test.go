//go:build linux && amd64

package pymalloc

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/blocktest"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// interpreters returns the interpreter of the distribution, and those of pyenv.
func interpreters(t *testing.T) []string {
	t.Helper()
	list := []string{testutil.NeedFile(t, "/usr/bin/python3")}
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	require.NoError(t, err)
	for _, path := range more {
		out, err := exec.Command(path, "-c", "import sys; print(sys.version_info >= (3, 8))").Output()
		if err == nil && string(out) == "True\n" {
			list = append(list, path)
		}
	}
	return list
}

// object is an object of the program.
type object struct{ Address, Size uint64 }

// look runs testdata/objects.py and takes a snapshot of it.
func look(t *testing.T, interpreter string) (s *snapshot.Snapshot, live []object, freed []uint64) {
	t.Helper()
	cmd := exec.Command(interpreter, "-S", "testdata/objects.py")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var words [2]uint64
	require.NoError(t, binary.Read(stdout, binary.LittleEndian, &words))
	live, freed = make([]object, words[0]/2), make([]uint64, words[1])
	require.NoError(t, binary.Read(stdout, binary.LittleEndian, live))
	require.NoError(t, binary.Read(stdout, binary.LittleEndian, freed))
	return blocktest.Snapshot(t, cmd), live, freed
}

// TestWalkLive finds the objects of a program. What is large is in a block of malloc.
func TestWalkLive(t *testing.T) {
	const garbageHead, largestObject = 32, 512
	// The interpreter keeps 2,000 tuples of the same length, and some floats, lists and dicts, for later.
	const keptByInterpreter = 2600
	for _, interpreter := range interpreters(t) {
		t.Run(strings.ReplaceAll(interpreter, "/", " "), func(t *testing.T) {
			s, live, freed := look(t, interpreter)
			process, err := target.Open(s.PID)
			require.NoError(t, err)
			g := glibc.ProcessOf(s.Memory, s.Mappings, process.Libc.Path)
			g.Resident = s.Resident
			heap, err := glibc.Walk(g)
			require.NoError(t, err)
			assert.Empty(t, heap.Problems)
			small := blocks.Set{}
			r, err := Walk(Process{Memory: s.Memory, Anonymous: g.Anonymous, Resident: s.Resident}, &small)
			require.NoError(t, err)
			found := 0
			for _, o := range live {
				b, ok := small.Find(o.Address)
				if ok {
					found++
				} else if b, ok = heap.Blocks.Find(o.Address); ok {
					assert.Greater(t, o.Size+garbageHead, uint64(largestObject), "%+v", o)
				}
				require.True(t, ok && !b.Free && o.Address-b.Start <= garbageHead && o.Address+o.Size <= b.End, "%+v: %+v", o, b)
			}
			stillFree := 0
			for _, address := range freed {
				if b, ok := small.Find(address); !ok || b.Free {
					stillFree++
				}
			}
			assert.Greater(t, found, len(live)*9/10)
			assert.Greater(t, stillFree, len(freed)-keptByInterpreter)
			t.Logf("%d pools, %d changing; %d of %d objects are small; %d of %d are free", r.Pools, r.Changing, found, len(live),
				stillFree, len(freed))
			for _, region := range small.Regions() {
				require.NoError(t, heap.Blocks.Add(region), "pools and blocks of malloc do not overlap")
			}
		})
	}
}
