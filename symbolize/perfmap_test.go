package symbolize

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

func perfMapOf(t testing.TB, text string) *perfMap {
	t.Helper()
	m, err := parsePerfMap(strings.NewReader(text))
	require.NoError(t, err)
	return m
}

func TestPerfMapLines(t *testing.T) {
	for line, want := range map[string]string{
		"1000 10 name\n":                 "name",
		"0x1000 0x10 name\n":             "name",
		"1000 10 a name with blanks\n":   "a name with blanks",
		"1000 10 name\r\n":               "name",
		"1000 10 name":                   "name", // the last line, without its end
		"1000 10 \n":                     "",
		"1000 10\n":                      "",
		"1000 0 empty\n":                 "",
		"xyz 10 name\n":                  "",
		"1000 -1 name\n":                 "",
		"ffffffffffffffff 10 wraps\n":    "",
		"11112222333344445 10 too big\n": "",
		"\n":                             "",
	} {
		t.Run(line, func(t *testing.T) {
			e, ok := perfMapOf(t, line).find(0x1008)
			require.Equal(t, want != "", ok)
			require.Equal(t, want, e.name)
		})
	}
}

// TestPerfMapAgainstBruteForce: of the lines that hold an address the last one written counts.
func TestPerfMapAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	type line struct{ start, size uint64 }
	var lines []line
	var text strings.Builder
	for i := range 300 {
		l := line{random.Uint64N(1000), 1 + random.Uint64N(60)}
		lines = append(lines, l)
		fmt.Fprintf(&text, "%x %x f%d\n", l.start, l.size, i)
	}
	m := perfMapOf(t, text.String())
	for a := range uint64(1100) {
		want := ""
		for i, l := range lines {
			if l.start <= a && a < l.start+l.size {
				want = fmt.Sprintf("f%d", i)
			}
		}
		e, ok := m.find(a)
		require.Equal(t, want != "", ok, "%d", a)
		require.Equal(t, want, e.name, "%d", a)
	}
}

// TestPerfMapLongLines: a line beyond the cap is passed over, whatever its rest looks like.
func TestPerfMapLongLines(t *testing.T) {
	long := "2000 10 " + strings.Repeat("x", maxPerfLine)
	// The rest of the line begins where the reader's buffer ends.
	text := "1000 10 first\n" + long[:maxPerfLine] + "3000 10 rest of the line\n" + "4000 10 last\n"
	m := perfMapOf(t, text)
	for addr, want := range map[uint64]string{0x1000: "first", 0x2000: "", 0x3000: "", 0x4000: "last"} {
		e, _ := m.find(addr)
		require.Equal(t, want, e.name, "0x%x", addr)
	}
}

func TestPerfMapNames(t *testing.T) {
	for name, want := range map[string]Frame{
		"JS:*leakBuffers /srv/leak.js:2:21":            {Function: "leakBuffers", File: "/srv/leak.js", Line: 2, Column: 21, StartLine: 2},
		"JS:~ file:///srv/a.mjs:1:1":                   {Function: "(anonymous)", File: "file:///srv/a.mjs", Line: 1, Column: 1, StartLine: 1},
		"LazyCompile:~main /srv/a.js:1:1":              {Function: "main", File: "/srv/a.js", Line: 1, Column: 1, StartLine: 1},
		"JS:^emit node:events:465:44":                  {Function: "emit", File: "node:events", Line: 465, Column: 44, StartLine: 465},
		"Function:+f /a b/c.js:3:4":                    {Function: "f", File: "/a b/c.js", Line: 3, Column: 4, StartLine: 3},
		"JS:*noplace":                                  {Function: "JS:*noplace"},
		"py::Tracker.record:/srv/leak.py":              {Function: "Tracker.record", File: "/srv/leak.py"},
		"py::<module>:/srv/with:colon.py":              {Function: "<module>:/srv/with", File: "colon.py"},
		"py::noplace":                                  {Function: "py::noplace"},
		"Builtin:ArrayPush":                            {Function: "Builtin:ArrayPush"},
		"void Interpreter::run(Frame*) [tier 2]":       {Function: "void Interpreter::run(Frame*) [tier 2]"},
		"Script:~ /srv/leak.js:99999999999999999999:1": {Function: "Script:~ /srv/leak.js:99999999999999999999:1"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, want, perfFrame(name)) })
	}
}

const jitMaps = "30000000-30010000 rwxp 00000000 00:00 0 "

