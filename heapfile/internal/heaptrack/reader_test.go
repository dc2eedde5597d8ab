package heaptrack_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptrack"
	"github.com/heaplapse/heaplapse/heapfile/internal/recording"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// snapshot is a snapshot of a recording: its rows, alloc_objects, alloc_space, inuse_objects and
// inuse_space, in the order of the profile.
type snapshot struct {
	at     time.Duration
	rss    int64 // -1 if unknown
	rows   [][4]int64
	stacks []string
}

// sum returns the sum of the rows.
func (s snapshot) sum() (out [4]int64) {
	for _, r := range s.rows {
		for i, v := range r {
			out[i] += v
		}
	}
	return out
}

// read reads a recording. Each profile must be valid.
func read(t testing.TB, text []byte, want int) ([]snapshot, *recording.Recording, error) {
	t.Helper()
	var out []snapshot
	what, err := heaptrack.Read(bytes.NewReader(text), "x.zst", heaptrack.Options{Snapshots: want}, func(s recording.Snapshot) error {
		require.NoError(t, s.Profile.CheckValid())
		one := snapshot{at: s.At, rss: -1}
		if s.RSS != nil {
			one.rss = *s.RSS
		}
		for _, row := range s.Profile.Sample {
			one.rows = append(one.rows, [4]int64(row.Value))
			var stack strings.Builder
			for _, l := range row.Location {
				for _, line := range l.Line {
					fmt.Fprintf(&stack, "%s %s:%d\n", line.Function.Name, line.Function.Filename, line.Line)
				}
			}
			one.stacks = append(one.stacks, stack.String())
		}
		out = append(out, one)
		return nil
	})
	return out, what, err
}

// recorded returns the text of a fixture.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join(testutil.Data(t, "traces"), name))
	require.NoError(t, err)
	switch filepath.Ext(name) {
	case ".txt":
		return packed
	case ".gz":
		z, err := gzip.NewReader(bytes.NewReader(packed))
		require.NoError(t, err)
		text, err := io.ReadAll(z)
		require.NoError(t, err)
		return text
	}
	z, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer z.Close()
	text, err := z.DecodeAll(packed, nil)
	require.NoError(t, err)
	return text
}

// TestPrint compares the end of a recording with what heaptrack_print says of each stack.
func TestPrint(t *testing.T) {
	got, what, err := read(t, recorded(t, "heaptrack.shop.zst"), 48)
	require.NoError(t, err)
	require.Equal(t, []string{"/opt/heaplapse/shop", "24"}, what.Command)
	require.Equal(t, "1.4.0", what.Version)
	require.True(t, what.Timed)
	require.Empty(t, what.Warnings)
	require.Len(t, got, 48)
	last := got[len(got)-1]
	require.Equal(t, folded(t, "heaptrack.shop.allocations.folded.gz"), column(last, 0))
	require.Equal(t, folded(t, "heaptrack.shop.leaked.folded.gz"), column(last, 3))

	said := string(recorded(t, "heaptrack.shop.txt"))
	require.Contains(t, said, fmt.Sprintf("calls to allocation functions: %d ", last.sum()[0]))
	require.Contains(t, said, fmt.Sprintf("total memory leaked: %.2fM", float64(last.sum()[3])/1e6))
	var rss int64
	for _, s := range got {
		rss = max(rss, s.rss)
	}
	require.Contains(t, said, fmt.Sprintf("peak RSS (including heaptrack overhead): %.2fM", float64(rss)/1e6))
}

