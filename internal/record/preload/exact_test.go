//go:build linux

package preload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
)

// TestExact records every allocation of a program that uses every function, and compares with what
// the program did. The program checks the results of the functions and errno.
func TestExact(t *testing.T) {
	program := compile(t, "gcc", "exact.c", "-fno-builtin", "-Wno-all")
	r := record(t, "", program).run(t)
	assert.Equal(t, "ok\n", r.stdout.String())

	const kib = 1024
	want := map[string]heapfile.Counts{
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
	}
	s := r.last(t)
	assert.EqualValues(t, 1, s.Period)
	got := functionsOf(t, program).bySite(s)
	for name, counts := range want {
		assert.Equal(t, counts, got[name], name)
	}
	events := r.events(t, r.cmd.Process.Pid)
	assert.Equal(t, []string{"exit"}, triggers(events))
	assert.Empty(t, problems(events))
}

// TestMappingsAreOptional records a program with mmap=0.
func TestMappingsAreOptional(t *testing.T) {
	program := compile(t, "gcc", "exact.c", "-fno-builtin", "-Wno-all")
	r := record(t, "mmap=0", program).run(t)
	got := functionsOf(t, program).bySite(r.last(t))
	require.Contains(t, got, "malloc")
	assert.NotContains(t, got, "map")
}
