package dwarf

import (
	"path"
	"slices"
	"strings"
)

// lineTable is the header of a unit's line number program.
type lineTable struct {
	version  uint16
	shape    unitShape
	data     *Data
	program  cursor
	minInst  uint64
	lineBase int64
	lineMax  uint64 // line_range
	opcodes  uint8  // opcode_base
	lengths  []uint8
	dirs     []string
	files    []lineFile
	compDir  string
	repeat   bool     // see Options.RepeatDir
	paths    []string // of the files that have been asked for
}

type lineFile struct {
	name string
	dir  uint64
}

// row is the position that a line program gives to an address.
type row struct {
	file, line, column uint64
	ok                 bool
}

// Caps of a line table.
const (
	maxLineEntries = 1 << 20
	maxLineFormats = 64
)

// lineTable reads the header at the unit's DW_AT_stmt_list.
func (u *unit) lineTable() (*lineTable, error) {
	section := u.data.sec.Line
	fault := func(msg string) error { return &FormatError{".debug_line", u.lineOff, msg} }
	c := at(section, u.lineOff)
	t := &lineTable{shape: u.unitShape, data: u.data, compDir: u.compDir, repeat: u.data.repeat}
	length := uint64(c.u32())
	t.shape.is64 = length == 0xffffffff
	if t.shape.is64 {
		length = c.u64()
	}
	if c.failed || length > uint64(len(section))-c.off {
		return nil, fault("a line table is longer than its section")
	}
	c.b = section[:c.off+length]
	if t.version = c.u16(); t.version < 2 || t.version > 5 {
		return nil, fault("a line table of unknown version")
	}
	if t.version >= 5 {
		t.shape.addrSize = c.u8()
		c.u8() // segment selector size
	}
	headerLength := c.word(t.shape.is64)
	begin := c.off + headerLength
	t.header(&c)
	if t.version >= 5 {
		t.tables5(u, &c)
	} else {
		t.tables4(&c)
	}
	if !spend(&t.data.budget.lines, int(c.off-u.lineOff)) {
		return nil, fault("too many units share line tables")
	}
	if c.failed || begin < c.off-headerLength || begin > uint64(len(c.b)) || t.lineMax == 0 {
		return nil, fault("a malformed line table header")
	}
	t.program = cursor{b: c.b, off: begin}
	return t, nil
}

func (t *lineTable) header(c *cursor) {
	t.minInst = uint64(c.u8())
	if t.version >= 4 {
		c.u8() // maximum operations per instruction: VLIW only
	}
	c.u8() // default_is_stmt: rows count either way
	t.lineBase = int64(int8(c.u8()))
	t.lineMax = uint64(c.u8())
	t.opcodes = c.u8()
	for i := 1; i < int(t.opcodes); i++ {
		t.lengths = append(t.lengths, c.u8())
	}
}

// tables4 reads the directories and files of version 2 to 4, which count from 1.
func (t *lineTable) tables4(c *cursor) {
	t.dirs = append(t.dirs, t.compDir)
	for len(t.dirs) < maxLineEntries {
		dir := c.cstring()
		if dir == "" {
			break
		}
		t.dirs = append(t.dirs, dir)
	}
	t.files = append(t.files, lineFile{})
	for len(t.files) < maxLineEntries {
		name := c.cstring()
		if name == "" {
			return
		}
		t.files = append(t.files, lineFile{name, c.uleb()})
		c.uleb() // modification time
		c.uleb() // size
	}
}

// tables5 reads the self-describing tables of version 5, which count from 0.
func (t *lineTable) tables5(u *unit, c *cursor) {
	t.entries5(u, c, func(f lineFile) { t.dirs = append(t.dirs, f.name) })
	t.entries5(u, c, func(f lineFile) { t.files = append(t.files, f) })
}

