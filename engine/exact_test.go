//go:build linux

package engine

import (
	"debug/elf"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

const kib = 1024

// exactCounts are the counts of the sites of exact.c.
var exactCounts = map[string]heapfile.Counts{
	"malloc":       {InuseObjects: 2, InuseBytes: 200, AllocObjects: 3, AllocBytes: 300},
	"zero":         {InuseObjects: 2, AllocObjects: 2},
	"calloc":       {InuseObjects: 1, InuseBytes: 300, AllocObjects: 1, AllocBytes: 300},
	"realloc":      {InuseObjects: 1, InuseBytes: 20, AllocObjects: 4, AllocBytes: 1037},
	"reallocarray": {InuseObjects: 1, InuseBytes: 40, AllocObjects: 1, AllocBytes: 40},
	"aligned":      {InuseObjects: 3, InuseBytes: 656, AllocObjects: 4, AllocBytes: 1056},
	"pvalloc":      {InuseObjects: 1, InuseBytes: 1, AllocObjects: 1, AllocBytes: 1},
	"library":      {InuseObjects: 1, InuseBytes: 6, AllocObjects: 1, AllocBytes: 6},
	"errno":        {AllocObjects: 1, AllocBytes: 50},
	"map":          {InuseObjects: 2, InuseBytes: 128 * kib, AllocObjects: 2, AllocBytes: 128 * kib},
	"unmap":        {InuseObjects: 2, InuseBytes: 832 * kib, AllocObjects: 2, AllocBytes: 1152 * kib},
	"remap":        {InuseObjects: 2, InuseBytes: 768 * kib, AllocObjects: 4, AllocBytes: 1408 * kib},
	"many":         {InuseObjects: 5000, InuseBytes: 160000, AllocObjects: 20000, AllocBytes: 640000},
	"passed":       {InuseObjects: 64, InuseBytes: 128000, AllocObjects: 40000, AllocBytes: 80_000_000},
}

// TestExact records every allocation of a program that uses every function, and compares with what
// the program did. The program checks the results of the functions and errno.
func TestExact(t *testing.T) {
	program := compile(t, "gcc", "exact.c", "-fno-builtin", "-Wno-all")
	r := record(t, "", program).run(t)
	checkExact(t, r, program, exactCounts)
	events := r.events(t, r.cmd.Process.Pid)
	assert.Equal(t, []string{"exit"}, triggers(events))
	assert.Empty(t, problems(events))
}

// TestExactWithMusl records the same program with another C library.
func TestExactWithMusl(t *testing.T) {
	program := compile(t, "musl-gcc", "exact.c", "-fno-builtin", "-Wno-all", "-D_GNU_SOURCE", "-Wl,--eh-frame-hdr")
	r := record(t, "", program).run(t)
	want := maps.Clone(exactCounts)
	delete(want, "library") // Debian's musl has no unwind information
	checkExact(t, r, program, want)
	assert.Equal(t, "musl", r.events(t, r.cmd.Process.Pid)[1].Start.Libc)
}

// TestExactOnArm64 records the same program on another processor, in an emulator.
func TestExactOnArm64(t *testing.T) {
	emulator := testutil.Optional(t, "qemu-aarch64")
	testutil.Optional(t, "aarch64-linux-gnu-gcc")
	program := compile(t, "aarch64-linux-gnu-gcc", "exact.c", "-fno-builtin", "-Wno-all")
	object := filepath.Join(t.TempDir(), Name)
	require.NoError(t, os.WriteFile(object, Object(elf.EM_AARCH64), 0o755))
	r := record(t, "", emulator)
	r.cmd.Args = []string{
		emulator, "-L", "/usr/aarch64-linux-gnu", "-E", "LD_PRELOAD=" + object,
		"-E", Variable + "=" + r.settings(""), program, "emulated",
	}
	r.cmd.Env = os.Environ()
	checkExact(t, r.run(t), program, exactCounts)
}

func checkExact(t *testing.T, r *recording, program string, want map[string]heapfile.Counts) {
	t.Helper()
	assert.Equal(t, "ok\n", r.stdout.String())
	s := r.last(t)
	assert.EqualValues(t, 1, s.Period)
	got := functionsOf(t, program).bySite(s)
	for name, counts := range want {
		assert.Equal(t, counts, got[name], name)
	}
}

// TestMappingsAreOptional records a program with mmap=0.
func TestMappingsAreOptional(t *testing.T) {
	program := compile(t, "gcc", "exact.c", "-fno-builtin", "-Wno-all")
	r := record(t, "mmap=0", program).run(t)
	got := functionsOf(t, program).bySite(r.last(t))
	require.Contains(t, got, "malloc")
	assert.NotContains(t, got, "map")
}
