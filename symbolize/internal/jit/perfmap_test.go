package jit

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func mapOf(t testing.TB, text string) *Map {
	t.Helper()
	m, err := Read(strings.NewReader(text), "perf-1.map")
	require.NoError(t, err)
	require.Equal(t, PerfMap, m.Kind)
	return m
}

// find returns the whole name of the function at an address.
func (m *Map) find(addr uint64) (string, bool) {
	i, ok := m.index.Find(addr)
	if !ok {
		return "", false
	}
	return m.entries[i].name, true
}

// TestPerfMapLines lists lines that are valid, and malformed ones, which are ignored.
func TestPerfMapLines(t *testing.T) {
	for line, want := range map[string]string{
		"1000 10 name\n":                 "name",
		"0x1000 0x10 name\n":             "name",
		"1000 10 a name with spaces\n":   "a name with spaces",
		"1000 10 name\r\n":               "name",
		"1000 10 name":                   "name", // the last line, truncated
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
			name, ok := mapOf(t, line).find(0x1008)
			require.Equal(t, want != "", ok)
			require.Equal(t, want, name)
		})
	}
}

// TestPerfMapAgainstBruteForce: of the lines that hold an address, the last one applies.
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
	m := mapOf(t, text.String())
	for a := range uint64(1100) {
		want := ""
		for i, l := range lines {
			if l.start <= a && a < l.start+l.size {
				want = fmt.Sprintf("f%d", i)
			}
		}
		name, ok := m.find(a)
		require.Equal(t, want != "", ok, "%d", a)
		require.Equal(t, want, name, "%d", a)
	}
}

// TestPerfMapLongLines: a line longer than the limit is ignored, even if its rest looks like a
// line.
func TestPerfMapLongLines(t *testing.T) {
	long := "2000 10 " + strings.Repeat("x", maxName)
	// The rest of the line begins where the reader's buffer ends.
	text := "1000 10 first\n" + long[:maxName] + "3000 10 rest of the line\n" + "4000 10 last\n"
	m := mapOf(t, text)
	for addr, want := range map[uint64]string{0x1000: "first", 0x2000: "", 0x3000: "", 0x4000: "last"} {
		name, _ := m.find(addr)
		require.Equal(t, want, name, "0x%x", addr)
	}
}

// TestManyOverlappingEntries: a function is found below 300 later ones that start after it.
func TestManyOverlappingEntries(t *testing.T) {
	var text strings.Builder
	fmt.Fprintln(&text, "1000 100000 outer")
	for i := range 300 {
		fmt.Fprintf(&text, "%x 10 inner%d\n", 0x1010+16*i, i)
	}
	m := mapOf(t, text.String())
	for addr, want := range map[uint64]string{0x1000: "outer", 0x1010: "inner0", 0x1010 + 16*299: "inner299", 0x1010 + 16*300: "outer", 0x100fff: "outer"} {
		name, _ := m.find(addr)
		require.Equal(t, want, name, "0x%x", addr)
	}
}

// TestPerfMapBomb: a small compressed map of long names cannot use up the memory.
func TestPerfMapBomb(t *testing.T) {
	line := "7f0000000000 10 " + strings.Repeat("n", 60_000) + "\n"
	lines := maxText/60_000 + 2
	_, err := readPerfMap(bufio.NewReaderSize(&repeated{text: line, left: lines}, maxName))
	require.ErrorContains(t, err, "names of more than 268435456 bytes")
	m, err := readPerfMap(bufio.NewReaderSize(&repeated{text: line, left: 100}, maxName))
	require.NoError(t, err)
	require.Len(t, m.entries, 100)
}

// repeated reads a text several times.
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

// FuzzPerfMap: a function that Find returns holds the address, and is in the text.
func FuzzPerfMap(f *testing.F) {
	f.Add("1000 10 a\n1008 10 JS:*b /x.js:1:2\n", uint64(0x1009))
	f.Add("0 ffffffffffffffff all\n10 1 py::f:/a.py\r\n", uint64(0x10))
	f.Add("1000 10 "+strings.Repeat("x", 70_000)+"\n2000 10 b", uint64(0x2000))
	for _, path := range fixtures(f, "map") {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(text), uint64(0x10))
	}
	f.Fuzz(func(t *testing.T, text string, addr uint64) {
		m, err := readPerfMap(bufio.NewReaderSize(strings.NewReader(text), maxName))
		require.NoError(t, err)
		require.LessOrEqual(t, len(m.entries), strings.Count(text, "\n")+1)
		i, ok := m.index.Find(addr)
		if !ok {
			return
		}
		e := m.entries[i]
		require.LessOrEqual(t, e.start, addr)
		require.Less(t, addr-e.start, e.size)
		require.Contains(t, text, e.name)
		frame := parseName(e.name)
		require.NotEmpty(t, frame.Function)
		require.GreaterOrEqual(t, len(e.name)+len("(anonymous)"), len(frame.Function))
	})
}