func (t *lineTable) entries5(u *unit, c *cursor, add func(lineFile)) {
	type format struct {
		content uint64
		form    form
	}
	var formats []format
	n := int(c.u8())
	if n > maxLineFormats {
		c.failed = true
	}
	for range n {
		formats = append(formats, format{c.uleb(), form(c.uleb())})
	}
	count := c.uleb()
	if count > maxLineEntries {
		c.failed = true
	}
	for i := uint64(0); i < count && !c.failed; i++ {
		var f lineFile
		for _, fm := range formats {
			v := t.value(u, c, fm.form)
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

func (t *lineTable) value(u *unit, c *cursor, f form) lineValue {
	if f == formString {
		return lineValue{text: c.cstring()}
	}
	v := t.shape.read(c, f, 0)
	return lineValue{u: v.u, text: u.str(v)}
}

// fileName is a file's path. Equal ones are one string.
func (t *lineTable) fileName(index uint64) string {
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

// path joins a file's path: the compilation directory, the include directory, the name.
func (t *lineTable) path(index uint64) string {
	f := t.files[index]
	if f.name == "" || path.IsAbs(f.name) {
		return f.name
	}
	dir := ""
	if f.dir < uint64(len(t.dirs)) {
		dir = t.dirs[f.dir]
	}
	name := join(dir, f.name)
	if repeated := dir == t.compDir; !path.IsAbs(name) && (!repeated || (t.repeat && t.version >= 5)) {
		name = join(t.compDir, name)
	}
	return name
}

// join puts a slash between two parts and leaves all else as it is.
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

// rows runs the program and gives each of the sorted addresses its position:
// that of the last row at or before it within the sequence that holds it.
func (t *lineTable) rows(addrs []uint64) ([]row, error) {
	r := rowFinder{addrs: addrs, rows: make([]row, len(addrs))}
	c := t.program
	m := machine{file: 1, line: 1}
	for n := 0; c.off < uint64(len(c.b)); n++ {
		if (n%spendAtOnce == spendAtOnce-1 && !spend(&t.data.budget.lines, spendAtOnce)) || r.visits > budgetFloor+budgetTimes*len(addrs) {
			return r.rows, &FormatError{".debug_line", c.off, "too many units share line programs, or sequences overlap"}
		}
		opcode := c.u8()
		if opcode >= t.opcodes {
			t.special(&m, opcode)
			r.row(m)
			continue
		}
		t.standard(&c, &m, &r, opcode)
		if c.failed {
			return r.rows, &FormatError{".debug_line", c.off, "a line program runs past its end"}
		}
	}
	return r.rows, nil
}

func (t *lineTable) special(m *machine, opcode uint8) {
	adjusted := uint64(opcode - t.opcodes)
	m.addr += adjusted / t.lineMax * t.minInst
	m.line += uint64(t.lineBase + int64(adjusted%t.lineMax))
}

func (t *lineTable) standard(c *cursor, m *machine, r *rowFinder, opcode uint8) {
	switch opcode {
	case 0x00:
		t.extended(c, m, r)
	case 0x01: // copy
		r.row(*m)
	case 0x02: // advance_pc
		m.addr += c.uleb() * t.minInst
	case 0x03: // advance_line
		m.line += uint64(c.sleb())
	case 0x04: // set_file
		m.file = c.uleb()
	case 0x05: // set_column
		m.column = c.uleb()
	case 0x06, 0x07, 0x0a, 0x0b: // negate_stmt, basic_block, prologue_end, epilogue_begin
	case 0x08: // const_add_pc
		m.addr += uint64(255-t.opcodes) / t.lineMax * t.minInst
	case 0x09: // fixed_advance_pc
		m.addr += uint64(c.u16())
	default: // unknown: its number of operands is in the header
		for range t.lengths[opcode-1] {
			c.uleb()
		}
	}
}

func (t *lineTable) extended(c *cursor, m *machine, r *rowFinder) {
	length := c.uleb()
	end := c.off + length
	if c.failed || length == 0 || end < c.off || end > uint64(len(c.b)) {
		c.failed = length != 0 || c.failed
		return
	}
	switch c.u8() {
	case 0x01: // end_sequence
		r.end(m.addr)
		*m = machine{file: 1, line: 1}
	case 0x02: // set_address
		m.addr = c.uint(uint8(length - 1))
	}
	if !c.failed {
		c.off = end
	}
}

// rowFinder takes the rows of a program as they come and keeps those that an
// address asks for. Within a sequence addresses rise.
type rowFinder struct {
	addrs []uint64
	rows  []row

	open  bool // within a sequence
	start uint64
	last  machine
	// visits counts addresses that a row was compared with: where sequences overlap, more than there are.
	visits int
}

func (r *rowFinder) row(m machine) {
	if !r.open {
		r.open, r.start = true, m.addr
	} else if m.addr > r.last.addr {
		r.answer(r.last, m.addr)
	}
	r.last = m
}

func (r *rowFinder) end(addr uint64) {
	if r.open && addr > r.last.addr {
		r.answer(r.last, addr)
	}
	r.open = false
}

// answer gives the addresses in [m.addr, limit) their row. Sequences of dropped
// code start at 0 or 1. Where sequences overlap the first one counts.
func (r *rowFinder) answer(m machine, limit uint64) {
	if r.start <= 1 {
		return
	}
	i, _ := slices.BinarySearch(r.addrs, m.addr)
	for ; i < len(r.addrs) && r.addrs[i] < limit; i++ {
		r.visits++
		if !r.rows[i].ok {
			r.rows[i] = row{m.file, m.line, m.column, true}
		}
	}
}
