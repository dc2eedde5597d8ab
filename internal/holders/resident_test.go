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

	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/testutil"
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
	r, err := Resident(p.pid)
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
					if part.Kind == rss.Cached {
						slack = 0.05 * mib
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

// TestAdviceHolds compares what is said to be given back with what is.
func TestAdviceHolds(t *testing.T) {
	advised := func(r *rss.Result, means rss.Means) float64 {
		for _, a := range r.Advice {
			if a.Means == means {
				return float64(a.Bytes)
			}
		}
		return 0
	}
	// The look itself makes some pages of files resident, and programs differ a little each time.
	const slack = 2 * mib
	for _, mode := range []string{"gaps", "pinned", "arenas", "same"} {
		t.Run("malloc_trim "+mode, func(t *testing.T) {
			p := runMemory(t, mode)
			want := advised(p.look(t), rss.Trim)
			assert.Greater(t, want, float64(20*mib))
			before := p.resident(t)
			p.trim(t)
			assert.InDelta(t, want, before-p.resident(t), slack)
			assert.Zero(t, advised(p.look(t), rss.Trim))
		})
	}
	for means, with := range map[rss.Means]struct {
		mode, setting string
		gain          float64
	}{
		rss.ArenaMax:  {"arenas", "MALLOC_ARENA_MAX=2", 100 * mib},
		rss.Allocator: {"mixed", "MALLOC_CONF=dirty_decay_ms:0", 60 * mib},
	} {
		t.Run(string(means), func(t *testing.T) {
			environment := []string{with.setting}
			if means == rss.Allocator {
				environment = append(environment, "LD_PRELOAD="+testutil.NeedFile(t, "/usr/lib/*/libjemalloc.so.2"))
			}
			p := runMemory(t, with.mode)
			want := advised(p.look(t), means)
			gain := p.resident(t) - runMemory(t, with.mode, environment...).resident(t)
			t.Logf("advised %.1f MiB, given back %.1f MiB", want/mib, float64(gain)/mib)
			assert.Greater(t, want, with.gain)
			assert.InDelta(t, want, gain, 0.1*want)
		})
	}
	t.Run("locked", func(t *testing.T) {
		p := runMemory(t, "locked")
		r := p.look(t)
		if !r.Locked {
			t.Skip("the kernel does not lock so much memory")
		}
		assert.Zero(t, advised(r, rss.Trim))
		before := p.resident(t)
		p.trim(t)
		assert.InDelta(t, 0, before-p.resident(t), slack)
	})
	t.Run("small_pages", func(t *testing.T) {
		p := runMemory(t, "huge")
		r := p.look(t)
		if r.HugePages == 0 {
			t.Skip("the kernel gives no huge pages")
		}
		gain := p.resident(t) - runMemory(t, "huge", "NO_HUGE_PAGES=1").resident(t)
		assert.InDelta(t, r.HugeZero, gain, slack)
		if r.HugePages == 32*mib {
			assert.Equal(t, int64(30*mib), r.HugeZero)
		}
	})
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

// TestResidentRefused has the mappings of a process of which no snapshot is taken.
func TestResidentRefused(t *testing.T) {
	r, err := Resident(os.Getpid())
	require.NoError(t, err)
	assert.Len(t, r.Problems, 1)
	assert.Nil(t, r.Malloc)
	assert.Equal(t, r.Kernel, r.Bytes)
	_, err = Resident(-1)
	var refusal *snapshot.Refusal
	require.ErrorAs(t, err, &refusal)
}
