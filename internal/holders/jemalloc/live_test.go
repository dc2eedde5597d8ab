//go:build linux && amd64

package jemalloc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// libraries returns the libraries to test with: the one of this machine, and those in the environment variable
// HEAPLAPSE_JEMALLOCS, separated by colons.
func libraries(t *testing.T) []string {
	t.Helper()
	list := []string{testutil.NeedFile(t, "/usr/lib/*/libjemalloc.so.2")}
	if more := os.Getenv("HEAPLAPSE_JEMALLOCS"); more != "" {
		list = append(list, strings.Split(more, ":")...)
	}
	return list
}

// compile builds testdata/blocks.c.
func compile(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "blocks")
	args := []string{"-O1", "-g", "-Wall", "-fno-builtin", "-pthread", "-rdynamic", "-o", program, "testdata/blocks.c"}
	out, err := exec.Command(testutil.Need(t, "gcc"), args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// run runs a program with a library until it is ready.
func run(t *testing.T, library, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return cmd
}

// look takes a snapshot of a program.
func look(t *testing.T, cmd *exec.Cmd) *snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.Take(cmd.Process.Pid, snapshot.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// processOf returns the process of a snapshot, and the address of its symbol.
func processOf(t *testing.T, s *snapshot.Snapshot, library string) (p Process, symbol func(name string) uint64) {
	t.Helper()
	program, err := target.Open(s.PID)
	require.NoError(t, err)
	g := glibc.ProcessOf(s.Memory, s.Mappings, program.Libc.Path)
	p = Process{Memory: s.Memory, Anonymous: g.Anonymous, Resident: s.Resident}
	i := slices.IndexFunc(program.Modules, func(m *target.Module) bool { return filepath.Base(m.Path) == "blocks" })
	library, err = filepath.EvalSymlinks(library)
	require.NoError(t, err)
	for _, m := range program.Modules {
		if m.Path != library {
			continue
		}
		p.Data = roots.Data(s.Memory, s.Mappings, m)
		for _, thread := range s.Threads {
			p.Threads = append(p.Threads, Thread{thread.TLS, roots.Local(s.Memory, s.Mappings, thread, m)})
		}
	}
	return p, func(name string) uint64 { return program.Modules[i].Symbol(name).Start }
}

// entry is a block that the program says it has, or had if its size is 0.
type entry struct{ Address, Size uint64 }

// readTruth reads the table of the program. Only the newest entry of an address counts.
func readTruth(t *testing.T, m target.Memory, symbol func(string) uint64) (live, freed []entry) {
	t.Helper()
	word := func(address uint64) uint64 {
		v, err := m.Uint64(address)
		require.NoError(t, err)
		return v
	}
	size := map[uint64]uint64{}
	for i := range word(symbol("thread_count")) {
		thread := symbol("threads") + 24*i
		b := make([]byte, 16*word(thread+8))
		require.NoError(t, m.Read(word(thread), b))
		for ; len(b) > 0; b = b[16:] {
			// Another thread may have used the address again: then it is in use.
			address, n := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			size[address] = max(size[address], n)
		}
	}
	for address, n := range size {
		if n != 0 {
			live = append(live, entry{address, n})
		} else {
			freed = append(freed, entry{address, 0})
		}
	}
	return live, freed
}

// check compares blocks with the truth, and returns how many differ.
func check(set *blocks.Set, live, freed []entry) (wrong []string) {
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	known := map[uint64]bool{}
	for _, e := range live {
		known[e.Address] = true
		b, ok := set.Find(e.Address)
		size := (e.Size + 15) &^ 15
		// Version 5.3.1 does not tell which of two sizes a large block has.
		if !ok || b.Free || b.Start != e.Address&^15 || b.Size() < size || b.Size() >= size+size/4 && size != b.Size() {
			report("%#x of %d bytes is in use: %+v", e.Address, e.Size, b)
		}
		known[b.Start] = true
	}
	for _, e := range freed {
		if b, ok := set.Find(e.Address); ok && !known[b.Start] && !b.Free {
			report("%#x was freed: %+v", e.Address, b)
		}
	}
	others := 0
	for _, r := range set.Regions() {
		for b := range r.All() {
			if !b.Free && !known[b.Start] {
				others++
			}
		}
	}
	if others > maxOthers {
		report("%d blocks in use that the program does not know", others)
	}
	return wrong
}

// maxOthers is more than the number of blocks that the C library and the dynamic linker have.
const maxOthers = 60

func TestWalkLive(t *testing.T) {
	program := compile(t)
	for _, library := range libraries(t) {
		for _, c := range []struct {
			args     string
			settings string
			caches   int
		}{
			{"300 1 1", "", 1},
			{"20000 4 2", "", 4},
			{"20000 9 3", "", 9},
			{"20000 4 4", "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0", 4},
			{"20000 4 5", "lg_tcache_max:20", 4},
			{"20000 4 6", "retain:false", 4},
		} {
			t.Run(fmt.Sprint(filepath.Base(filepath.Dir(filepath.Dir(library))), " ", c.args, " ", c.settings), func(t *testing.T) {
				t.Setenv("MALLOC_CONF", c.settings)
				s := look(t, run(t, library, program, strings.Fields(c.args)...))
				p, symbol := processOf(t, s, library)
				live, freed := readTruth(t, s.Memory, symbol)
				var set blocks.Set
				r, err := Walk(p, &set)
				require.NoError(t, err)
				assert.Empty(t, r.Problems)
				assert.Empty(t, check(&set, live, freed))
				assert.GreaterOrEqual(t, r.Caches, c.caches)
				assert.Greater(t, r.Cached, 100*c.caches)
				assert.NotEmpty(t, r.Own)
				t.Logf("%d blocks in use, %d freed, %d in %d caches, %d slabs, %d large, %d regions", len(live), len(freed), r.Cached,
					r.Caches, r.Slabs, r.Large, len(set.Regions()))
			})
		}
	}
}
