package jit

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// dumpWriter writes a jitdump according to linux,
// tools/perf/Documentation/jitdump-specification.txt.
type dumpWriter struct {
	order binary.AppendByteOrder
	b     []byte
}

func newDumpWriter(order binary.AppendByteOrder) *dumpWriter {
	w := &dumpWriter{order: order}
	w.b = w.u32(0x4A695444, 1, 40, 62, 0, 4711)
	w.b = append(w.b, w.u64(123, 0)...)
	return w
}

func (w *dumpWriter) u32(values ...uint32) (b []byte) {
	for _, v := range values {
		b = w.order.AppendUint32(b, v)
	}
	return b
}

func (w *dumpWriter) u64(values ...uint64) (b []byte) {
	for _, v := range values {
		b = w.order.AppendUint64(b, v)
	}
	return b
}

func (w *dumpWriter) record(kind uint32, body ...[]byte) {
	all := bytes.Join(body, nil)
	w.b = append(w.b, w.u32(kind, uint32(16+len(all)))...)
	w.b = append(append(w.b, w.u64(1)...), all...)
}

func (w *dumpWriter) load(addr, size, index uint64, name string) {
	w.record(recordLoad, w.u32(4711, 4711), w.u64(addr, addr, size, index), []byte(name+"\x00"), make([]byte, size))
}

func (w *dumpWriter) move(from, to, size, index uint64) {
	w.record(recordMove, w.u32(4711, 4711), w.u64(to, from, to, size, index))
}

// debug writes lines whose offsets are addresses.
func (w *dumpWriter) debug(code uint64, lines ...line) {
	body := [][]byte{w.u64(code, uint64(len(lines)))}
	for _, l := range lines {
		body = append(body, w.u64(l.offset), w.u32(uint32(l.number), 7), []byte(l.file+"\x00"))
	}
	w.record(recordDebugInfo, body...)
}

func dumpOf(t testing.TB, data []byte) *Map {
	t.Helper()
	m, err := Read(bytes.NewReader(data), "jit-4711.dump")
	require.NoError(t, err)
	require.Equal(t, JITDump, m.Kind)
	return m
}

// sampleDump has a record of each kind, and one of an unknown kind.
func sampleDump(order binary.AppendByteOrder) *dumpWriter {
	w := newDumpWriter(order)
	w.load(0x1000, 0x20, 0, "plain")
	w.debug(0x2000, line{0x2008, "/src/a.kt", 11}, line{0x2000, "/src/a.kt", 10}, line{0x2010, "\xff", 12})
	w.record(9, []byte("of the future"))
	w.load(0x2000, 0x20, 1, "Lined.run()")
	w.move(0x2000, 0x3000, 0x20, 1)
	w.move(0x7777, 0x8000, 0x20, 1) // another address than it had
	w.record(4, make([]byte, 30))   // unwinding information
	w.load(0x1010, 0x20, 2, "JS:*later /srv/a.js:5:9")
	w.record(recordClose)
	w.load(0x9000, 0x20, 3, "after the end")
	return w
}

// TestJITDump: functions and lines in either byte order. The function that was written last
// applies; moved code keeps its lines.
func TestJITDump(t *testing.T) {
	for name, order := range map[string]binary.AppendByteOrder{"little-endian": binary.LittleEndian, "big-endian": binary.BigEndian} {
		t.Run(name, func(t *testing.T) {
			m := dumpOf(t, sampleDump(order).b)
			for addr, want := range map[uint64]Symbol{
				0x1000: {Function: "plain"},
				0x1010: {Function: "later", File: "/srv/a.js", Line: 5, Column: 9, StartLine: 5},
				0x2000: {Function: "Lined.run()", File: "/src/a.kt", Line: 10},
				0x2007: {Function: "Lined.run()", File: "/src/a.kt", Line: 10},
				0x2008: {Function: "Lined.run()", File: "/src/a.kt", Line: 11},
				0x201f: {Function: "Lined.run()", File: "/src/a.kt", Line: 12},
				0x3009: {Function: "Lined.run()", File: "/src/a.kt", Line: 11},
				0x2020: {}, 0xfff: {}, 0x8000: {}, 0x9000: {},
			} {
				got, ok := m.Find(addr)
				require.Equal(t, want.Function != "", ok, "0x%x", addr)
				require.Equal(t, want, got, "0x%x", addr)
			}
		})
	}
}

