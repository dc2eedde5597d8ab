package dwarf

import (
	stddwarf "debug/dwarf"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	lineBase   = -5
	lineRange  = 14
	opcodeBase = 13
)

// lineProgram4 is a line table of version 2 to 4 with directories "inc" and "/abs" and three files.
func lineProgram4(version uint16, program []byte) []byte {
	tables := bytesOf{}.str("inc").str("/abs").u8(0).
		str("unit.c").uleb(0, 0, 0).str("in.h").uleb(1, 0, 0).str("abs.h").uleb(2, 0, 0).u8(0)
	header := bytesOf{1}
	if version >= 4 {
		header = header.u8(1)
	}
	base := int8(lineBase)
	header = header.u8(1, uint8(base), lineRange, opcodeBase).u8(0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
	header = append(header, tables...)
	body := append(bytesOf{}.u16(version).u32(uint32(len(header))), header...)
	body = append(body, program...)
	return append(bytesOf{}.u32(uint32(len(body))), body...)
}

// lineProgram5 is the same in version 5, whose tables count from 0 and describe themselves.
func lineProgram5(program []byte) []byte {
	base := int8(lineBase)
	header := bytesOf{1, 1, 1, uint8(base), lineRange, opcodeBase}.u8(0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1).
		u8(1).uleb(1, uint64(formString)).uleb(3).str("/comp").str("inc").str("/abs").
		u8(3).uleb(1, uint64(formString), 2, uint64(formUdata), 5, uint64(formData16)).uleb(4)
	for i, name := range []string{"unit.c", "unit.c", "in.h", "abs.h"} {
		header = header.str(name).uleb(uint64(max(i-1, 0))).u8(make([]byte, 16)...)
	}
	body := append(bytesOf{}.u16(5).u8(8, 0).u32(uint32(len(header))), header...)
	body = append(body, program...)
	return append(bytesOf{}.u32(uint32(len(body))), body...)
}

func setAddress(a uint64) bytesOf { return bytesOf{0, 9, 2}.u64(a) }

var endSequence = bytesOf{0, 1, 1}

// randomProgram is one or more sequences, each with all standard opcodes and some special ones.
func randomProgram(random *rand.Rand) bytesOf {
	var p bytesOf
	start := uint64(0x1000)
	for range 1 + random.IntN(4) {
		p = append(p, setAddress(start)...).u8(3).sleb(1000) // lines stay positive
		for range random.IntN(60) {
			switch random.IntN(12) {
			case 0:
				p = p.u8(1)
			case 1:
				p = p.u8(2).uleb(random.Uint64N(40))
			case 2:
				p = p.u8(3).sleb(random.Int64N(50))
			case 3:
				p = p.u8(4).uleb(1 + random.Uint64N(3))
			case 4:
				p = p.u8(5).uleb(random.Uint64N(80))
			case 5:
				p = p.u8([]byte{6, 7, 8, 10, 11}[random.IntN(5)])
			case 6:
				p = p.u8(9).u16(uint16(random.IntN(300)))
			case 7:
				p = p.u8(12).uleb(random.Uint64N(9)) // set_isa: one operand
			case 8:
				p = p.u8(0, 3, 4, 5, 6) // an extended opcode that nobody knows
			default:
				p = p.u8(uint8(opcodeBase + random.IntN(256-opcodeBase)))
			}
		}
		p = append(p.u8(2).uleb(16), endSequence...)
		start += 0x10000
	}
	return p
}

// unitOf is a unit whose line table is at the start of a section.
func unitOf(version uint16, line []byte) (info []byte) {
	b := bytesOf{}.uleb(codeLines).str("unit.c").u64(0x1000, 0x100000).u32(0)
	info = unit4(b)
	if version == 5 {
		info = append(bytesOf{}.u32(uint32(len(b)+8)).u16(5).u8(unitCompile, 8).u32(0), b...)
	}
	return info
}

// TestLineProgramsAgainstDebugDwarf: random programs of each version give the position that the standard library's
// reader implies.
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

// stdPosition is a row of the standard library's reader.
type stdPosition struct {
	lo, hi       uint64
	file         string
	line, column int
}

func stdPositions(t *testing.T, info, line []byte) []stdPosition {
	t.Helper()
	std, err := stddwarf.New(testAbbrevs(), nil, nil, info, line, nil, nil, nil)
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

// compareLines compares at both ends of every row, and just outside them. It returns the number of addresses with a row.
func compareLines(t *testing.T, info, line []byte) (known int) {
	t.Helper()
	want := stdPositions(t, info, line)
	addrs := []uint64{0xfff}
	for _, p := range want {
		addrs = append(addrs, p.lo-1, p.lo, p.hi-1, p.hi)
	}
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	d := New(Sections{Info: info, Abbrev: testAbbrevs(), Line: line}, Options{})
	got := map[uint64]Frame{}
	require.NoError(t, d.Lookup(addrs, func(a uint64, frames []Frame) { got[a] = frames[0] }))
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

// TestFileNames: compilation directory, include directory and name are joined; nothing is cleaned.
func TestFileNames(t *testing.T) {
	for name, c := range map[string]struct {
		compDir string
		dirs    []string
		file    lineFile
		want    string
	}{
		"absolute":                       {"/comp", []string{"/comp"}, lineFile{"/a.c", 0}, "/a.c"},
		"in the compilation directory":   {"/comp", []string{"/comp"}, lineFile{"a.c", 0}, "/comp/a.c"},
		"in a relative directory":        {"/comp", []string{"/comp", "inc"}, lineFile{"a.h", 1}, "/comp/inc/a.h"},
		"in an absolute directory":       {"/comp", []string{"/comp", "/usr/include"}, lineFile{"a.h", 1}, "/usr/include/a.h"},
		"dots are kept":                  {"/comp", []string{"/comp", "../x/./y"}, lineFile{"a.h", 1}, "/comp/../x/./y/a.h"},
		"relative compilation directory": {"./malloc", []string{"./malloc"}, lineFile{"malloc.c", 0}, "./malloc/malloc.c"},
		"no compilation directory":       {"", []string{""}, lineFile{"a.c", 0}, "a.c"},
		"directory out of the table":     {"/comp", []string{"/comp"}, lineFile{"a.c", 9}, "/comp/a.c"},
		"a slash at the end":             {"/comp/", []string{"/comp/"}, lineFile{"a.c", 0}, "/comp/a.c"},
		"no name":                        {"/comp", []string{"/comp"}, lineFile{"", 0}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			table := lineTable{compDir: c.compDir, dirs: c.dirs, files: []lineFile{c.file}}
			require.Equal(t, c.want, table.fileName(0))
			require.Empty(t, table.fileName(1), "a file out of the table")
		})
	}
}

// TestRepeatedDirectories: directory 0 of DWARF 5 is the compilation directory again. Other tools join the two if they are
// relative; an absolute one, and the tables of DWARF 4, which have no such entry, give no occasion.
func TestRepeatedDirectories(t *testing.T) {
	for _, c := range []struct {
		compDir string
		version uint16
		want    string
	}{
		{"./malloc", 5, "./malloc/./malloc/malloc.c"},
		{"./malloc", 4, "./malloc/malloc.c"},
		{"/malloc", 5, "/malloc/malloc.c"},
	} {
		table := lineTable{version: c.version, compDir: c.compDir, dirs: []string{c.compDir}, files: []lineFile{{name: "malloc.c"}}, repeat: true}
		require.Equal(t, c.want, table.path(0))
		table.repeat = false
		require.Equal(t, c.compDir+"/malloc.c", table.path(0))
	}
}

// rowsOf runs a program of version 4 and gives the line at each address.
func rowsOf(t *testing.T, program []byte, addrs ...uint64) (lines []uint64, err error) {
	t.Helper()
	line := lineProgram4(4, program)
	d := New(Sections{Info: unitOf(4, line), Abbrev: testAbbrevs(), Line: line}, Options{})
	table, err := d.units[0].lineTable()
	require.NoError(t, err)
	rows, err := table.rows(addrs)
	for _, r := range rows {
		if !r.ok {
			r.line = 0
		}
		lines = append(lines, r.line)
	}
	return lines, err
}

// sequence has line 7 in [start, start+size).
func sequence(start, size uint64) bytesOf {
	p := append(setAddress(start), 3, 6, 1) // advance_line 6, copy
	return append(p.u8(2).uleb(size), endSequence...)
}

func TestSequences(t *testing.T) {
	for name, c := range map[string]struct {
		program bytesOf
		want    []uint64 // at 0, 1, 0x1000, 0x100f, 0x1010
	}{
		"one":                         {sequence(0x1000, 0x10), []uint64{0, 0, 7, 7, 0}},
		"out of order":                {append(sequence(0x5000, 4), sequence(0x1000, 0x10)...), []uint64{0, 0, 7, 7, 0}},
		"dropped code at 0":           {sequence(0, 0x2000), []uint64{0, 0, 0, 0, 0}},
		"dropped code at 1":           {sequence(1, 0x2000), []uint64{0, 0, 0, 0, 0}},
		"no end: no limit":            {append(setAddress(0x1000), 3, 6, 1), []uint64{0, 0, 0, 0, 0}},
		"rows at one address: last":   {append(append(setAddress(0x1000), 3, 1, 1, 3, 5, 1, 2, 0x10), endSequence...), []uint64{0, 0, 7, 7, 0}},
		"empty: nothing":              {append(append(setAddress(0x1000), 3, 6, 1), endSequence...), []uint64{0, 0, 0, 0, 0}},
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
		d := New(Sections{Info: unitOf(4, cut), Abbrev: testAbbrevs(), Line: cut}, Options{})
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
			d := New(Sections{Info: unitOf(4, bad), Abbrev: testAbbrevs(), Line: bad}, Options{})
			_, err := lookupAll(d, 0x1000, 0x1010)
			require.ErrorContains(t, err, ".debug_line+0x0: ")
		})
	}
	_, err := rowsOf(t, bytesOf{2}.u8(0xff), 0x1000)
	require.ErrorContains(t, err, "runs past its end")
}

// TestSharedLineProgramsAreBounded: units without ranges that all refer to one program do not run it each time.
func TestSharedLineProgramsAreBounded(t *testing.T) {
	abbrevs := bytesOf{}.abbreviation(1, tagCompileUnit, false, uint64(attrStmtList), uint64(formSecOffset)).uleb(0)
	var info bytesOf
	for range 10_000 {
		info = append(info, unit4(bytesOf{}.uleb(1).u32(0))...)
	}
	program := append(bytesOf{}, make([]byte, 100_000)...)
	for i := range program {
		program[i] = 6 // negate_stmt
	}
	line := lineProgram4(4, program)
	d := New(Sections{Info: info, Abbrev: abbrevs, Line: line}, Options{})
	_, err := lookupAll(d, 0x1000, 0x1001)
	require.ErrorContains(t, err, "share line")
	require.Negative(t, d.budget.lines.Load())
}

// TestOverlappingSequencesAreBounded: sequences that each cover all addresses do not cost their product.
func TestOverlappingSequencesAreBounded(t *testing.T) {
	var program bytesOf
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
