package symbolize

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// jitWriter writes a jitdump as linux's tools/perf/Documentation/jitdump-specification.txt says.
type jitWriter struct {
	order binary.AppendByteOrder
	b     []byte
}

func newJITWriter(order binary.AppendByteOrder) *jitWriter {
	w := &jitWriter{order: order}
	w.b = w.u32(0x4A695444, 1, 40, 62, 0, 4711)
	w.b = append(w.b, w.u64(123, 0)...)
	return w
}

func (w *jitWriter) u32(values ...uint32) (b []byte) {
	for _, v := range values {
		b = w.order.AppendUint32(b, v)
	}
	return b
}

func (w *jitWriter) u64(values ...uint64) (b []byte) {
	for _, v := range values {
		b = w.order.AppendUint64(b, v)
	}
	return b
}

func (w *jitWriter) record(kind uint32, body ...[]byte) {
	all := bytes.Join(body, nil)
	w.b = append(w.b, w.u32(kind, uint32(16+len(all)))...)
	w.b = append(append(w.b, w.u64(1)...), all...)
}

func (w *jitWriter) load(addr, size, index uint64, name string) {
	w.record(jitLoad, w.u32(4711, 4711), w.u64(addr, addr, size, index), []byte(name+"\x00"), make([]byte, size))
}

func (w *jitWriter) move(from, to, size, index uint64) {
	w.record(jitMove, w.u32(4711, 4711), w.u64(to, from, to, size, index))
}

// debug writes lines, whose offsets are addresses.
func (w *jitWriter) debug(code uint64, lines ...jitLine) {
	body := [][]byte{w.u64(code, uint64(len(lines)))}
	for _, l := range lines {
		body = append(body, w.u64(l.offset), w.u32(uint32(l.line), 7), []byte(l.file+"\x00"))
	}
	w.record(jitDebugInfo, body...)
}

func jitMapOf(t testing.TB, data []byte) *perfMap {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jit-4711.dump")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	m, err := readPerfMap(path, path)
	require.NoError(t, err)
	require.Equal(t, SourceJITDump, m.source)
	return m
}

// sampleJITDump has a record of each kind, and one of a kind that is not known.
func sampleJITDump(order binary.AppendByteOrder) *jitWriter {
	w := newJITWriter(order)
	w.load(0x1000, 0x20, 0, "plain")
	w.debug(0x2000, jitLine{0x2008, "/src/a.kt", 11}, jitLine{0x2000, "/src/a.kt", 10}, jitLine{0x2010, "\xff", 12})
	w.record(9, []byte("of the future"))
	w.load(0x2000, 0x20, 1, "Lined.run()")
	w.move(0x2000, 0x3000, 0x20, 1)
	w.move(0x7777, 0x8000, 0x20, 1) // it was not there
	w.record(4, make([]byte, 30))   // unwinding information
	w.load(0x1010, 0x20, 2, "JS:*later /srv/a.js:5:9")
	w.record(jitClose)
	w.load(0x9000, 0x20, 3, "behind the end")
	return w
}

// TestJITDump: functions and lines in either order of bytes; what was written last counts, moved code keeps its lines.
func TestJITDump(t *testing.T) {
	for name, order := range map[string]binary.AppendByteOrder{"little-endian": binary.LittleEndian, "big-endian": binary.BigEndian} {
		t.Run(name, func(t *testing.T) {
			m := jitMapOf(t, sampleJITDump(order).b)
			for addr, want := range map[uint64]Frame{
				0x1000: {Function: "plain"},
				0x1010: {Function: "later", File: "/srv/a.js", Line: 5, Column: 9, StartLine: 5},
				0x2000: {Function: "Lined.run()", File: "/src/a.kt", Line: 10},
				0x2007: {Function: "Lined.run()", File: "/src/a.kt", Line: 10},
				0x2008: {Function: "Lined.run()", File: "/src/a.kt", Line: 11},
				0x201f: {Function: "Lined.run()", File: "/src/a.kt", Line: 12},
				0x3009: {Function: "Lined.run()", File: "/src/a.kt", Line: 11},
				0x2020: {}, 0xfff: {}, 0x8000: {}, 0x9000: {},
			} {
				e, ok := m.find(addr)
				require.Equal(t, want.Function != "", ok, "0x%x", addr)
				if ok {
					require.Equal(t, want, e.frame(addr), "0x%x", addr)
				}
			}
		})
	}
}

// TestJITDumpCut: of a file that is cut anywhere, what is whole is used.
func TestJITDumpCut(t *testing.T) {
	data := sampleJITDump(binary.LittleEndian).b
	for n := jitHeaderSize; n < len(data); n++ {
		m := jitMapOf(t, data[:n])
		require.LessOrEqual(t, len(m.entries), 4)
		for _, e := range m.entries {
			require.Contains(t, []string{"plain", "Lined.run()", "JS:*later /srv/a.js:5:9"}, e.name)
		}
	}
}

// TestJITDumpOfV8: V8 adds the size of an ELF header to the addresses of its lines, has no addresses for baseline code, and writes
// names of files that it freed already.
func TestJITDumpOfV8(t *testing.T) {
	w := newJITWriter(binary.LittleEndian)
	lines := func(code uint64, file string) {
		w.debug(code, jitLine{code + 0x40, file, 20}, jitLine{code + 0x50, file, 21})
	}
	lines(0x1000, "/a.js")
	w.load(0x1000, 0x20, 0, "JS:*hot /a.js:19:9")
	lines(0x2000, "/a.js")
	w.load(0x2000, 0x200, 1, "JS:^baseline /a.js:19:9")
	lines(0x3000, "\x9b\x94\x02")
	w.load(0x3000, 0x20, 2, "JS:*freed /a.js:19:9")
	w.debug(0x4000, jitLine{0xeabccd8fcfffa480, "/a.js", 20})
	w.load(0x4000, 0x20, 3, "JS:*astray /a.js:19:9")
	m := jitMapOf(t, w.b)
	for addr, line := range map[uint64]int{0x1000: 20, 0x100f: 20, 0x1010: 21, 0x2010: 19, 0x3000: 19, 0x4000: 19} {
		e, ok := m.find(addr)
		require.True(t, ok)
		require.Equal(t, line, e.frame(addr).Line, "0x%x", addr)
	}
}

