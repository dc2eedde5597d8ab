//go:build linux && amd64

package holders

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/internal/units"
)

const mib = 1 << 20

var memory = sync.OnceValues(func() (string, error) {
	program := filepath.Join(programs, "memory")
	args := []string{"-O1", "-Wall", "-pthread", "-o", program, "testdata/memory.c"}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// running is a program that waits.
type running struct {
	pid    int
	stdin  io.Writer
	stdout *bufio.Reader
}

// runMemory runs testdata/memory.c until it is ready. The environment has what is added to it.
func runMemory(t *testing.T, mode string, environment ...string) running {
	t.Helper()
	testutil.Need(t, "gcc")
	program, err := memory()
	require.NoError(t, err)
	environment = append([]string{"MALLOC_ARENA_MAX=32"}, environment...) // else that depends on the machine
	return runUntilReady(t, environment, program, mode, filepath.Join(t.TempDir(), "file"))
}

func runUntilReady(t *testing.T, environment []string, command ...string) running {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), environment...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p := running{cmd.Process.Pid, stdin, bufio.NewReader(stdout)}
	line, err := p.stdout.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return p
}

// trim lets the program call malloc_trim.
func (p running) trim(t *testing.T) {
	t.Helper()
	_, err := io.WriteString(p.stdin, "trim\n")
	require.NoError(t, err)
	line, err := p.stdout.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "done\n", line)
}

var rssLine = regexp.MustCompile(`(?m)^Rss: +(\d+) kB$`)

// resident returns the resident memory by the kernel.
func (p running) resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.pid))
	require.NoError(t, err)
	m := rssLine.FindSubmatch(b)
	require.NotNil(t, m)
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	require.NoError(t, err)
	return n << 10
}

// look returns where the resident memory is. The kernel may take pages of files back meanwhile.
func (p running) look(t *testing.T) *rss.Result {
	t.Helper()
	r, err := Resident(t.Context(), p.pid, Options{})
	require.NoError(t, err)
	sum := int64(0)
	for _, part := range r.Parts {
		sum += part.Bytes
	}
	assert.Equal(t, r.Bytes, sum)
	assert.InDelta(t, r.Kernel, r.Bytes, mib)
	return r
}

// TestResidentTruth has programs that use memory in a known way. What the C library itself needs is small.
func TestResidentTruth(t *testing.T) {
	const chunk = 1 << 10                                    // of a block of 1008 bytes
	for mode, want := range map[string]map[rss.Kind]float64{ // in MiB
		"none":      {},
		"second":    {rss.Blocks: 50, rss.FreeRest: 50},
		"gaps":      {rss.Blocks: 3.9, rss.FreePages: 54.7, rss.FreePinned: 0.9, rss.FreeRest: 3.1},
		"pinned":    {rss.Blocks: 1.5, rss.FreePages: 60.7, rss.FreePinned: 63.7, rss.FreeRest: 0.8},
		"arenas":    {rss.FreePages: 125.4},
		"ends":      {rss.FreeEnd: 125.4},
		"cached":    {rss.Cached: 7 * 64 * 536. / mib},
		"mapped":    {rss.Mapped: 10},
		"stacks":    {rss.Stacks: 16},
		"shared":    {rss.SharedMemory: 12},
		"file":      {rss.Data: 2, rss.Files: 4},
		"zero":      {},
		"variables": {rss.Data: 3},
		"unforked":  {rss.Anonymous: 8},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := runMemory(t, mode).look(t)
			assert.Equal(t, "memory", r.Program)
			if mode == "unforked" {
				assert.Equal(t, []string{"1 mapping cannot be copied (MADV_DONTFORK): what is in them is not known"}, r.Problems)
			} else {
				assert.Empty(t, r.Problems)
			}
			others := int64(0)
			for _, part := range r.Parts {
				t.Logf("%s %.2f MiB", part.Kind, float64(part.Bytes)/mib)
				switch slack := 0.5 * mib; {
				case part.Kind == rss.Code || part.Kind == rss.Files && want[rss.Files] == 0:
				case want[part.Kind] > 0:
					switch {
					case part.Kind == rss.Cached:
						slack = 0.05 * mib
					case mode == "arenas" || mode == "ends": // on a busy machine, threads share arenas
						slack = 100 * mib
					}
					assert.InDelta(t, want[part.Kind]*mib, part.Bytes, slack, part.Kind)
				case part.Kind == rss.Data && slices.Contains([]string{"second", "gaps", "pinned"}, mode): // pointers to blocks
				default:
					others += part.Bytes
				}
			}
			assert.Less(t, others, int64(mib))
			for kind := range want {
				assert.Positive(t, r.Part(kind), kind)
			}
			switch mode {
			case "second":
				assert.Equal(t, rss.Size{Size: chunk, Blocks: 51200, Bytes: 51200 * chunk}, r.Malloc.Sizes[0])
			case "pinned":
				assert.InDelta(t, 16<<10, r.Malloc.Pinned.Blocks, 10)
				assert.Equal(t, int64(96), r.Malloc.Pinned.Sizes[0].Size)
				require.NotNil(t, r.Malloc.Pinned.Held)
				require.Equal(t, 30, r.Malloc.Pinned.Held.Looked)
				by := r.Malloc.Pinned.Held.By[0]
				assert.Equal(t, "kept", by.Name)
				assert.Equal(t, answer.Global, by.Kind)
				assert.Equal(t, 30, by.Blocks)
			case "arenas":
				assert.GreaterOrEqual(t, len(r.Malloc.Arenas), 2)
				assert.Equal(t, 17, r.Stacks)
			case "mapped":
				assert.Equal(t, int64(20), r.Malloc.MappedBlocks)
			case "stacks":
				assert.Equal(t, 9, r.Stacks)
				assert.Positive(t, r.EndedStacks)
			case "shared":
				assert.Len(t, r.Shared, 2)
			}
		})
	}
}

