//go:build linux && amd64

package glibc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/blocktest"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// libraries returns the directories of C libraries to test with: the one of this machine, "", and those in the
// environment variable HEAPLAPSE_GLIBCS, separated by colons.
func libraries() []string {
	list := []string{""}
	if dirs := os.Getenv("HEAPLAPSE_GLIBCS"); dirs != "" {
		list = append(list, strings.Split(dirs, ":")...)
	}
	return list
}

// compile builds testdata/blocks.c for a C library.
func compile(t *testing.T, library string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "blocks")
	args := []string{"-O1", "-g", "-Wall", "-pthread", "-rdynamic", "-o", program, "testdata/blocks.c"}
	if library != "" {
		args = append(args, "-nodefaultlibs", filepath.Join(library, "libc.so.6"), filepath.Join(library, "libpthread.so.0"),
			filepath.Join(library, "ld-linux-x86-64.so.2"), "-lgcc")
	}
	out, err := exec.Command(testutil.Need(t, "gcc"), args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// run runs a program until it is ready.
func run(t *testing.T, library, program string, args ...string) *exec.Cmd {
	t.Helper()
	command := append([]string{program}, args...)
	if library != "" {
		command = append([]string{filepath.Join(library, "ld-linux-x86-64.so.2"), "--library-path", library}, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	require.Empty(t, testutil.Ready(t, cmd))
	return cmd
}

// look runs a program until it is ready and takes a snapshot of it.
func look(t *testing.T, library, program string, args ...string) *snapshot.Snapshot {
	t.Helper()
	return blocktest.Snapshot(t, run(t, library, program, args...))
}

// processOf returns the process of a snapshot, and the address of its symbol.
func processOf(t *testing.T, s *snapshot.Snapshot) (p Process, symbol func(name string) uint64) {
	t.Helper()
	program, err := target.Open(s.PID)
	require.NoError(t, err)
	require.NotNil(t, program.Libc)
	p = ProcessOf(s.Memory, s.Mappings, program.Libc.Path)
	p.Resident = s.Resident
	return p, func(name string) uint64 {
		for _, m := range program.Modules {
			if filepath.Base(m.Path) == "blocks" {
				return m.Symbol(name).Start
			}
		}
		return 0
	}
}

// checkOwn checks that the heads of fastbins belong to the allocator: they lead to what counts as a part of the block
// before the one that is free.
func checkOwn(t *testing.T, h *Heap, m target.Memory) {
	t.Helper()
	for _, own := range h.Own {
		if own.Size() > 8 {
			continue
		}
		head, err := m.Uint64(own.Start)
		require.NoError(t, err)
		b, ok := h.Blocks.Find(head + headerSize)
		assert.True(t, ok && b.Free && b.Start == head+headerSize, "%#x", head)
	}
}

func TestWalkLive(t *testing.T) {
	for _, library := range libraries() {
		program := compile(t, library)
		for _, c := range []struct {
			args     string
			tunables string
			caches   int
		}{
			{"300 1 1", "", 1},
			{"20000 4 2", "", 4},
			{"20000 9 3", "", 9},
			{"20000 4 4", "glibc.malloc.mmap_threshold=131072", 4},
			{"5000 4 5", "glibc.malloc.tcache_count=0", 0},
			{"5000 4 6", "glibc.malloc.arena_max=1", 4},
			{"5000 3 7", "glibc.malloc.tcache_max=4096", 3},
		} {
			t.Run(fmt.Sprint(library, " ", c.args, " ", c.tunables), func(t *testing.T) {
				t.Setenv("GLIBC_TUNABLES", c.tunables)
				s := look(t, library, program, strings.Fields(c.args)...)
				p, symbol := processOf(t, s)
				live, freed := blocktest.Truth(t, s.Memory, symbol)
				h, err := Walk(p)
				require.NoError(t, err)
				assert.Empty(t, h.Problems)
				assert.Empty(t, check(h, live, freed))
				assert.GreaterOrEqual(t, h.Caches, c.caches)
				checkOwn(t, h, s.Memory)
				checkArenas(t, h)
				t.Logf("%d blocks in use, %d freed, %d in %d caches, %d mapped, %d regions", len(live), len(freed), h.Cached,
					h.Caches, h.Mapped, len(h.Blocks.Regions()))
			})
		}
	}
}

// checkArenas checks that each block that is not mapped is in one arena, and that those in caches are free.
func checkArenas(t *testing.T, h *Heap) {
	t.Helper()
	heaps := 0
	for i, a := range h.Arenas {
		assert.Equal(t, i == 0, a.Main)
		heaps += len(a.Heaps)
	}
	assert.Len(t, h.Blocks.Regions(), heaps+h.Mapped)
	assert.LessOrEqual(t, len(h.InCaches), h.Cached)
	for _, address := range h.InCaches {
		b, ok := h.Blocks.Find(address)
		assert.True(t, ok && b.Start == address && b.Free, "%#x", address)
	}
}

// TestForeignSbrk has memory before the first chunk, and behind the last one.
func TestForeignSbrk(t *testing.T) {
	s := look(t, "", compile(t, ""), "2000", "1", "1", "sbrk")
	p, symbol := processOf(t, s)
	live, freed := blocktest.Truth(t, s.Memory, symbol)
	h, err := Walk(p)
	require.NoError(t, err)
	assert.Empty(t, h.Problems)
	assert.Empty(t, check(h, live, freed))
}

// TestWalkBusy looks at threads that are stopped anywhere in malloc and free. Each may have changed a block
// and not its table, and the blocks of a list that it was changing.
func TestWalkBusy(t *testing.T) {
	const threads, perThread = 4, 2 + 8
	program := compile(t, "")
	cmd := run(t, "", program, "0", fmt.Sprint(threads), "1", "busy")
	whole := 0
	times := 4
	if testutil.Full() {
		times = 40
	}
	for range times {
		s, err := snapshot.Take(cmd.Process.Pid, snapshot.Options{})
		require.NoError(t, err)
		p, symbol := processOf(t, s)
		live, freed := blocktest.Truth(t, s.Memory, symbol)
		h, err := Walk(p)
		require.NoError(t, err)
		wrong := check(h, live, freed)
		if len(h.Problems) == 0 {
			whole++
			assert.LessOrEqual(t, len(wrong), threads*perThread, "%v", wrong)
		}
		t.Logf("%d wrong: %v %v", len(wrong), wrong, h.Problems)
		require.NoError(t, s.Close())
	}
	assert.Greater(t, whole, times/2)
}

// TestRecordImages writes the images of testdata again, one for each C library: go test -run RecordImages
// -update. Those in the repository are of Debian: 2.31-13+deb11u11, 2.36-9+deb12u14, 2.41-12+deb13u5 and 2.43-7.
func TestRecordImages(t *testing.T) {
	if !*update {
		t.Skip("set -update to write the images")
	}
	for _, library := range libraries() {
		s := look(t, library, compile(t, library), "150", "2", "1")
		p, symbol := processOf(t, s)
		live, freed := blocktest.Truth(t, s.Memory, symbol)
		r := recording{Data: p.Data, Heap: p.Heap, Anonymous: p.Anonymous, Live: live, Freed: freed}
		h, err := Walk(p)
		require.NoError(t, err)
		for _, list := range [][]blocks.Range{p.Data, {p.Heap}, p.Anonymous} {
			for _, within := range list {
				for _, part := range s.Resident(within) {
					// The dynamic linker has the names of files elsewhere.
					if slices.Contains(p.Data, within) || len(h.Blocks.Gaps(part)) != 1 || h.Blocks.Gaps(part)[0] != part {
						r.Memory.Add(t, s.Memory, part)
					}
				}
			}
		}
		blocktest.Write(t, filepath.Join("testdata", "glibc-"+version(t, library)+".gz"), r)
	}
}

// version returns the version of a C library, like 2.36.
func version(t *testing.T, library string) string {
	t.Helper()
	if library == "" {
		library = filepath.Dir(testutil.NeedFile(t, "/lib/x86_64-linux-gnu/libc.so.6"))
	}
	out, err := exec.Command(filepath.Join(library, "ld-linux-x86-64.so.2"), filepath.Join(library, "libc.so.6")).Output()
	require.NoError(t, err)
	m := regexp.MustCompile(`version (\d+\.\d+)`).FindSubmatch(out)
	require.NotNil(t, m)
	return string(m[1])
}