func TestJITDumpRefused(t *testing.T) {
	good := newJITWriter(binary.LittleEndian).b
	change := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	for want, data := range map[string][]byte{
		"version 7, want 1": change(4, 7), "header has 39 bytes": change(8, 39), "without a header": good[:20],
	} {
		path := filepath.Join(t.TempDir(), "jit-1.dump")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		_, err := readPerfMap(path, path)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}

// TestJITDumpOfSeries: a jitdump beside the snapshots, or a named one, names generated code, and goes before a perf map.
func TestJITDumpOfSeries(t *testing.T) {
	series := seriesOf(t, []string{"00002000-00004000 rwxp 00000000 00:00 0 "}, []uint64{0x2009, 0x3fff})
	at := func(o Options) (*Location, *Location) {
		s := resolve(t, series, o)
		return &s.Locations[s.Stack(0)[0]], &s.Locations[s.Stack(0)[1]]
	}
	dump := filepath.Join(series.Dir(), "jit-4711.dump")
	require.NoError(t, os.WriteFile(dump, sampleJITDump(binary.LittleEndian).b, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(series.Dir(), "perf-4711.map"), []byte("2000 2000 mapped\n"), 0o600))
	for range 2 {
		first, second := at(Options{})
		require.Equal(t, []Frame{{Function: "Lined.run()", File: "/src/a.kt", Line: 11}}, first.Frames)
		require.Equal(t, SourceJITDump, first.Source)
		require.Equal(t, "jitdump", first.Source.String())
		require.Equal(t, "mapped", second.Frames[0].Function)
		require.Equal(t, SourcePerfMap, second.Source)
		if _, err := os.Stat(dump); err == nil {
			run(t, series.Dir(), "gzip", dump)
		}
	}
	other := filepath.Join(t.TempDir(), "any.name")
	require.NoError(t, os.WriteFile(other, sampleJITDump(binary.BigEndian).b, 0o600))
	first, second := at(Options{PerfMaps: []string{other}})
	require.Equal(t, "Lined.run()", first.Frames[0].Function)
	require.Equal(t, ReasonNoPerfEntry, second.Reason)
}

// TestJITDumpOfNode: the jitdump of a real process has the functions of its perf map, which V8 writes by other code.
func TestJITDumpOfNode(t *testing.T) {
	node := need(t, "node")
	dir := t.TempDir()
	script := filepath.Join(dir, "hot.js")
	require.NoError(t, os.WriteFile(script, []byte(`function hot(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s += i % 7;
  return s;
}
let t = 0;
for (let i = 0; i < 2000; i++) t += hot(20000);
require("fs").copyFileSync("/tmp/perf-" + process.pid + ".map", "perf.map");
require("fs").unlinkSync("/tmp/perf-" + process.pid + ".map");
`), 0o600))
	run(t, dir, node, "--perf-prof", "--perf-basic-prof", script)
	dumps, err := filepath.Glob(filepath.Join(dir, "jit-*.dump"))
	require.NoError(t, err)
	require.Len(t, dumps, 1, "node --perf-prof writes one")
	dump, err := readPerfMap(dumps[0], dumps[0])
	require.NoError(t, err)
	text, err := readPerfMap(filepath.Join(dir, "perf.map"), "perf.map")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, e := range dump.entries {
		known[fmt.Sprintf("%x %x", e.start, e.size)] = true
	}
	require.Greater(t, len(text.entries), 100)
	hot := 0
	for _, e := range text.entries {
		if !known[fmt.Sprintf("%x %x", e.start, e.size)] {
			require.Contains(t, e.name, ":~", "%s is not in the jitdump", e.name)
			continue // interpreted functions have no code, which a jitdump holds
		}
		if strings.Contains(e.name, "hot ") {
			d, ok := dump.find(e.start)
			require.True(t, ok)
			f := d.frame(e.start)
			require.Equal(t, "hot", f.Function)
			require.Equal(t, script, f.File)
			require.GreaterOrEqual(t, f.Line, 1)
			require.LessOrEqual(t, f.Line, 5)
			hot++
		}
	}
	require.NotZero(t, hot)
}

// FuzzJITDump: any bytes are refused, or what is found holds the address that was asked for and is a frame with a name.
func FuzzJITDump(f *testing.F) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		data := sampleJITDump(order).b
		f.Add(data, uint64(0x2009))
		f.Add(data[:len(data)-50], uint64(0x1011))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		if len(data) < 4 {
			return
		}
		if _, ok := jitMagic(data[:4]); !ok {
			copy(data, "DTiJ")
		}
		path := filepath.Join(dir, "jit.dump")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		m, err := readPerfMap(path, path)
		if err != nil {
			require.Nil(t, m)
			return
		}
		if e, ok := m.find(addr); ok {
			require.Less(t, addr-e.start, e.size)
			require.True(t, bytes.Contains(data, []byte(e.name)))
			require.NotEmpty(t, e.frame(addr).Function)
			require.GreaterOrEqual(t, e.frame(addr).Line, 0)
		}
	})
}
