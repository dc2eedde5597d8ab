package dwarf

import (
	stddwarf "debug/dwarf"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/stretchr/testify/require"
)

const (
	lineBase   = -5
	lineRange  = 14
	opcodeBase = 13
)

// lineProgram4 returns a line table of version 2 to 4 with directories "inc" and "/abs" and three
// files.
func lineProgram4(version uint16, program []byte) []byte {
	tables := dwarftest.Bytes{}.Str("inc").Str("/abs").U8(0).
		Str("unit.c").Uleb(0, 0, 0).Str("in.h").Uleb(1, 0, 0).Str("abs.h").Uleb(2, 0, 0).U8(0)
	header := dwarftest.Bytes{1}
	if version >= 4 {
		header = header.U8(1)
	}
	base := int8(lineBase)
	header = header.U8(1, uint8(base), lineRange, opcodeBase).U8(0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
	header = append(header, tables...)
	body := append(dwarftest.Bytes{}.U16(version).U32(uint32(len(header))), header...)
	body = append(body, program...)
	return append(dwarftest.Bytes{}.U32(uint32(len(body))), body...)
}

// lineProgram5 returns the same table in version 5.
func lineProgram5(program []byte) []byte {
	base := int8(lineBase)
	header := dwarftest.Bytes{1, 1, 1, uint8(base), lineRange, opcodeBase}.U8(0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1).
		U8(1).Uleb(1, uint64(encoding.FormString)).Uleb(3).Str("/comp").Str("inc").Str("/abs").
		U8(3).Uleb(1, uint64(encoding.FormString), 2, uint64(encoding.FormUdata), 5, uint64(encoding.FormData16)).Uleb(4)
	for i, name := range []string{"unit.c", "unit.c", "in.h", "abs.h"} {
		header = header.Str(name).Uleb(uint64(max(i-1, 0))).U8(make([]byte, 16)...)
	}
	body := append(dwarftest.Bytes{}.U16(5).U8(8, 0).U32(uint32(len(header))), header...)
	body = append(body, program...)
	return append(dwarftest.Bytes{}.U32(uint32(len(body))), body...)
}

func setAddress(a uint64) dwarftest.Bytes { return dwarftest.Bytes{0, 9, 2}.U64(a) }

var endSequence = dwarftest.Bytes{0, 1, 1}

// randomProgram returns one or more sequences of standard, special and unknown opcodes.
func randomProgram(random *rand.Rand) dwarftest.Bytes {
	var p dwarftest.Bytes
	start := uint64(0x1000)
	for range 1 + random.IntN(4) {
		p = append(p, setAddress(start)...).U8(3).Sleb(1000) // keeps lines positive
		for range random.IntN(60) {
			switch random.IntN(12) {
			case 0:
				p = p.U8(1)
			case 1:
				p = p.U8(2).Uleb(random.Uint64N(40))
			case 2:
				p = p.U8(3).Sleb(random.Int64N(50))
			case 3:
				p = p.U8(4).Uleb(1 + random.Uint64N(3))
			case 4:
				p = p.U8(5).Uleb(random.Uint64N(80))
			case 5:
				p = p.U8([]byte{6, 7, 8, 10, 11}[random.IntN(5)])
			case 6:
				p = p.U8(9).U16(uint16(random.IntN(300)))
			case 7:
				p = p.U8(12).Uleb(random.Uint64N(9)) // set_isa: one operand
			case 8:
				p = p.U8(0, 3, 4, 5, 6) // an unknown extended opcode
			default:
				p = p.U8(uint8(opcodeBase + random.IntN(256-opcodeBase)))
			}
		}
		p = append(p.U8(2).Uleb(16), endSequence...)
		start += 0x10000
	}
	return p
}

// unitOf returns a unit whose line table is at the start of the section.
func unitOf(version uint16, line []byte) (info []byte) {
	b := dwarftest.Bytes{}.Uleb(dwarftest.CodeLines).Str("unit.c").U64(0x1000, 0x100000).U32(0)
	info = dwarftest.Unit4(b)
	if version == 5 {
		info = append(dwarftest.Bytes{}.U32(uint32(len(b)+8)).U16(5).U8(unitCompile, 8).U32(0), b...)
	}
	return info
}

// TestLineProgramsAgainstDebugDwarf: random programs of each version have the same rows as in Go's
// debug/dwarf.
func TestLineProgramsAgainstDebugDwarf(t *testing.T) {
	for version := uint16(2); version <= 5; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			known := 0
			for seed := range uint64(60) {
				program := randomProgram(rand.New(rand.NewPCG(seed, uint64(version))))
				line := lineProgram4(version, program)
				if version == 5 {
					line = lineProgram5(program)
				}
				known += compareLines(t, unitOf(version, line), line)
			}
			require.Greater(t, known, 1000)
		})
	}
}

