package main

import (
	"encoding/json"
	"fmt"
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

// TestOneCauseOfManySites: a leak through 200 functions, none of which leaks a hundredth of it, has
// one cause, which every form of the result names first.
func TestOneCauseOfManySites(t *testing.T) {
	series := []string{testutil.Data(t, "blame", "many_sites"), "--sysroot", testutil.Data(t, "blame", "sysroot")}
	out, stderr, code := invoke(t, append([]string{"growth", "-q", "--fail-on", "leak", "--format", "json"}, series...)...)
	require.Equal(t, exitFound, code, stderr)
	var got struct {
		Verdict   string
		Explained float64
		Causes    []struct {
			Function, Label string
			Share           float64
			Sites           int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Equal(t, "leak", got.Verdict)
	require.Len(t, got.Causes, 1)
	require.Equal(t, "trace_page", got.Causes[0].Function)
	require.Equal(t, "leak", got.Causes[0].Label)
	require.Equal(t, 200, got.Causes[0].Sites)
	require.InDelta(t, 0.70, got.Causes[0].Share, 0.01)
	require.InDelta(t, got.Causes[0].Share, got.Explained, 0.1)
	growth := fmt.Sprintf("%.0f %% of the growth, 200 sites", 100*got.Causes[0].Share)
	text, _, _ := invoke(t, append([]string{"growth", "-q"}, series...)...)
	require.Regexp(t, `^LEAK: trace_page many_sites\.cc grows to the end of the series, in 200 sites(, most in \S+ \S+)?; `+
		`chance of a leak: [0-9]+ %\n`, text)
	require.Regexp(t, `SITE\n  –  leak [0-9]+% .* trace_page  many_sites\.cc\n     `+growth+`, through functions that it calls\n`, text)
	explained, _, _ := invoke(t, append([]string{"growth", "-q", "--explain", "trace_page"}, series...)...)
	require.Regexp(t, `\n–  trace_page  many_sites\.cc: leak, it grows, most likely without end; [0-9]+ % of simulated sites`, explained)
	markdown, _, _ := invoke(t, append([]string{"report", "-q", "--format", "md"}, series...)...)
	require.Contains(t, markdown, "`trace_page` many&#95;sites.cc grows to the end of the series, in 200 sites.")
	require.Contains(t, markdown, "| `trace_page` many&#95;sites.cc ("+growth+") |")
}
