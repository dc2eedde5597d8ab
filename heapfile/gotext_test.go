package heapfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
)

// TestGoText: a text profile of Go (debug=1) ends with statistics, not with mappings. It is complete.
func TestGoText(t *testing.T) {
	s := read(t, heaptest.Lines(
		"heap profile: 1: 1048576 [2: 1048600] @ heap/1048576",
		"1: 1048576 [1: 1048576] @ 0x4a1b2c 0x4a1b00",
		"#	0x4a1b2b	main.leak+0x2b	/src/main.go:9",
		"",
		"# runtime.MemStats",
		"# Alloc = 1234",
		"# NumGC = 3",
	))
	require.Len(t, s.Samples, 1)
	require.False(t, s.Completeness.Truncated)
	require.False(t, s.Completeness.Unfinished)
	w := heaptest.Find(t, s.Warnings, heapfile.WarnNoMappings)
	require.Contains(t, w.Msg, "if the profile is requested without debug=1")
}
