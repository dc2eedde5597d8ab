package heapfile_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// The expected results come from google/pprof's parser. A row is compared as text: its
// estimated values, and its addresses as calls, one below the return address.

type difference struct {
	name, reason string
	text         string
	ours         []string
	theirs       []string // or
	refusal      string
}

// differences are the intended differences from it, each with an example. Rows
// are "alloc objects, alloc bytes, in-use objects, in-use bytes @ calls".
var differences = []difference{
	{
		name:   "four values",
		reason: "pprof drops cumulative counts if the header has equal in-use counts: then the first snapshot cannot be compared with a later one",
		text:   heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0x11"),
		ours:   []string{"1 2 1 2 @ 10"}, theirs: []string{"1 2 @ 10"},
	},
	{
		name:   "bytes without objects",
		reason: "HEAP_PROFILE_MMAP writes such rows; pprof refuses the file",
		text:   heaptest.Exact("0: 4096 [1: 8192]", "0: 4096 [1: 8192] @ 0x11"),
		ours:   []string{"1 8192 0 4096 @ 10"}, refusal: "inuse count was 0 but inuse bytes was 4096",
	},
	{
		name:   "negative cumulative counts",
		reason: "gperftools ≤2.10 wraps at 32 bits; its rows have no sign in the brackets",
		text:   heaptest.Exact("1: 2 [3: 8589934590]", "1: 2 [-1: 4294967295] @ 0x11"),
		ours:   []string{"4294967295 4294967295 1 2 @ 10"}, refusal: "got 0, want 6",
	},
	{
		name:   "negative header",
		reason: "the totals wrap at 32 bits like the rows",
		text:   heaptest.Exact("-1: 2 [3: 8]", "1: 2 [3: 8] @ 0x11"),
		ours:   []string{"3 8 1 2 @ 10"}, refusal: "unrecognized profile format",
	},
	{
		name:   "wrapped counts",
		reason: "-1 object in 5 GB was 4,294,967,295 objects",
		text:   heaptest.Exact("1: 5000000000 [2: 5000000000]", "-1: 5000000000 [2: 5000000000] @ 0x11"),
		ours:   []string{"2 5000000000 4294967295 5000000000 @ 10"}, theirs: []string{"2 5000000000 -1 5000000000 @ 10"},
	},
	{
		name:   "an odd line",
		reason: "pprof refuses the file; we skip the line",
		text:   heaptest.Exact("1: 2 [3: 8]", "1: 2 [3: 8] @ 0x11", "oddity"),
		ours:   []string{"3 8 1 2 @ 10"}, refusal: "got 0, want 6",
	},
	{
		name:   "writer's warnings",
		reason: "without sampling, %warn lines precede the header",
		text:   "%warn\n" + heaptest.WithHeader("heap profile: 0: 0 [0: 0] @ heap_v2/0"),
		ours:   []string{}, refusal: "unrecognized profile format",
	},
	{
		name:   "symbolized wrapper",
		reason: "jeprof --raw writes it; only the Perl tools read it",
		text:   "--- symbol\n---\n--- heap\n" + heaptest.Exact("1: 2 [3: 8]", "1: 2 [3: 8] @ 0x11"),
		ours:   []string{"3 8 1 2 @ 10"}, refusal: "unrecognized profile format",
	},
	{
		name:   "jemalloc",
		reason: "google/pprof#690",
		text:   heaptest.Lines("heap_v2/1", "  t*: 1: 2 [3: 8]", "@ 0x11", "  t*: 1: 2 [3: 8]") + maps,
		ours:   []string{"3 8 1 2 @ 10"}, refusal: "unrecognized profile format",
	},
	{
		name:   "(nil)",
		reason: "pprof ends the stack at this address",
		text:   heaptest.Exact("1: 2 [3: 8]", "1: 2 [3: 8] @ 0x11 (nil) 0x21"),
		ours:   []string{"3 8 1 2 @ 10 0 20"}, theirs: []string{"3 8 1 2 @ 10"},
	},
	{
		name:   "null address",
		reason: "pprof looks up the address minus 1, which is below 0; we keep 0",
		text:   heaptest.Exact("1: 2 [3: 8]", "1: 2 [3: 8] @ 0x11 0x0"),
		ours:   []string{"3 8 1 2 @ 10 0"}, theirs: []string{"3 8 1 2 @ 10 ffffffffffffffff"},
	},
	{
		name:   "truncated stack",
		reason: "the last address of a file truncated at 1 MiB may lack digits",
		text:   heaptest.Lines("heap profile: 2: 4 [4: 9] @ heapprofile", "1: 2 [3: 8] @ 0x11 0x21") + maps[1:],
		ours:   []string{"3 8 1 2 @ 10"}, theirs: []string{"3 8 1 2 @ 10 20"},
	},
	{
		name:   "long line",
		reason: "pprof's limit for a line is 64 KiB",
		text:   heaptest.Exact("1: 2 [3: 8]", "1: 2 [3: 8] @ 0x11"+strings.Repeat(" ", 70_000)),
		ours:   []string{"3 8 1 2 @ 10"}, refusal: "token too long",
	},
	{
		name:   "the writer's trailing text",
		reason: "pprof ignores text after the addresses; here it is a warning",
		text:   heaptest.Exact("1: 2 [3: 8]", "1: 2 [3: 8] @ 0x11 oddity"),
		ours:   []string{}, theirs: []string{"3 8 1 2 @ 10"},
	},
}