// stdPosition is a row of Go's debug/dwarf.
type stdPosition struct {
	lo, hi       uint64
	file         string
	line, column int
}

func stdPositions(t *testing.T, info, line []byte) []stdPosition {
	t.Helper()
	std, err := stddwarf.New(dwarftest.Abbrevs(), nil, nil, info, line, nil, nil, nil)
	require.NoError(t, err)
	cu, err := std.Reader().Next()
	require.NoError(t, err)
	r, err := std.LineReader(cu)
	require.NoError(t, err)
	var out []stdPosition
	var last, e stddwarf.LineEntry
	open := false
	for {
		err := r.Next(&e)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if open && e.Address > last.Address {
			out = append(out, stdPosition{last.Address, e.Address, last.File.Name, last.Line, last.Column})
		}
		open, last = !e.EndSequence, e
	}
}

// compareLines compares at both ends of every row, and just outside them. It returns the number of
// addresses with a row.
func compareLines(t *testing.T, info, line []byte) (known int) {
	t.Helper()
	want := stdPositions(t, info, line)
	addrs := []uint64{0xfff}
	for _, p := range want {
		addrs = append(addrs, p.lo-1, p.lo, p.hi-1, p.hi)
	}
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	d := New(Sections{Info: info, Abbrev: dwarftest.Abbrevs(), Line: line}, Options{})
	got := map[uint64]Answer{}
	require.NoError(t, d.Lookup(addrs, func(a uint64, frames []Answer) { got[a] = frames[0] }))
	for _, a := range addrs {
		i := slices.IndexFunc(want, func(p stdPosition) bool { return p.lo <= a && a < p.hi })
		frame, ok := got[a]
		require.Equal(t, i >= 0, ok, "address %#x has a row", a)
		if !ok {
			continue
		}
		known++
		p := want[i]
		require.Equal(t, stdPosition{p.lo, p.hi, p.file, p.line, p.column},
			stdPosition{p.lo, p.hi, frame.File, frame.Line, frame.Column}, "address %#x", a)
	}
	return known
}

// rowsOf runs a program of version 4 and returns the line at each address.
func rowsOf(t *testing.T, program []byte, addrs ...uint64) (lines []uint64, err error) {
	t.Helper()
	line := lineProgram4(4, program)
	d := New(Sections{Info: unitOf(4, line), Abbrev: dwarftest.Abbrevs(), Line: line}, Options{})
	table, err := d.units[0].lineTable()
	require.NoError(t, err)
	rows, err := table.Rows(addrs)
	for _, r := range rows {
		if !r.OK {
			r.Line = 0
		}
		lines = append(lines, r.Line)
	}
	return lines, err
}

// sequence returns a sequence with line 7 in [start, start+size).
func sequence(start, size uint64) dwarftest.Bytes {
	p := append(setAddress(start), 3, 6, 1) // advance_line 6, copy
	return append(p.U8(2).Uleb(size), endSequence...)
}

