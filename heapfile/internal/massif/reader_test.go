package massif_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/massif"
	"github.com/heaplapse/heaplapse/heapfile/internal/recording"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

type snapshot struct {
	at   time.Duration
	rows []row
}

// row is a row of a snapshot; its stack is the functions, innermost first. A call ends with ";", an
// inlined function with "<".
type row struct {
	bytes int64
	stack string
}

func (s snapshot) sum() (out int64) {
	for _, r := range s.rows {
		out += r.bytes
	}
	return out
}

// read reads a file. Each profile must be valid.
func read(t testing.TB, text []byte) (out []snapshot, what *recording.Recording, err error) {
	t.Helper()
	what, err = massif.Read(bytes.NewReader(text), "massif.out", func(s recording.Snapshot) error {
		require.NoError(t, s.Profile.CheckValid())
		require.Nil(t, s.RSS)
		one := snapshot{at: s.At}
		for _, sample := range s.Profile.Sample {
			var stack strings.Builder
			for _, l := range sample.Location {
				for i, line := range l.Line {
					end := ";"
					if i+1 < len(l.Line) {
						end = "<"
					}
					fmt.Fprintf(&stack, "%s %s:%d%s", line.Function.Name, line.Function.Filename, line.Line, end)
				}
			}
			one.rows = append(one.rows, row{sample.Value[0], stack.String()})
		}
		out = append(out, one)
		return nil
	})
	return out, what, err
}

// recorded returns the text of a fixture.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	return testutil.Plain(t, filepath.Join(testutil.Data(t, "traces"), name))
}

var head = regexp.MustCompile(`time=(\d+)\nmem_heap_B=(\d+)\nmem_heap_extra_B=\d+\nmem_stacks_B=\d+\nheap_tree=(?:detailed|peak)`)

// TestTotals: each snapshot with a tree has the bytes and the time that its head says.
func TestTotals(t *testing.T) {
	for name, timed := range map[string]bool{"massif.out.shop.gz": true, "massif.out.defaults.gz": false} {
		text := recorded(t, name)
		got, what, err := read(t, text)
		require.NoError(t, err)
		require.Equal(t, []string{"/opt/heaplapse/shop", "24"}, what.Command)
		require.Equal(t, timed, what.Timed)
		heads := head.FindAllSubmatch(text, -1)
		require.Greater(t, len(heads), 10)
		require.Len(t, got, len(heads))
		for i, h := range heads {
			require.Equal(t, string(h[2]), strconv.FormatInt(got[i].sum(), 10))
			if timed {
				require.Equal(t, string(h[1]), strconv.FormatInt(got[i].at.Milliseconds(), 10))
			}
		}
		if timed {
			require.Empty(t, what.Warnings)
		} else {
			require.Regexp(t, `^massif.out: \d+ of \d+ snapshots have a tree; .* record with --detailed-freq=1 `, what.Warnings[0].Error())
		}
	}
}

const small = `desc: --time-unit=ms
cmd: ./a b
time_unit: ms
#-----------
snapshot=0
#-----------
time=0
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
#-----------
snapshot=1
#-----------
time=50
mem_heap_B=1000
mem_heap_extra_B=8
mem_stacks_B=0
heap_tree=detailed
n4: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 500 0x10: allocate (new_allocator.h:137)
  n2: 500 0x10: push (queue.h:7)
   n0: 300 0x20: a::b(int) (a.cc:9)
   n0: 150 in 2 places, all below massif's threshold (1.00%)
 n1: 300 0x30: ??? (in /lib/c.so)
  n1: 300 0x40: main (a.cc:1)
   n1: 300 0x1: ???
    n0: 300 0x1FFF: ???
 n0: 90 0x50: operator()(int) const (x.cc:3)
 n0: 110 in 1 place, below massif's threshold (1.00%)
`

// TestTree: lines with one address are inlined functions, inlined ones of the standard library get their
// namespace, and what is not code is left out.
func TestTree(t *testing.T) {
	got, what, err := read(t, []byte(small))
	require.NoError(t, err)
	require.Equal(t, []snapshot{{50 * time.Millisecond, []row{
		{300, "std::allocate new_allocator.h:137<push queue.h:7;a::b(int) a.cc:9;"},
		{150, "std::allocate new_allocator.h:137<push queue.h:7;(folded samples) :0;"},
		{50, "std::allocate new_allocator.h:137<push queue.h:7;"},
		{300, "c.so@0x30 :0;main a.cc:1;"},
		{90, "operator()(int) const x.cc:3;"},
		{110, "(folded samples) :0;"},
	}}}, got)
	require.Len(t, what.Warnings, 1, "callers are hidden")
}

// TestRecursion: calls of a function by itself are frames of their own; what is inlined into it is not.
func TestRecursion(t *testing.T) {
	got, _, err := read(t, []byte("desc: x\ncmd: a\ntime_unit: ms\nsnapshot=0\ntime=1\nmem_heap_B=9\nheap_tree=detailed\n"+
		"n1: 9 (heap)\n n1: 9 0x1: f (a.c:1)\n  n1: 9 0x1: g (a.c:2)\n   n1: 9 0x1: f (a.c:1)\n    n1: 9 0x1: g (a.c:2)\n"+
		"     n0: 9 0x2: main (a.c:3)\n"))
	require.NoError(t, err)
	require.Equal(t, []row{{9, "f a.c:1<g a.c:2;f a.c:1<g a.c:2;main a.c:3;"}}, got[0].rows)
}