// TestTruncatedJITDump: the complete records of a truncated file are used.
func TestTruncatedJITDump(t *testing.T) {
	data := sampleDump(binary.LittleEndian).b
	for n := headerSize; n < len(data); n++ {
		m := dumpOf(t, data[:n])
		require.LessOrEqual(t, len(m.entries), 4)
		for _, e := range m.entries {
			require.Contains(t, []string{"plain", "Lined.run()", "JS:*later /srv/a.js:5:9"}, e.name)
		}
	}
}

// TestLinesOfV8: V8 adds the size of an ELF header to the addresses of lines, has no addresses for
// baseline code, and writes names of files that it has already freed.
func TestLinesOfV8(t *testing.T) {
	w := newDumpWriter(binary.LittleEndian)
	lines := func(code uint64, file string) {
		w.debug(code, line{code + 0x40, file, 20}, line{code + 0x50, file, 21})
	}
	lines(0x1000, "/a.js")
	w.load(0x1000, 0x20, 0, "JS:*hot /a.js:19:9")
	lines(0x2000, "/a.js")
	w.load(0x2000, 0x200, 1, "JS:^baseline /a.js:19:9")
	lines(0x3000, "\x9b\x94\x02")
	w.load(0x3000, 0x20, 2, "JS:*freed /a.js:19:9")
	w.debug(0x4000, line{0xeabccd8fcfffa480, "/a.js", 20})
	w.load(0x4000, 0x20, 3, "JS:*astray /a.js:19:9")
	lines(0x5000, " pa0") // a pointer that happens to be printable
	w.load(0x5000, 0x20, 4, "JS:+freed2 /a.js:19:9")
	lines(0x6000, "a.js")
	w.load(0x6000, 0x20, 5, "JS:*short a.js:19:9")
	lines(0x7000, "/b.js")
	w.load(0x7000, 0x20, 6, "LazyCompile:*old /a/b.js:19")
	lines(0x8000, "/a/b.js")
	w.load(0x8000, 0x20, 7, "LazyCompile:*old /a/b.js:19")
	lines(0x9000, "/a/b.js")
	w.load(0x9000, 0x200, 8, "Function:^oldBaseline /a/b.js:19")
	lines(0xa000, "/a/b.js")
	w.load(0xa000, 0x200, 9, "JS:*'specialized /a/b.js:19:9")
	m := dumpOf(t, w.b)
	for addr, line := range map[uint64]int{
		0x1000: 20, 0x100f: 20, 0x1010: 21, 0x2010: 19, 0x3000: 19, 0x4000: 19, 0x5000: 19, 0x6010: 21, 0x7000: 19,
		0x8000: 20, 0x8010: 21, 0x9048: 19, 0xa000: 20,
	} {
		f, ok := m.Find(addr)
		require.True(t, ok)
		require.Equal(t, line, f.Line, "0x%x", addr)
	}
}

// TestJITDumpErrors: a header of another version, or a truncated one, is an error with the name of
// the file.
func TestJITDumpErrors(t *testing.T) {
	good := newDumpWriter(binary.LittleEndian).b
	change := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	for want, data := range map[string][]byte{
		"version 7, want 1": change(4, 7), "header of 39 bytes": change(8, 39), "without a complete header": good[:20],
	} {
		m, err := Read(bytes.NewReader(data), "/tmp/jit-1.dump")
		require.Nil(t, m)
		require.ErrorContains(t, err, "/tmp/jit-1.dump: ")
		require.ErrorContains(t, err, want)
	}
}

// FuzzJITDump: reading returns an error and no map, or a map whose functions hold the addresses.
func FuzzJITDump(f *testing.F) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		data := sampleDump(order).b
		f.Add(data, uint64(0x2009))
		f.Add(data[:len(data)-50], uint64(0x1011))
	}
	for _, path := range fixtures(f, "dump.gz") {
		f.Add(testutil.Plain(f, path), uint64(0x1000))
	}
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		if len(data) < 4 {
			return
		}
		if _, ok := dumpMagic(data[:4]); !ok {
			copy(data, "DTiJ")
		}
		m, err := Read(bytes.NewReader(data), "jit.dump")
		if err != nil {
			require.Nil(t, m)
			return
		}
		i, ok := m.index.Find(addr)
		if !ok {
			return
		}
		e := m.entries[i]
		require.Less(t, addr-e.start, e.size)
		require.True(t, bytes.Contains(data, []byte(e.name)))
		f, _ := m.Find(addr)
		require.NotEmpty(t, f.Function)
		require.GreaterOrEqual(t, f.Line, 0)
	})
}