// folded returns the numbers of a flame graph that are not 0, sorted.
func folded(t *testing.T, name string) (out []int64) {
	t.Helper()
	for line := range strings.Lines(string(recorded(t, name))) {
		n, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 10, 64)
		require.NoError(t, err)
		if n != 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// column returns the numbers of the rows that are not 0, sorted.
func column(s snapshot, i int) (out []int64) {
	for _, r := range s.rows {
		if r[i] != 0 {
			out = append(out, r[i])
		}
	}
	slices.Sort(out)
	return out
}

// TestRaw: the interpreter of heaptrack changes no number.
func TestRaw(t *testing.T) {
	raw, what, err := read(t, recorded(t, "heaptrack.shop.raw.zst"), 48)
	require.NoError(t, err)
	require.Empty(t, what.Warnings)
	interpreted, _, err := read(t, recorded(t, "heaptrack.shop.zst"), 48)
	require.NoError(t, err)
	require.Len(t, raw, len(interpreted))
	for i := range raw {
		require.Equal(t, interpreted[i].at, raw[i].at)
		require.Equal(t, interpreted[i].rss, raw[i].rss)
		require.Equal(t, interpreted[i].rows, raw[i].rows)
	}
}

// TestFormats: the formats of older versions of heaptrack hold the same.
func TestFormats(t *testing.T) {
	text := recorded(t, "heaptrack.shop.zst")
	want, _, err := read(t, text, 20)
	require.NoError(t, err)
	for _, format := range []string{"v 10400 2", "v 10000 1", "v 10200", "v 10000"} {
		older := inFormat(text, format)
		got, _, err := read(t, older, 20)
		require.NoError(t, err, format)
		require.Equal(t, want, got, format)
	}
}

// inFormat rewrites a recording of format 3: older formats have strings without lengths, and the oldest
// one has pointers instead of kinds of allocations.
func inFormat(text []byte, version string) []byte {
	var out strings.Builder
	var kinds []string
	live := map[string][]int{} // the pointers of each kind
	pointer := 0
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		switch {
		case fields[0] == "v":
			line = version + "\n"
		case fields[0] == "s":
			line = "s " + fields[2] + "\n"
		case version != "v 10000":
		case fields[0] == "a":
			kinds = append(kinds, fields[1]+" "+fields[2])
			continue
		case fields[0] == "+":
			kind, _ := strconv.ParseInt(fields[1], 16, 64)
			pointer++
			live[fields[1]] = append(live[fields[1]], pointer)
			line = fmt.Sprintf("+ %s %x\n", kinds[kind], pointer)
		case fields[0] == "-":
			p := live[fields[1]]
			live[fields[1]] = p[1:]
			line = fmt.Sprintf("- %x\n", p[0])
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}

// TestSnapshots: however few snapshots are asked for, each one has the state of its time, and they are
// spread evenly.
func TestSnapshots(t *testing.T) {
	text := recorded(t, "heaptrack.shop.zst")
	all, _, err := read(t, text, 1_000_000)
	require.NoError(t, err)
	require.Greater(t, len(all), 1000)
	var gap time.Duration // between time stamps, if the machine was busy
	for i := 1; i < len(all); i++ {
		gap = max(gap, all[i].at-all[i-1].at)
	}
	for _, n := range []int{1, 2, 3, 10, 48, 500} {
		got, _, err := read(t, text, n)
		require.NoError(t, err)
		require.Len(t, got, n)
		for _, s := range got {
			i, found := slices.BinarySearchFunc(all, s.at, func(a snapshot, at time.Duration) int { return int(a.at - at) })
			require.True(t, found)
			require.Equal(t, sorted(all[i]), sorted(s))
			require.Equal(t, all[i].rss, s.rss)
		}
		require.Equal(t, all[len(all)-1].at, got[n-1].at)
		end := got[n-1].at
		for i := 1; i < n; i++ {
			require.Less(t, got[i].at-got[i-1].at, 3*end/time.Duration(n)+gap, "%d of %d", i, n)
		}
	}
}

// sorted returns the rows that are not 0, sorted: rows are in the order in which stacks first occur.
func sorted(s snapshot) (out [][4]int64) {
	for _, r := range s.rows {
		if r != [4]int64{} {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b [4]int64) int { return slices.Compare(a[:], b[:]) })
	return out
}

// small is a recording with two stacks.
const small = "v 10400 3\nX ./a b\nI 1000 100\ns 4 main\ns 3 a.c\ns 4 /a.o\ni 1000 3 1 2 7\ni 2000 3\nt 1 0\nt 2 1\n" +
	"a 10 2\na 20 1\nc a\nR 5\n+ 0\n+ 1\nc 14\nR 6\n- 0\n+ 1\nc 1e\nR 7\n"

func TestSmall(t *testing.T) {
	got, what, err := read(t, []byte(small), 10)
	require.NoError(t, err)
	require.Equal(t, []string{"./a", "b"}, what.Command)
	inner, outer := "a.o@0x2000 :0\nmain a.c:7\n", "main a.c:7\n"
	require.Equal(t, []snapshot{
		{at: 10 * time.Millisecond, rss: 5 << 12},
		{20 * time.Millisecond, 6 << 12, [][4]int64{{1, 16, 1, 16}, {1, 32, 1, 32}}, []string{inner, outer}},
		{30 * time.Millisecond, 7 << 12, [][4]int64{{1, 16, 0, 0}, {2, 64, 2, 64}}, []string{inner, outer}},
	}, got)
}

// TestDamage: what is not understood is an error with its line, or a warning.
func TestDamage(t *testing.T) {
	head := "v 10400 3\ns 1 f\ni 1 0 1 0 0\nt 1 0\na 8 1\n"
	for text, want := range map[string]string{
		head + "+ 1\n":                        "x.zst:6: kind of allocation 1 does not exist: the recording is damaged",
		head + "- 7\n":                        "x.zst:6: kind of allocation 7 does not exist: the recording is damaged",
		head + "- 0\n":                        "x.zst:6: frees an allocation that is not in use",
		head + "+\n":                          "x.zst:6: malformed line: the kind of an allocation expected",
		head + "+ x\n":                        "x.zst:6: malformed line: the kind of an allocation expected",
		head + "i 1 2\n":                      "x.zst:6: string 2 does not exist: the recording is damaged",
		head + "i 1 0 1 2 0\n":                "x.zst:6: string 2 does not exist: the recording is damaged",
		head + "i 1 0 9\n":                    "x.zst:6: string 9 does not exist: the recording is damaged",
		head + "i 1 0 1 0\n":                  "x.zst:6: malformed line: function, file and line expected",
		head + "t 2 0\n":                      "x.zst:6: call 2 does not exist: the recording is damaged",
		head + "t 1 2\n":                      "x.zst:6: stack 2 does not exist: the recording is damaged",
		head + "t 1 1\nt 1 3\n":               "x.zst:7: stack 3 does not exist: the recording is damaged",
		head + "a 8 9\n":                      "x.zst:6: stack 9 does not exist: the recording is damaged",
		head + "a ffffffffffffffff 1\n":       "x.zst:6: an allocation of 18446744073709551615 bytes",
		head + "a 10000000000000000 1\n":      "x.zst:6: malformed line: size and stack expected",
		head + "c x\n":                        "x.zst:6: malformed line: a time expected",
		head + "c ffffffffffffff\n":           "x.zst:6: malformed line: a time expected",
		head + "R ffffffffffffff\n":           "x.zst:6: malformed line: a number of pages expected",
		head + "s 9 f\n":                      "x.zst:6: the string is shorter than its length says",
		"v 10500 4\n":                         "x.zst:1: format 4 of heaptrack 1.5.0 is not supported; the newest known one is 3",
		"v x\n":                               "x.zst:1: malformed line: a version expected",
		"v 10400 3\nm 1 x\n":                  "x.zst:2: malformed line: a base address expected",
		"v 10400 3\nm 9 x\n":                  "x.zst:2: malformed line: a module expected",
		"v 10400 3\nm 1 x 0 1\n":              "x.zst:2: malformed line: address and size expected",
		"v 10400 3\nm 1 -\n+ 8 1 10\n":        "x.zst:3: stack 1 does not exist: the recording is damaged",
		"v 10400 3\nm 1 -\n+ 8 1\n":           "x.zst:3: malformed line: size, stack and pointer expected",
		head + strings.Repeat("t 1 1\n", 300): "",
		head + chain(300):                     "x.zst:261: the stack has more than 256 frames",
		head + "s " + strings.Repeat("x", 2<<20) + "\n":                                  "x.zst:6: the line has more than 1 MiB",
		head + strings.Repeat("a 1000000000000 1\n", 1) + strings.Repeat("+ 1\n", 1<<15): "x.zst:32774: the sum of all allocations has more than 63 bits",
	} {
		_, _, err := read(t, []byte(text), 3)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want, "%.80q", text)
		var position *heapfile.SyntaxError
		require.ErrorAs(t, err, &position)
	}
}

// chain returns stacks of which each is the caller of the next.
func chain(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "t 1 %x\n", i)
	}
	return b.String()
}

