//go:build linux && amd64

package holders

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// truth is what the program says of a block.
type truth struct {
	kind    answer.Kind
	name    string
	address uint64
}

// programs is the directory of the programs, which are built once. TestMain sets it.
var programs string

var (
	debug     = sync.OnceValues(func() (string, error) { return build("debug", "-O0", "-g") })
	optimized = sync.OnceValues(func() (string, error) { return build("optimized", "-O2") })
)

// build builds testdata/shop.cc.
func build(name string, flags ...string) (program string, err error) {
	program = filepath.Join(programs, name)
	args := append([]string{"-Wall", "-pthread", "-o", program, "testdata/shop.cc"}, flags...)
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
}

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "holders"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(status)
}

// start runs testdata/shop.cc until it is ready, and returns what it wrote.
func start(t *testing.T, build func() (program string, err error)) (pid int, list []truth) {
	t.Helper()
	testutil.Need(t, "g++")
	program, err := build()
	require.NoError(t, err)
	return startTruthful(t, program)
}

// startTruthful runs a program that writes what it knows of its blocks, until it is ready.
func startTruthful(t *testing.T, command ...string) (pid int, list []truth) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	for _, line := range testutil.Ready(t, cmd) {
		var h truth
		_, err := fmt.Sscanf(line, "%s %s %x", &h.kind, &h.name, &h.address)
		require.NoError(t, err, line)
		list = append(list, h)
	}
	require.NotEmpty(t, list)
	return cmd.Process.Pid, list
}

// types has the types of the variables, or of the member.
var types = map[string]string{
	"first_session": "Session *", "shop::cache.entries": "std::vector<Session*>", "g_sessions": "std::map<int, Session*>",
}

// take looks at a process.
func take(pid int, o Options) (*Look, error) {
	c, err := Begin(pid, nil)
	if err != nil {
		return nil, err
	}
	return c.Look(context.Background(), o)
}

func TestHolders(t *testing.T) {
	for name, build := range map[string]func() (string, error){"debug": debug, "optimized": optimized} {
		t.Run(name, func(t *testing.T) {
			pid, list := start(t, build)
			l, err := take(pid, Options{})
			require.NoError(t, err)
			assert.Empty(t, l.Doubts)
			assert.Less(t, l.Stopped(), time.Minute)
			var addresses []uint64
			for _, h := range list {
				addresses = append(addresses, h.address)
			}
			got, err := l.Holders(t.Context(), append(addresses, 1))
			require.NoError(t, err)
			assert.Equal(t, answer.NotFound, got[len(list)].Kind)
			right, all := map[answer.Kind]int{}, map[answer.Kind]int{}
			for i, want := range list {
				all[want.kind]++
				h := got[i]
				if h.Kind == want.kind {
					right[want.kind]++
				}
				if h.Kind != answer.NotFound {
					require.True(t, h.Blocks[len(h.Blocks)-1].Contains(want.address))
				}
				switch want.kind {
				case answer.Global:
					assert.Equal(t, answer.Global, h.Kind, want.name)
					assert.Equal(t, want.name, h.Variable.Name)
					assert.Equal(t, name, filepath.Base(h.Variable.Module))
					if name == "debug" {
						assert.Equal(t, "shop.cc", filepath.Base(h.Variable.File))
						assert.Equal(t, types[h.Name], h.Variable.Type)
					}
				case answer.Stack:
					assert.Equal(t, answer.Stack, h.Kind)
					assert.Equal(t, "worker", h.Name)
					assert.Contains(t, h.Function, want.name)
				}
			}
			assert.Equal(t, map[answer.Kind]int{
				answer.Global: 240, answer.Stack: 1, answer.Lost: 100, answer.Cycle: 100,
			}, all)
			// The last addresses that were written may still be in registers and on the stack.
			assert.GreaterOrEqual(t, right[answer.Lost], 97)
			assert.GreaterOrEqual(t, right[answer.Cycle], 97)
			t.Logf("right %v of %v, stopped for %v", right, all, l.Stopped())
			require.NoError(t, l.Close())
		})
	}
}

// TestDoubts says nothing to be lost if not all memory is understood.
func TestDoubts(t *testing.T) {
	pid, list := start(t, debug)
	l, err := take(pid, Options{})
	require.NoError(t, err)
	defer l.Close()
	l.Doubts = []string{"a heap is corrupt"}
	for _, want := range list {
		if want.kind == answer.Lost || want.kind == answer.Cycle {
			got, err := l.Holders(t.Context(), []uint64{want.address})
			require.NoError(t, err)
			assert.NotContains(t, []answer.Kind{answer.Lost, answer.Cycle}, got[0].Kind)
		}
	}
}

// TestOtherAllocator has blocks that are not known, and TestJemalloc those that are.
func TestOtherAllocator(t *testing.T) {
	l, err := lookAtPython(t, "/usr/lib/*/libtcmalloc_minimal.so.4")
	if err != nil {
		assert.ErrorContains(t, err, "has no memory of glibc's malloc")
		return
	}
	require.Len(t, l.Doubts, 1)
	assert.Regexp(t, "^libtcmalloc_minimal.so.* has an allocator whose blocks are not known$", l.Doubts[0])
}

func TestJemalloc(t *testing.T) {
	l, err := lookAtPython(t, "/usr/lib/*/libjemalloc.so.2")
	require.NoError(t, err)
	assert.Empty(t, l.Doubts)
	assert.Greater(t, l.answer().Blocks, int64(5000))
}

// TestJemallocOfOneSize: where nearly all slabs are full, many places in their descriptions could be the bits of what
// is free.
func TestJemallocOfOneSize(t *testing.T) {
	program := filepath.Join(t.TempDir(), "onesize")
	run(t, "gcc", "-O1", "-g", "-o", program, "testdata/onesize.c")
	t.Setenv("LD_PRELOAD", testutil.NeedFile(t, "/usr/lib/*/libjemalloc.so.2"))
	cmd := exec.Command(program)
	require.Empty(t, testutil.Ready(t, cmd))
	l, err := take(cmd.Process.Pid, Options{})
	require.NoError(t, err)
	defer l.Close()
	assert.Empty(t, l.Doubts)
	assert.Greater(t, l.answer().Blocks, int64(20000))
}

// lookAtPython looks at an interpreter with another allocator.
func lookAtPython(t *testing.T, library string) (*Look, error) {
	t.Helper()
	testutil.Need(t, "python3")
	t.Setenv("LD_PRELOAD", testutil.NeedFile(t, library))
	cmd := exec.Command("python3", "-S", "-c", "import time; print('ready', flush=True); time.sleep(600)")
	require.Empty(t, testutil.Ready(t, cmd))
	l, err := take(cmd.Process.Pid, Options{})
	if err == nil {
		t.Cleanup(func() { _ = l.Close() })
	}
	return l, err
}

func TestRefuses(t *testing.T) {
	_, err := take(os.Getpid(), Options{})
	var refusal *snapshot.Refusal
	require.ErrorAs(t, err, &refusal)
}

// TestLimit leaves nothing behind when the memory limit is too low.
func TestLimit(t *testing.T) {
	pid, _ := start(t, debug)
	_, err := take(pid, Options{MaxBytes: 100})
	require.ErrorIs(t, err, graph.ErrLimit)
	l, err := take(pid, Options{})
	require.NoError(t, err)
	require.NoError(t, l.Close())
}