func TestSequences(t *testing.T) {
	for name, c := range map[string]struct {
		program dwarftest.Bytes
		want    []uint64 // at 0, 1, 0x1000, 0x100f, 0x1010
	}{
		"one":                         {sequence(0x1000, 0x10), []uint64{0, 0, 7, 7, 0}},
		"out of order":                {append(sequence(0x5000, 4), sequence(0x1000, 0x10)...), []uint64{0, 0, 7, 7, 0}},
		"dropped code at 0":           {sequence(0, 0x2000), []uint64{0, 0, 0, 0, 0}},
		"dropped code at 1":           {sequence(1, 0x2000), []uint64{0, 0, 0, 0, 0}},
		"no end_sequence":             {append(setAddress(0x1000), 3, 6, 1), []uint64{0, 0, 0, 0, 0}},
		"several rows at an address":  {append(append(setAddress(0x1000), 3, 1, 1, 3, 5, 1, 2, 0x10), endSequence...), []uint64{0, 0, 7, 7, 0}},
		"empty":                       {append(append(setAddress(0x1000), 3, 6, 1), endSequence...), []uint64{0, 0, 0, 0, 0}},
		"overlapping: the first wins": {append(sequence(0x1000, 0x10), append(append(setAddress(0x1000), 3, 1, 1, 2, 0x20), endSequence...)...), []uint64{0, 0, 7, 7, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rowsOf(t, c.program, 0, 1, 0x1000, 0x100f, 0x1010)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestMalformedLineTables(t *testing.T) {
	whole := lineProgram4(4, sequence(0x1000, 0x10))
	for n := range len(whole) - 1 {
		cut := slices.Clone(whole[:n])
		d := New(Sections{Info: unitOf(4, cut), Abbrev: dwarftest.Abbrevs(), Line: cut}, Options{})
		_, err := lookupAll(d, 0x1000, 0x1010)
		require.ErrorContains(t, err, ".debug_line+0x0: a line table is longer than its section", "%d bytes", n)
	}
	for name, edit := range map[string]func([]byte){
		"version 1":            func(b []byte) { b[4] = 1 },
		"version 6":            func(b []byte) { b[4] = 6 },
		"line range 0":         func(b []byte) { b[14] = 0 },
		"header length beyond": func(b []byte) { b[6] = 0xff },
	} {
		t.Run(name, func(t *testing.T) {
			bad := slices.Clone(whole)
			edit(bad)
			d := New(Sections{Info: unitOf(4, bad), Abbrev: dwarftest.Abbrevs(), Line: bad}, Options{})
			_, err := lookupAll(d, 0x1000, 0x1010)
			require.ErrorContains(t, err, ".debug_line+0x0: ")
		})
	}
	_, err := rowsOf(t, dwarftest.Bytes{2}.U8(0xff), 0x1000)
	require.ErrorContains(t, err, "runs past its end")
}

// TestSharedLineProgramsAreLimited: thousands of units that refer to one program run it a few
// times.
func TestSharedLineProgramsAreLimited(t *testing.T) {
	abbrevs := dwarftest.Bytes{}.Abbreviation(1, encoding.TagCompileUnit, false, dwarftest.Attr(encoding.AttrStmtList, encoding.FormSecOffset)).Uleb(0)
	var info dwarftest.Bytes
	for range 10_000 {
		info = append(info, dwarftest.Unit4(dwarftest.Bytes{}.Uleb(1).U32(0))...)
	}
	program := append(dwarftest.Bytes{}, make([]byte, 100_000)...)
	for i := range program {
		program[i] = 6 // negate_stmt
	}
	line := lineProgram4(4, program)
	d := New(Sections{Info: info, Abbrev: abbrevs, Line: line}, Options{})
	_, err := lookupAll(d, 0x1000, 0x1001)
	require.ErrorContains(t, err, "share line")
	require.Negative(t, d.budget.lines.Load())
}

// TestOverlappingSequencesAreLimited: thousands of sequences that each cover all addresses are an
// error.
func TestOverlappingSequencesAreLimited(t *testing.T) {
	var program dwarftest.Bytes
	for range 2000 {
		program = append(program, sequence(0x1000, 0x10000)...)
	}
	addrs := make([]uint64, 0x8000)
	for i := range addrs {
		addrs[i] = 0x1000 + uint64(i)
	}
	_, err := rowsOf(t, program, addrs...)
	require.ErrorContains(t, err, "sequences overlap")
}