func TestDamage(t *testing.T) {
	tree := func(lines string) string {
		return "desc: x\ncmd: a\ntime_unit: ms\nsnapshot=0\ntime=1\nmem_heap_B=9\nheap_tree=detailed\n" + lines
	}
	for text, want := range map[string]string{
		tree("n1: 9 (heap)\nn0: 9 0x1: f (a.c:1)\n"):                             "massif.out:9: a line at depth 0 of a tree, want 1",
		tree("n1: 9 (heap)\n  n0: 9 0x1: f (a.c:1)\n"):                           "massif.out:9: a line at depth 2 of a tree, want 1",
		tree("n1: 9 (heap)\n n0: 10 0x1: f (a.c:1)\n"):                           "massif.out:9: callers have more bytes than the function they call",
		tree("n1: 9 (heap)\n n0: 9 f\n"):                                         "massif.out:9: malformed line of a tree: nCHILDREN: BYTES 0xADDRESS: FUNCTION (FILE:LINE) expected",
		tree("n1: 99999999999999999999 (heap)\n"):                                "massif.out:8: malformed line of a tree: nCHILDREN: BYTES 0xADDRESS: FUNCTION (FILE:LINE) expected",
		tree("n9999999999: 9 (heap)\n"):                                          "massif.out:8: malformed line of a tree: nCHILDREN: BYTES 0xADDRESS: FUNCTION (FILE:LINE) expected",
		tree("n1: 9 (heap)\n n1: 9 in 2 places, all below massif's threshold\n"): "massif.out:9: malformed line of a tree: nCHILDREN: BYTES 0xADDRESS: FUNCTION (FILE:LINE) expected",
		tree("#\n"):                        "massif.out:8: malformed line of a tree: nCHILDREN: BYTES 0xADDRESS: FUNCTION (FILE:LINE) expected",
		"desc: x\ntime_unit: ms\ntime=x\n": `massif.out:3: "x" is not a number`,
		"desc: x\ntime_unit: ms\ntime=9223372036854775807\n": "massif.out:3: the time is later than any program runs",
		"desc: x\nmem_heap_B=-1\n":                           `massif.out:2: "-1" is not a number`,
		"desc: x\nheap_tree=empty\n":                         "massif.out: not a heap snapshot: a massif file without a detailed snapshot; record with --detailed-freq=1 --threshold=0 --time-unit=B --fullpath-after=",
	} {
		_, what, err := read(t, []byte(text))
		require.EqualError(t, err, want)
		require.Nil(t, what)
	}
}

// TestMismatch: a tree that disagrees with its head is used, with a warning.
func TestMismatch(t *testing.T) {
	got, what, err := read(t, []byte(strings.Replace(small, "mem_heap_B=1000", "mem_heap_B=1001", 1)))
	require.NoError(t, err)
	require.Equal(t, int64(1000), got[0].sum())
	require.Equal(t, heapfile.WarnHeaderMismatch, what.Warnings[0].Kind)
	require.Equal(t, "massif.out:30: the tree has 1000 bytes, but mem_heap_B is 1001", what.Warnings[0].Error())
}

// TestTruncated: a snapshot whose tree is not complete is left out.
func TestTruncated(t *testing.T) {
	text := recorded(t, "massif.out.shop.gz")
	whole, _, err := read(t, text)
	require.NoError(t, err)
	part, what, err := read(t, text[:len(text)/2])
	require.NoError(t, err)
	require.Less(t, len(part), len(whole))
	require.Equal(t, whole[:len(part)], part)
	require.Equal(t, heapfile.WarnUnfinished, what.Warnings[0].Kind)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(strings.ReplaceAll(small, "ms", "i")))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, what, err := read(t, text)
		if err != nil {
			require.Nil(t, what)
			return
		}
		require.NotEmpty(t, got)
		for i, s := range got {
			require.GreaterOrEqual(t, s.sum(), int64(0))
			for _, r := range s.rows {
				require.Positive(t, r.bytes)
			}
			if i > 0 {
				require.GreaterOrEqual(t, s.at, got[i-1].at)
			}
		}
	})
}

func TestDepthOfStacksIsInTheProfile(t *testing.T) {
	for options, want := range map[string]string{
		"(none)": "depth limit: 30",
		"--detailed-freq=1 --depth=40 --threshold=0": "depth limit: 40",
		"--depth=much": "depth limit: 30",
	} {
		text := "desc: " + options + "\ncmd: x\ntime_unit: ms\n#-----------\nsnapshot=0\n#-----------\ntime=1\nmem_heap_B=5\n" +
			"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\nn0: 5 0x11: f (f.c:1)\n"
		_, err := massif.Read(strings.NewReader(text), "massif.out", func(s recording.Snapshot) error {
			require.Equal(t, []string{"by: massif", want}, s.Profile.Comments)
			return nil
		})
		require.NoError(t, err)
	}
}