// advised returns the bytes that a means is said to give back.
func advised(r *rss.Result, means rss.Means) int64 {
	for _, a := range r.Advice {
		if a.Means == means {
			return a.Bytes
		}
	}
	return 0
}

// measurements lists programs for which a means is advised. docs/rss.md has the results:
//
//	go test ./internal/holders -run TestAdviceHolds -v -count 1 | grep -o '| .*'
var measurements = []struct {
	program string
	means   rss.Means
	// least is the least that must be advised, in MiB, and none means that it gives nothing back.
	least int64
	none  bool
}{
	{"gaps", rss.Trim, 40, false},
	{"pinned", rss.Trim, 40, false},
	{"same", rss.Trim, 20, false},
	{"arenas", rss.Trim, 100, false},
	{"threads.py", rss.Trim, 150, false},
	{"ends", rss.TrimThreshold, 100, false},
	{"arenas", rss.ArenaMax, 100, false},
	{"ends", rss.ArenaMax, 100, false},
	{"at-once", rss.ArenaMax, 100, true},
	{"threads.py", rss.ArenaMax, 100, false},
	{"mixed", rss.Allocator, 60, false},
	{"pinned", rss.Allocator, 60, false},
	{"same", rss.Allocator, 60, true},
	{"huge", rss.SmallPages, 3, false},
}

// settings are the environment in which a program uses less memory. malloc_trim needs none.
func settings(t *testing.T, means rss.Means) []string {
	t.Helper()
	switch means {
	case rss.ArenaMax:
		return []string{"MALLOC_ARENA_MAX=2"}
	case rss.TrimThreshold:
		return []string{"MALLOC_TRIM_THRESHOLD_=131072"}
	case rss.Allocator:
		return []string{"LD_PRELOAD=" + testutil.NeedFile(t, "/usr/lib/*/libjemalloc.so.2"), "MALLOC_CONF=dirty_decay_ms:0"}
	case rss.SmallPages:
		return []string{"NO_HUGE_PAGES=1"}
	}
	return nil
}

