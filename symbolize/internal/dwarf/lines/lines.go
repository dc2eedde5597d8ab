// Package lines reads line number tables of DWARF 2 to 5: which file, line and column an address belongs to.
package lines

import (
	"path"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// Table is the header of a line number program.
type Table struct {
	Source
	version  uint16
	program  encoding.Cursor
	minInst  uint64
	lineBase int64
	lineMax  uint64 // line_range
	opcodes  uint8  // opcode_base
	lengths  []uint8
	dirs     []string
	files    []file
	paths    []string // by file: the path, or "" if it has not been joined yet
}

// Source is where a line table is, and what its reader needs of the unit that refers to it.
type Source struct {
	// Section is .debug_line, and Offset that of the table.
	Section []byte
	Offset  uint64
	// Shape is that of the unit.
	Shape encoding.Shape
	// CompDir is the compilation directory. Repeat repeats it: see Options.RepeatDir of package dwarf.
	CompDir string
	Repeat  bool
	// Text returns the string that a value refers to.
	Text func(encoding.Value) string
	// Spend subtracts a number of steps from what a lookup may read, and reports whether that was left.
	Spend func(steps int) bool
	// MaxVisits returns how many comparisons a lookup of a number of addresses may make.
	MaxVisits func(addrs int) int
	// Fault returns an error about an offset of the section.
	Fault func(offset uint64, msg string) error
}

// SpendAtOnce is the number of steps that are subtracted together, because goroutines share what is left.
const SpendAtOnce = 1 << 10

// file is a file of a line table.
type file struct {
	name string
	dir  uint64 // index in Table.dirs
}

// Row is the source position of an address. OK reports whether there is one.
type Row struct {
	File, Line, Column uint64
	OK                 bool
}

// Limits of a line table.
const (
	maxLineEntries = 1 << 20
	maxLineFormats = 64
)

// Read reads the header of a table (DWARF 5 section 6.2.4).
func Read(source Source) (*Table, error) {
	section := source.Section
	fault := func(msg string) error { return source.Fault(source.Offset, msg) }
	c := encoding.At(section, source.Offset)
	t := &Table{Source: source}
	length := uint64(c.U32())
	t.Shape.Is64 = length == 0xffffffff
	if t.Shape.Is64 {
		length = c.U64()
	}
	if c.Failed || length > uint64(len(section))-c.Off {
		return nil, fault("a line table is longer than its section")
	}
	c.Data = section[:c.Off+length]
	if t.version = c.U16(); t.version < 2 || t.version > 5 {
		return nil, fault("a line table of unknown version")
	}
	if t.version >= 5 {
		t.Shape.AddrSize = c.U8()
		c.U8() // segment selector size
	}
	headerLength := c.Word(t.Shape.Is64)
	begin := c.Off + headerLength
	t.header(&c)
	if t.version >= 5 {
		t.tables5(&c)
	} else {
		t.tables4(&c)
	}
	if !t.Spend(int(c.Off - source.Offset)) {
		return nil, fault("too many units share line tables")
	}
	if c.Failed || begin < c.Off-headerLength || begin > uint64(len(c.Data)) || t.lineMax == 0 {
		return nil, fault("a malformed line table header")
	}
	t.program = encoding.Cursor{Data: c.Data, Off: begin}
	return t, nil
}

// header reads the fields from minimum_instruction_length to standard_opcode_lengths.
func (t *Table) header(c *encoding.Cursor) {
	t.minInst = uint64(c.U8())
	if t.version >= 4 {
		c.U8() // maximum_operations_per_instruction: more than 1 for VLIW only
	}
	c.U8() // default_is_stmt: rows that do not begin a statement are used, too
	t.lineBase = int64(int8(c.U8()))
	t.lineMax = uint64(c.U8())
	t.opcodes = c.U8()
	for i := 1; i < int(t.opcodes); i++ {
		t.lengths = append(t.lengths, c.U8())
	}
}

// tables4 reads the directories and files of versions 2 to 4, whose indices begin at 1 (DWARF 4
// section 6.2.4).
func (t *Table) tables4(c *encoding.Cursor) {
	t.dirs = append(t.dirs, t.CompDir)
	for len(t.dirs) < maxLineEntries {
		dir := c.String()
		if dir == "" {
			break
		}
		t.dirs = append(t.dirs, dir)
	}
	t.files = append(t.files, file{})
	for len(t.files) < maxLineEntries {
		name := c.String()
		if name == "" {
			return
		}
		t.files = append(t.files, file{name, c.Uleb()})
		c.Uleb() // modification time
		c.Uleb() // size
	}
}

// tables5 reads the directories and files of version 5, which describe their own format. Indices
// begin at 0.
func (t *Table) tables5(c *encoding.Cursor) {
	t.entries5(c, func(f file) { t.dirs = append(t.dirs, f.name) })
	t.entries5(c, func(f file) { t.files = append(t.files, f) })
}

// entries5 reads the entries of one table of version 5 (DWARF 5 section 6.2.4.1).
func (t *Table) entries5(c *encoding.Cursor, add func(file)) {
	type format struct {
		content uint64
		form    encoding.Form
	}
	var formats []format
	n := int(c.U8())
	if n > maxLineFormats {
		c.Failed = true
	}
	for range n {
		formats = append(formats, format{c.Uleb(), encoding.Form(c.Uleb())})
	}
	count := c.Uleb()
	if count > maxLineEntries {
		c.Failed = true
	}
	for i := uint64(0); i < count && !c.Failed; i++ {
		var f file
		for _, fm := range formats {
			v := t.value(c, fm.form)
			switch fm.content {
			case 1: // DW_LNCT_path
				f.name = v.text
			case 2: // DW_LNCT_directory_index
				f.dir = v.u
			}
		}
		add(f)
	}
}

type lineValue struct {
	text string
	u    uint64
}

func (t *Table) value(c *encoding.Cursor, f encoding.Form) lineValue {
	if f == encoding.FormString {
		return lineValue{text: c.String()}
	}
	v := t.Shape.Read(c, f, 0)
	return lineValue{u: v.U, text: t.Text(v)}
}

// FileName returns the path of a file. Calls with the same index return the same string.
func (t *Table) FileName(index uint64) string {
	if index >= uint64(len(t.files)) {
		return ""
	}
	if t.paths == nil {
		t.paths = make([]string, len(t.files))
	}
	if t.paths[index] == "" {
		t.paths[index] = t.path(index)
	}
	return t.paths[index]
}

// path joins the compilation directory, the include directory and the name of a file.
func (t *Table) path(index uint64) string {
	f := t.files[index]
	if f.name == "" || path.IsAbs(f.name) {
		return f.name
	}
	dir := ""
	if f.dir < uint64(len(t.dirs)) {
		dir = t.dirs[f.dir]
	}
	name := join(dir, f.name)
	if repeated := dir == t.CompDir; !path.IsAbs(name) && (!repeated || (t.Repeat && t.version >= 5)) {
		name = join(t.CompDir, name)
	}
	return name
}

// join puts a slash between two parts. It does not clean the result.
func join(dir, name string) string {
	switch {
	case dir == "":
		return name
	case strings.HasSuffix(dir, "/"):
		return dir + name
	}
	return dir + "/" + name
}

// machine is the state of a line number program (DWARF 5 section 6.2.2).
type machine struct {
	addr               uint64
	file, line, column uint64
}

// Rows runs the program (DWARF 5 section 6.2.5) and returns the position of each of the sorted
// addresses: that of the last row at or before the address in the sequence that holds it.
func (t *Table) Rows(addrs []uint64) ([]Row, error) {
	r := rowFinder{addrs: addrs, rows: make([]Row, len(addrs))}
	c := t.program
	m := machine{file: 1, line: 1}
	for n := 0; c.Off < uint64(len(c.Data)); n++ {
		overspent := n%SpendAtOnce == SpendAtOnce-1 && !t.Spend(SpendAtOnce)
		if overspent || r.visits > t.MaxVisits(len(addrs)) {
			return r.rows, t.Fault(c.Off, "too many units share line programs, or sequences overlap")
		}
		opcode := c.U8()
		if opcode >= t.opcodes {
			t.special(&m, opcode)
			r.row(m)
			continue
		}
		t.standard(&c, &m, &r, opcode)
		if c.Failed {
			return r.rows, t.Fault(c.Off, "a line program runs past its end")
		}
	}
	return r.rows, nil
}

// special runs a special opcode (DWARF 5 section 6.2.5.1).
func (t *Table) special(m *machine, opcode uint8) {
	adjusted := uint64(opcode - t.opcodes)
	m.addr += adjusted / t.lineMax * t.minInst
	m.line += uint64(t.lineBase + int64(adjusted%t.lineMax))
}

// standard runs a standard opcode (DWARF 5 section 6.2.5.2).
func (t *Table) standard(c *encoding.Cursor, m *machine, r *rowFinder, opcode uint8) {
	switch opcode {
	case 0x00:
		t.extended(c, m, r)
	case 0x01: // copy
		r.row(*m)
	case 0x02: // advance_pc
		m.addr += c.Uleb() * t.minInst
	case 0x03: // advance_line
		m.line += uint64(c.Sleb())
	case 0x04: // set_file
		m.file = c.Uleb()
	case 0x05: // set_column
		m.column = c.Uleb()
	case 0x06, 0x07, 0x0a, 0x0b: // negate_stmt, basic_block, prologue_end, epilogue_begin
	case 0x08: // const_add_pc
		m.addr += uint64(255-t.opcodes) / t.lineMax * t.minInst
	case 0x09: // fixed_advance_pc
		m.addr += uint64(c.U16())
	default: // unknown: the header has the number of operands
		for range t.lengths[opcode-1] {
			c.Uleb()
		}
	}
}

// extended runs an extended opcode (DWARF 5 section 6.2.5.3).
func (t *Table) extended(c *encoding.Cursor, m *machine, r *rowFinder) {
	length := c.Uleb()
	end := c.Off + length
	if c.Failed || length == 0 || end < c.Off || end > uint64(len(c.Data)) {
		c.Failed = length != 0 || c.Failed
		return
	}
	switch c.U8() {
	case 0x01: // end_sequence
		r.end(m.addr)
		*m = machine{file: 1, line: 1}
	case 0x02: // set_address
		m.addr = c.Uint(uint8(length - 1))
	}
	if !c.Failed {
		c.Off = end
	}
}

// rowFinder takes the rows of a program in their order and keeps those of the addresses of a
// lookup. Addresses do not decrease within a sequence.
type rowFinder struct {
	addrs []uint64
	rows  []Row

	open  bool // within a sequence
	start uint64
	last  machine
	// visits counts comparisons of a row with an address. Without overlapping sequences, there is
	// one for each address at most.
	visits int
}

// row appends a row to the sequence.
func (r *rowFinder) row(m machine) {
	if !r.open {
		r.open, r.start = true, m.addr
	} else if m.addr > r.last.addr {
		r.answer(r.last, m.addr)
	}
	r.last = m
}

// end ends the sequence at an address.
func (r *rowFinder) end(addr uint64) {
	if r.open && addr > r.last.addr {
		r.answer(r.last, addr)
	}
	r.open = false
}

// answer sets the row of the addresses in [m.addr, limit). It ignores sequences that start at 0 or
// 1, because the linker dropped their code. Where sequences overlap, the first one wins.
func (r *rowFinder) answer(m machine, limit uint64) {
	if r.start <= 1 {
		return
	}
	i, _ := slices.BinarySearch(r.addrs, m.addr)
	for ; i < len(r.addrs) && r.addrs[i] < limit; i++ {
		r.visits++
		if !r.rows[i].OK {
			r.rows[i] = Row{m.file, m.line, m.column, true}
		}
	}
}