func TestIntendedDifferencesFromPprof(t *testing.T) {
	for _, d := range differences {
		t.Run(d.name, func(t *testing.T) {
			require.NotEmpty(t, d.reason)
			require.Equal(t, d.ours, ourRows(read(t, d.text), true))
			p, err := profile.ParseData([]byte(d.text))
			if d.refusal != "" {
				require.ErrorContains(t, err, d.refusal)
				return
			}
			require.NoError(t, err)
			require.Equal(t, d.theirs, theirRows(p))
		})
	}
}

// call is the address that is looked up for a return address.
func call(a heapfile.Addr) uint64 { return uint64(max(a, 1)) - 1 }

func ourRows(s *heapfile.Snapshot, alloc bool) []string {
	out := []string{}
	for _, r := range s.Samples {
		c := s.Estimate(r)
		line := fmt.Sprint(c.InuseObjects, c.InuseBytes, " @")
		if alloc {
			line = fmt.Sprint(c.AllocObjects, c.AllocBytes, " ") + line
		}
		for _, a := range s.Stacks.Addrs(r.Stack) {
			line += fmt.Sprintf(" %x", call(a))
		}
		out = append(out, line)
	}
	return out
}

func theirRows(p *profile.Profile) []string {
	out := []string{}
	for _, s := range p.Sample {
		line := strings.Trim(fmt.Sprint(s.Value), "[]") + " @"
		for _, l := range s.Location {
			line += fmt.Sprintf(" %x", l.Address)
		}
		out = append(out, line)
	}
	return out
}

func TestFixturesReadAsInPprof(t *testing.T) {
	testutil.NoRace(t)
	compared := 0
	for _, path := range append(heapFixtures(t), pprofFixtures(t)...) {
		data := testutil.Plain(t, path)
		ours, err := heapfile.Read(bytes.NewReader(data), path)
		if strings.HasSuffix(path, "java.heap") {
			require.ErrorContains(t, err, "a Java heap profile")
			continue
		}
		require.NoError(t, err)
		theirs, err := profile.ParseData(data)
		if err != nil {
			requireKnownRefusal(t, path, ours, err)
			continue
		}
		compared++
		t.Run(path, func(t *testing.T) {
			want, got := theirRows(theirs), ourRows(ours, len(theirs.SampleType) == 4)
			if n := len(ours.Samples); n > 0 && ours.Samples[n-1].Truncated { // "truncated stack"
				require.Equal(t, got[n-1], want[n-1][:strings.LastIndex(want[n-1], " ")])
				got[n-1] = want[n-1]
			}
			slices.Sort(want)
			slices.Sort(got)
			require.Equal(t, want, got)
			if ours.Format != heapfile.FormatScaled { // pprof does not know that the values are estimates
				require.Equal(t, theirs.Period, ours.Period)
			}
		})
	}
	require.Greater(t, compared, 50)
}