// TestAdviceHolds compares what is said to be given back with what is.
func TestAdviceHolds(t *testing.T) {
	const slack = 2 * mib // programs differ a little each time
	for _, m := range measurements {
		t.Run(fmt.Sprint(m.means, " ", m.program), func(t *testing.T) {
			run := func(environment ...string) running {
				if m.program == "threads.py" {
					return runPython(t, environment...)
				}
				return runMemory(t, m.program, environment...)
			}
			p := run()
			r := p.look(t)
			if m.means == rss.SmallPages && r.HugePages == 0 {
				t.Skip("the kernel gives no huge pages")
			}
			said, before := advised(r, m.means), p.resident(t)
			var after int64
			if environment := settings(t, m.means); environment == nil {
				p.trim(t)
				after = p.resident(t)
				assert.Less(t, advised(p.look(t), m.means), int64(slack), "nothing is left to trim")
			} else {
				after = run(environment...).resident(t)
			}
			t.Logf("| %s | %s | %s | %s | %s |", m.program, m.means, units.Bytes(before), units.Bytes(said), units.Bytes(after))
			assert.Greater(t, said, m.least*mib)
			switch gain := before - after; {
			case m.none:
				assert.Less(t, gain, said/4)
			case m.means == rss.Allocator: // it returns what malloc_trim does, too
				assert.InDelta(t, said+r.Part(rss.FreePages), gain, 0.1*float64(said)+slack)
			default:
				assert.InDelta(t, said, gain, 0.05*float64(said)+slack)
			}
		})
	}
}

// TestLocked has no advice to trim what the kernel does not take back.
func TestLocked(t *testing.T) {
	p := runMemory(t, "locked")
	r := p.look(t)
	if !r.Locked {
		t.Skip("the kernel does not lock so much memory")
	}
	assert.Zero(t, advised(r, rss.Trim))
	before := p.resident(t)
	p.trim(t)
	assert.InDelta(t, 0, before-p.resident(t), 2*mib)
}

// TestEndsStay shows that malloc_trim does not return the ends of arenas.
func TestEndsStay(t *testing.T) {
	p := runMemory(t, "ends")
	before := p.look(t).Part(rss.FreeEnd)
	p.trim(t)
	after := p.look(t).Part(rss.FreeEnd, rss.FreePages)
	assert.Greater(t, before, int64(100*mib))
	assert.InDelta(t, before, after, mib)
}

// runPython runs testdata/threads.py.
func runPython(t *testing.T, environment ...string) running {
	t.Helper()
	environment = append([]string{"MALLOC_ARENA_MAX=32"}, environment...)
	return runUntilReady(t, environment, testutil.NeedFile(t, "/usr/bin/python3"), "-S", "testdata/threads.py")
}

// TestResidentOfPython has the objects of an interpreter.
func TestResidentOfPython(t *testing.T) {
	const script = `
import sys
kept = [(str(i), [i]) for i in range(300000)]
gone = [str(i) * 4 for i in range(300000)]
some = gone[::60]
del gone
print("ready", flush=True)
sys.stdin.read()`
	p := runUntilReady(t, nil, testutil.NeedFile(t, "/usr/bin/python3"), "-S", "-c", script)
	r := p.look(t)
	require.NotNil(t, r.Python)
	assert.Greater(t, r.Part(rss.PythonBlocks), int64(40*mib))
	assert.Greater(t, r.Part(rss.PythonFree), int64(15*mib), "strings that are gone, between those that are not")
	assert.Greater(t, r.Part(rss.PythonBlocks, rss.PythonFree, rss.PythonEmpty), r.Bytes/2)
	assert.Less(t, r.Part(rss.Anonymous), int64(2*mib))
}

// TestResidentBesideAnotherAllocator: pools of CPython count once, where the blocks of malloc are jemalloc's.
func TestResidentBesideAnotherAllocator(t *testing.T) {
	const script = `
import sys
kept = [str(i) for i in range(300000)]
print("ready", flush=True)
sys.stdin.read()`
	preload := "LD_PRELOAD=" + testutil.NeedFile(t, "/usr/lib/*/libjemalloc.so.2")
	p := runUntilReady(t, []string{preload}, testutil.NeedFile(t, "/usr/bin/python3"), "-S", "-c", script)
	r := p.look(t)
	assert.Greater(t, r.Part(rss.PythonBlocks), int64(15*mib))
	assert.InDelta(t, r.Kernel, r.Bytes, 2*mib)
}

// TestResidentRefused has the mappings of a process of which no snapshot is taken.
func TestResidentRefused(t *testing.T) {
	r, err := Resident(t.Context(), os.Getpid(), Options{})
	require.NoError(t, err)
	assert.Len(t, r.Problems, 1)
	assert.Nil(t, r.Malloc)
	assert.Equal(t, r.Kernel, r.Bytes)
	_, err = Resident(t.Context(), -1, Options{})
	var refusal *snapshot.Refusal
	require.ErrorAs(t, err, &refusal)
}
