//go:build linux

package engine

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestOtherAllocators records a C++ program with the allocator of the C library, and with others,
// whose operators new do not call malloc.
func TestOtherAllocators(t *testing.T) {
	program := compile(t, "g++", "operators.cc", "-fno-builtin", "-Wno-all")
	names := functionsOf(t, program)
	want := map[string]heapfile.Counts{
		"array":   {InuseObjects: 500, InuseBytes: 50000, AllocObjects: 1000, AllocBytes: 100000},
		"object":  {InuseObjects: 50, InuseBytes: 200, AllocObjects: 100, AllocBytes: 400},
		"aligned": {InuseObjects: 9, InuseBytes: 576, AllocObjects: 10, AllocBytes: 640},
		"nothrow": {InuseObjects: 10, InuseBytes: 80, AllocObjects: 10, AllocBytes: 80},
		"malloc":  {InuseObjects: 9, InuseBytes: 90, AllocObjects: 10, AllocBytes: 100},
	}
	for _, library := range []string{"", "libjemalloc.so.2", "libtcmalloc_minimal.so.4"} {
		r := record(t, "", program)
		if library != "" {
			preload(r.cmd, findLibrary(t, library))
		}
		r.run(t)
		assert.Equal(t, "bad_alloc\n", r.stdout.String(), library)
		got := names.bySite(r.last(t))
		for name, counts := range want {
			assert.Equal(t, counts, got[name], "%s with %s", name, library)
		}
	}
}

// TestLoaderIsBusy: an allocator whose operators new do not call malloc makes the engine read the tables of
// imports again when a library was loaded. No thread waits for one that waits for the dynamic linker.
func TestLoaderIsBusy(t *testing.T) {
	program := compile(t, "g++", "loading.cc", "-std=c++17", "-fno-builtin", "-pthread", "-Wno-all")
	plugin := linkSources(t, "plugin.so", "-shared", "testdata/library.c")
	r := record(t, "period=1", program, plugin)
	preload(r.cmd, findLibrary(t, "libjemalloc.so.2"))
	r.run(t)
	assert.Equal(t, "done\n", r.stdout.String())
}

// preload loads a library behind the engine.
func preload(cmd *exec.Cmd, library string) {
	for i, variable := range cmd.Env {
		if strings.HasPrefix(variable, "LD_PRELOAD=") {
			cmd.Env[i] += ":" + library
		}
	}
}

func findLibrary(t *testing.T, name string) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/*/" + name)
	require.NoError(t, err)
	if len(found) == 0 {
		testutil.Missing(t, name)
	}
	return found[0]
}
