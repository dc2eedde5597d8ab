//go:build linux && amd64

package jemalloc

import (
	"flag"
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
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

var update = flag.Bool("update", false, "write the images of testdata")

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
	require.Empty(t, testutil.Ready(t, cmd))
	return cmd
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
		threads := roots.Process{Memory: s.Memory, Mappings: s.Mappings, Threads: s.Threads}
		for i, local := range roots.Local(threads, m) {
			p.Threads = append(p.Threads, Thread{s.Threads[i].TLS, local})
		}
	}
	return p, func(name string) uint64 { return program.Modules[i].Symbol(name).Start }
}

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
			t.Run(fmt.Sprint(version(t, library), " ", c.args, " ", c.settings), func(t *testing.T) {
				t.Setenv("MALLOC_CONF", c.settings)
				s := blocktest.Snapshot(t, run(t, library, program, strings.Fields(c.args)...))
				p, symbol := processOf(t, s, library)
				live, freed := blocktest.Truth(t, s.Memory, symbol)
				var set blocks.Set
				r, err := Walk(p, &set)
				require.NoError(t, err)
				assert.Empty(t, r.Problems)
				assert.Empty(t, law.Differences(&set, live, freed))
				assert.Equal(t, c.caches+2, r.Caches, "those of main and of the program, too")
				assert.Greater(t, r.Cached, 100*c.caches)
				assert.NotEmpty(t, r.Own)
				t.Logf("%d blocks in use, %d freed, %d in %d caches, %d slabs, %d large, %d regions", len(live), len(freed),
					r.Cached, r.Caches, r.Slabs, r.Large, len(set.Regions()))
			})
		}
	}
}

// TestRecordImages writes the images of testdata again, one for each library: go test -run RecordImages -update. Those
// in the repository are of 5.3.0-1 of Debian, and of 5.2.1 and 5.3.1, built with the default options of configure.
func TestRecordImages(t *testing.T) {
	if !*update {
		t.Skip("set -update to write the images")
	}
	program := compile(t)
	for _, library := range libraries(t) {
		s := blocktest.Snapshot(t, run(t, library, program, "150", "2", "1"))
		p, symbol := processOf(t, s, library)
		live, freed := blocktest.Truth(t, s.Memory, symbol)
		pages := recorder{s.Memory, map[uint64][]byte{}}
		p.Memory = pages
		_, err := Walk(p, &blocks.Set{})
		require.NoError(t, err)
		r := recording{
			Data: p.Data, Anonymous: p.Anonymous, Threads: p.Threads, Memory: pages.image(), Live: live, Freed: freed,
		}
		blocktest.Write(t, filepath.Join("testdata", "jemalloc-"+version(t, library)+".gz"), r)
	}
}

// version returns the version of a library, like 5.3.0.
func version(t *testing.T, library string) string {
	t.Helper()
	b, err := os.ReadFile(library)
	require.NoError(t, err)
	m := regexp.MustCompile(`(\d+\.\d+\.\d+)-\d+-g[0-9a-f]+`).FindSubmatch(b)
	require.NotNil(t, m)
	return string(m[1])
}

// TestWalkBusy looks at threads that are stopped anywhere in malloc and free. Each may have changed a block and not its
// table, and may be filling or emptying its cache: up to 200 blocks of it are then of either kind.
func TestWalkBusy(t *testing.T) {
	const threads, perThread = 4, 2 + 200
	program, library := compile(t), libraries(t)[0]
	cmd := run(t, library, program, "0", fmt.Sprint(threads), "1", "busy")
	whole, enough, most := 0, 2, 40 // looks at which no table was being changed
	if testutil.Full() {
		enough, most = 20, 100
	}
	for look := 0; look < most && whole < enough; look++ {
		s, err := snapshot.Take(cmd.Process.Pid, snapshot.Options{})
		require.NoError(t, err)
		p, symbol := processOf(t, s, library)
		live, freed := blocktest.Truth(t, s.Memory, symbol)
		var set blocks.Set
		r, err := Walk(p, &set)
		require.NoError(t, err)
		wrong := law.Differences(&set, live, freed)
		if len(r.Problems) == 0 {
			whole++
			assert.LessOrEqual(t, len(wrong), threads*perThread, "%v", wrong)
		}
		t.Logf("%d blocks in use, %d wrong: %v %v", len(live), len(wrong), wrong, r.Problems)
		require.NoError(t, s.Close())
	}
	assert.Equal(t, enough, whole)
}
