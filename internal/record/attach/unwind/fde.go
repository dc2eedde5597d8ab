//go:build linux

package unwind

import "sort"

// description is a frame description entry with what its common information entry says.
type description struct {
	start, end       uint64 // the code
	program, initial code   // instructions of the entries
	codeFactor       uint64
	dataFactor       int64
	signal           bool // the frame of a signal handler's caller
}

// code is a range of instructions.
type code struct{ start, end uint64 }

// maxEntries limits the table of an object.
const maxEntries = 1 << 24

// find returns the description of the code at pc, from the table at header (.eh_frame_hdr).
func find(m memory, header, pc uint64) (d description, ok bool) {
	const version, tableEncoding = 1, 0x3b // four bytes, signed, relative to the header
	r := reader{memory: m, at: header}
	if r.byte() != version {
		return d, false
	}
	frames, count, table := r.byte(), r.byte(), r.byte()
	if count == encodingOmitted || table != tableEncoding {
		return d, false
	}
	r.encoded(frames)
	n := r.encoded(count)
	if r.failed || n == 0 || n > maxEntries {
		return d, false
	}
	field := func(i, k int) uint64 {
		f := reader{memory: m, at: r.at + uint64(8*i+4*k)}
		return header + uint64(f.signed(4))
	}
	i := sort.Search(int(n), func(i int) bool { return field(i, 0) > pc }) - 1
	if i < 0 {
		return d, false
	}
	d, ok = parseDescription(m, field(i, 1))
	return d, ok && pc >= d.start && pc < d.end
}

// length reads the length of an entry and returns the address of its end.
func (r *reader) length() uint64 {
	n := r.unsigned(4)
	if n == 0 || n == 0xffffffff { // the end of the section; the 64-bit format
		r.failed = true
	}
	return r.at + n
}

func parseDescription(m memory, at uint64) (d description, ok bool) {
	r := reader{memory: m, at: at}
	end := r.length()
	commonAt := r.at
	commonAt -= r.unsigned(4)
	c, ok := parseCommon(m, commonAt, &d)
	if !ok || r.failed {
		return d, false
	}
	d.start = r.encoded(c.encoding)
	d.end = d.start + r.encoded(c.encoding&encodingFormat)
	if c.augmented {
		size := r.uleb()
		r.at += size
	}
	d.program = code{r.at, end}
	return d, !r.failed
}

type common struct {
	encoding  byte
	augmented bool
}

// parseCommon reads a common information entry.
func parseCommon(m memory, at uint64, d *description) (c common, ok bool) {
	const returnAddressRegister = 16
	r := reader{memory: m, at: at}
	end := r.length()
	id, version, augmentation := r.unsigned(4), r.byte(), r.text()
	d.codeFactor, d.dataFactor = r.uleb(), r.sleb()
	register := r.uleb() // a byte in version 1: the same for small numbers
	if r.failed || id != 0 || (version != 1 && version != 3) || register != returnAddressRegister {
		return c, false
	}
	if augmentation != "" && !r.augmentation(augmentation, &c, d) {
		return c, false
	}
	d.initial = code{r.at, end}
	return c, !r.failed
}

// augmentation reads the augmentation data, whose fields the letters tell.
func (r *reader) augmentation(letters string, c *common, d *description) bool {
	if letters[0] != 'z' {
		return false
	}
	c.augmented = true
	size := r.uleb()
	end := r.at + size
	for _, letter := range letters[1:] {
		switch letter {
		case 'R':
			c.encoding = r.byte()
		case 'P':
			encoding := r.byte()
			r.encoded(encoding &^ 0x80)
		case 'L':
			r.byte()
		case 'S':
			d.signal = true
		default:
			return false
		}
	}
	r.at = end
	return !r.failed
}