// TestMappingsOfPprofsTests reads the mapping lines of pprof's own tests.
func TestMappingsOfPprofsTests(t *testing.T) {
	entries := mappingsOfPprofsTests(t)
	require.Greater(t, len(entries), 10)
	for _, entry := range entries {
		theirs, err := profile.ParseProcMaps(strings.NewReader(entry))
		require.NoError(t, err)
		var want, got []profile.Mapping
		for _, m := range theirs {
			want = append(want, *m)
		}
		for _, m := range read(t, heaptest.WithMaps(entry)).Mappings {
			if m.Executable() { // pprof drops the others
				got = append(got, profile.Mapping{
					Start: uint64(m.Start), Limit: uint64(m.Limit), Offset: uint64(m.Offset), File: m.Path, BuildID: m.BuildID,
				})
			}
		}
		require.Equal(t, want, got, entry)
	}
}

// mappingsOfPprofsTests returns the values of the field entry in the source of pprof's tests.
func mappingsOfPprofsTests(t *testing.T) (entries []string) {
	t.Helper()
	path := filepath.Join(pprofDir(t), "profile", "legacy_profile_test.go")
	source, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(source, func(n ast.Node) bool {
		field, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if key, ok := field.Key.(*ast.Ident); ok && key.Name == "entry" {
			entry := ""
			ast.Inspect(field.Value, func(n ast.Node) bool { // literals, joined by +
				if literal, ok := n.(*ast.BasicLit); ok {
					text, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					entry += text
				}
				return true
			})
			entries = append(entries, entry)
		}
		return true
	})
	return entries
}

// requireKnownRefusal checks that pprof refuses a fixture for the reason
// of a named difference.
func requireKnownRefusal(t *testing.T, path string, s *heapfile.Snapshot, err error) {
	t.Helper()
	name := ""
	switch {
	case s.Format == heapfile.FormatJemalloc:
		name = "jemalloc"
	case slices.Contains(heaptest.Kinds(s.Warnings), "writer-warning"):
		name = "writer's warnings"
	case slices.Contains(heaptest.Kinds(s.Warnings), "zero-objects"):
		name = "bytes without objects"
	case s.Total.InuseObjects < 0:
		name = "negative header"
	}
	i := slices.IndexFunc(differences, func(d difference) bool { return d.name == name })
	require.GreaterOrEqual(t, i, 0, "%s: pprof refuses it for an unknown reason: %v", path, err)
	refusal, _, _ := strings.Cut(differences[i].refusal, " 4096") // the number is the example's
	require.ErrorContains(t, err, refusal, path)
}

// TestEstimateEqualsPprofs compares whole files of sampled rows, over orders of magnitude.
func TestEstimateEqualsPprofs(t *testing.T) {
	for _, kind := range []string{"heap_v2/0", "heap_v2/1", "heap_v2/524288", "heapz_v2/16384", "heap/1048576", "heap/3", "heap"} {
		t.Run(kind, func(t *testing.T) {
			var rows []string
			for objects := 1; objects < 1<<30; objects *= 7 {
				for size := 1; size < 1<<34; size = size*5 + 1 {
					rows = append(rows, fmt.Sprintf("%d: %d [%d: %d] @ 0x11", objects, objects*size, 3*objects, 2*objects*size))
				}
			}
			text := heaptest.WithHeader("heap profile: 1: 2 [3: 4] @ "+kind, rows...)
			p, err := profile.ParseData([]byte(text))
			require.NoError(t, err)
			require.Equal(t, theirRows(p), ourRows(read(t, text), true))
		})
	}
}