// TestPerfMapsNameGeneratedCode: by the call before the return address, in anonymous memory or none.
func TestPerfMapsNameGeneratedCode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "any.map")
	require.NoError(t, os.WriteFile(path, []byte("30000100 10 JS:*f /srv/a.js:2:3\n30000110 10 g\n"), 0o600))
	series := seriesOf(t, []string{jitMaps}, []uint64{0x30000110, 0x30000111, 0x30000100, 0x30000200})
	s := resolve(t, series, Options{PerfMaps: []string{path}})
	at := func(i int) *Location { return &s.Locations[s.Stack(0)[i]] }
	require.Equal(t, "f", at(0).Frames[0].Function, "a call at the end of f returns to g's first byte")
	require.Equal(t, SourcePerfMap, at(0).Source)
	require.Equal(t, "g", at(1).Frames[0].Function)
	require.Equal(t, ReasonNoPerfEntry, at(2).Reason, "the call before f's first byte is not in f")
	require.Equal(t, ReasonNoPerfEntry, at(3).Reason)
}

// TestPerfMapEncodings: the same map plain and compressed; one that cannot be read is a warning.
func TestPerfMapEncodings(t *testing.T) {
	text := []byte("30000100 10 f\n")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	series := seriesOf(t, []string{jitMaps}, []uint64{0x30000108})
	for name, c := range map[string]struct {
		data    []byte
		named   bool
		warning string
	}{
		"perf-1.map":     {text, true, ""},
		"perf-1.map.gz":  {zipped.Bytes(), true, ""},
		"perf-2.map.gz":  {text, false, "gzip: invalid header"},
		"perf-3.map.gz":  {zipped.Bytes()[:zipped.Len()-9], false, "unexpected EOF"},
		"perf-4.map.zst": {text, false, "magic number mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, c.data, 0o600))
			s := resolve(t, series, Options{PerfMaps: []string{path}})
			require.Equal(t, c.named, s.Locations[0].Named())
			if c.warning == "" {
				require.Empty(t, s.Warnings)
				return
			}
			require.Len(t, s.Warnings, 1)
			require.ErrorContains(t, s.Warnings[0], c.warning)
			require.ErrorContains(t, s.Warnings[0], path)
		})
	}
}

// TestPerfMapBomb: a small compressed map of long names takes no more memory than a large one of real ones.
func TestPerfMapBomb(t *testing.T) {
	line := "7f0000000000 10 " + strings.Repeat("n", 60_000) + "\n"
	lines := maxPerfText/60_000 + 2
	_, err := parsePerfMap(&repeated{text: line, left: lines})
	require.ErrorContains(t, err, "names of more than 268435456 bytes")
	m, err := parsePerfMap(&repeated{text: line, left: 100})
	require.NoError(t, err)
	require.Len(t, m.entries, 100)
}

// repeated is a text, so many times.
type repeated struct {
	text string
	at   int
	left int
}

func (r *repeated) Read(b []byte) (n int, err error) {
	for n < len(b) && r.left > 0 {
		k := copy(b[n:], r.text[r.at:])
		n += k
		if r.at += k; r.at == len(r.text) {
			r.at = 0
			r.left--
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestPerfMapsBesideSnapshots: perf-PID.map is found beside the snapshots without being named; of two with unknown PID none.
func TestPerfMapsBesideSnapshots(t *testing.T) {
	series := seriesOf(t, []string{jitMaps}, []uint64{0x30000108})
	named := func() bool { return resolve(t, series, Options{}).Locations[0].Named() }
	require.False(t, named())
	beside := filepath.Join(series.Dir(), "perf-12.map")
	require.NoError(t, os.WriteFile(beside, []byte("30000100 10 f\n"), 0o600))
	require.True(t, named())
	require.NoError(t, os.WriteFile(filepath.Join(series.Dir(), "perf-13.map"), []byte("30000100 10 g\n"), 0o600))
	require.False(t, named(), "which of the two is the process's is not known")
	require.NoError(t, os.Remove(beside))
	require.NoError(t, os.Remove(filepath.Join(series.Dir(), "perf-13.map")))
	require.NoError(t, unix.Mkfifo(beside, 0o600))
	require.False(t, named(), "nobody writes to the pipe")
}

// TestTheManifestNamesCopiedMaps: under any name, for the process that wrote them.
func TestTheManifestNamesCopiedMaps(t *testing.T) {
	series := seriesOf(t, nil, []uint64{0x7f0000001010})
	series.Heads[0].File.PID = 7
	dir := series.Dir()
	for _, name := range []string{"copied.map", "other.map"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("7f0000001000 100 "+name+"\n"), 0o600))
	}
	series.Manifest = &manifest.Manifest{Files: []manifest.File{
		{File: "other.map", Kind: "perf-map", PID: 8}, {File: "../copied.map", Kind: "perf-map", PID: 7}, {File: "gone.map", Kind: "perf-map"},
	}}
	s := resolve(t, series, Options{Sysroot: dir})
	require.Equal(t, "copied.map", s.Locations[0].Frames[0].Function)
}
