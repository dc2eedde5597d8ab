package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestBlame: allocations are attributed to the function that requested them, not to the runtime
// below it (scripts/fixtures/blame.sh). The first function is the one that leaks; the others have
// the rest of the memory.
func TestBlame(t *testing.T) {
	for name, want := range map[string][]string{
		// alloc is the program's own, which calls malloc.
		"rust_lines":    {"rust_lines::take_order", "rust_lines::print_receipt", "alloc"},
		"rust_jemalloc": {"sessions::open_session", "sessions::reply", "main"},
	} {
		t.Run(name, func(t *testing.T) {
			out, stderr, code := invoke(t, "growth", "-q", "--all", "--format", "json",
				testutil.Data(t, "blame", name), "--sysroot", testutil.Data(t, "blame", "sysroot"))
			require.Equal(t, exitOK, code, stderr)
			var got found
			require.NoError(t, json.Unmarshal([]byte(out), &got))
			var blamed []string
			for _, s := range got.Sites {
				if s.leaks() {
					require.Equal(t, want[0], s.Blame.Function)
				}
				blamed = append(blamed, s.Blame.Function)
			}
			require.True(t, got.Sites[0].leaks(), describeSites(got.Sites))
			require.ElementsMatch(t, want, blamed)
		})
	}
}