func TestWarnings(t *testing.T) {
	for text, want := range map[string][]string{
		small + "c 14\nc 13\n": {"x.zst:23: a time before that of an earlier line was ignored (2 times)"},
		small + "q 1\n":        {"x.zst:23: a line of unknown kind 'q' was skipped"},
		small + "+ ":           {"x.zst:22: the recording ends early: it is still being written or was truncated; what follows is missing"},
	} {
		var got []string
		whole, _, err := read(t, []byte(small), 3)
		require.NoError(t, err)
		part, what, err := read(t, []byte(text), 3)
		require.NoError(t, err)
		for _, w := range what.Warnings {
			got = append(got, w.Error())
		}
		require.Equal(t, want, got)
		require.Equal(t, whole, part)
	}
}

// TestCutCompression: what a killed compressor wrote is read up to its end.
func TestCutCompression(t *testing.T) {
	text := recorded(t, "heaptrack.shop.zst")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	in, err := gzip.NewReader(bytes.NewReader(packed.Bytes()[:packed.Len()/2]))
	require.NoError(t, err)
	n := 0
	what, err := heaptrack.Read(in, "x.gz", heaptrack.Options{Snapshots: 48}, func(recording.Snapshot) error { n++; return nil })
	require.NoError(t, err)
	require.Equal(t, 48, n)
	require.Equal(t, heapfile.WarnUnfinished, what.Warnings[0].Kind)
}

// TestCheck is called while the stacks of a snapshot are expanded: they take more memory than the file.
func TestCheck(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("v 10400 3\ns 1 f\ni 1 0 1 0 0\nt 1 0\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "t 1 %x\na 1 %x\n+ %x\n", i%200+1, i+2, i)
	}
	enough := errors.New("that is enough")
	calls := 0
	what, err := heaptrack.Read(strings.NewReader(text.String()), "x", heaptrack.Options{Snapshots: 1, Check: func(int64) error {
		if calls++; calls == 3 {
			return enough
		}
		return nil
	}}, func(recording.Snapshot) error { return errors.New("emitted") })
	require.ErrorIs(t, err, enough)
	require.Nil(t, what)
}

// TestAttached: frees of what was allocated before heaptrack was attached are ignored.
func TestAttached(t *testing.T) {
	got, what, err := read(t, []byte("v 10400 3\nx 4 /a.o\nm 1 -\nm 1 x 1000 0 100\nA\nt 1010 0\n- 77\n+ 8 1 10\n- 10\n- 10\n+ 9 1 20\nc 1\n"), 3)
	require.NoError(t, err)
	require.Empty(t, what.Warnings)
	require.Equal(t, [4]int64{2, 17, 1, 9}, got[len(got)-1].sum())
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add(inFormat([]byte(small), "v 10000"))
	f.Add([]byte("v 10400 3\nx 4 /a.o\nm 1 -\nm 1 x 1000 0 100\nt 1010 0\n+ 8 1 10\nc 1\n- 10\nc 2\nR 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		many, what, err := read(t, text, 1000)
		if err != nil {
			require.Nil(t, what)
			return
		}
		few, _, err := read(t, text, 2)
		require.NoError(t, err)
		require.NotEmpty(t, few)
		require.LessOrEqual(t, len(few), 2)
		require.Equal(t, many[len(many)-1].sum(), few[len(few)-1].sum(), "the end does not depend on the number of snapshots")
		for i, s := range many {
			now := s.sum()
			require.GreaterOrEqual(t, now[0], now[2], "no more in use than allocated")
			require.GreaterOrEqual(t, now[1], now[3])
			if i > 0 {
				before := many[i-1].sum()
				require.GreaterOrEqual(t, s.at, many[i-1].at)
				require.GreaterOrEqual(t, now[0], before[0], "cumulative")
				require.GreaterOrEqual(t, now[1], before[1])
			}
			for _, row := range s.rows {
				require.GreaterOrEqual(t, slices.Min(row[:]), int64(0))
			}
		}
	})
}
