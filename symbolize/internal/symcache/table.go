package symcache

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// A cache file holds the answers for the addresses of one module, so that one binary search finds
// an address, as in symbolic's symcache. All numbers are little-endian:
//
//	magic    8 bytes; they change with the layout
//	counts   6 × u32: bytes of the key, strings, bytes of text, nodes, answers, flags
//	key      what the answers depend on
//	ends     a u32 for each string: where it ends in the text. String 0 is ""
//	text     the strings, one after the other
//	nodes    7 × u32 each: function, linkage name, file (strings); line; column; line of the declaration;
//	         caller×2 + 1 if the frame was inlined. The caller is the number of an earlier node plus 1, or 0
//	answers  24 bytes each, by ascending address: u64 address, u64 distance of the nearest symbol, u32 first
//	         node plus 1 or, without a name, the string of the nearest symbol, u8 source, u8 reason, u16 0
//	checksum u32 CRC-32C of everything before it
//
// decode checks everything once; lookups rely on that.
const (
	magic      = "hlsyms\x001"
	headerSize = len(magic) + 6*4
	nodeSize   = 7 * 4
	answerSize = 24
)

// Limits of a cache file. Calls are inlined into each other some tens deep, and a handful on
// average.
const (
	maxFile  = 256 << 20
	maxDepth = maxMean * 16
	maxMean  = 256
)

var (
	errDamaged = errors.New("damaged cache file")
	errTooBig  = fmt.Errorf("more than %d bytes to cache", maxFile)
)

// Entry is the answer for one address: frames and their source, or a reason why there are none.
type Entry struct {
	// Source is not 0 if and only if there are frames and Reason is 0. The cache does not interpret
	// either further.
	Source, Reason uint8
	// Near is the nearest symbol before an address without frames.
	Near         string
	NearDistance uint64
	// Frames are innermost first.
	Frames []StoredFrame
}

// StoredFrame is one function at an address, as the file of the cache has it.
type StoredFrame struct {
	Function, Linkage, File string
	Line, Column, StartLine int
	Inlined                 bool
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// table is a decoded cache file. Its strings are parts of the file's text.
type table struct {
	key                        string
	flags                      uint32
	ends, text, nodes, answers string
}

// decode splits a cache file into its tables. Any damage is an error.
func decode(file string) (*table, error) {
	if len(file) < headerSize+4 || len(file) > maxFile || file[:len(magic)] != magic {
		return nil, errDamaged
	}
	body, sum := file[:len(file)-4], u32(file, len(file)-4)
	if checksum(body) != sum {
		return nil, errDamaged
	}
	t := &table{flags: u32(body, len(magic)+20)}
	rest := body[headerSize:]
	ok := true
	take := func(i int, size uint64) string {
		n := uint64(u32(body, len(magic)+4*i)) * size
		if !ok || n > uint64(len(rest)) {
			ok = false
			return ""
		}
		part := rest[:n]
		rest = rest[n:]
		return part
	}
	t.key = take(0, 1)
	t.ends = take(1, 4)
	t.text = take(2, 1)
	t.nodes = take(3, nodeSize)
	t.answers = take(4, answerSize)
	if !ok || rest != "" || !t.valid() {
		return nil, errDamaged
	}
	return t, nil
}

// checksum computes the CRC-32C of a text without copying all of it.
func checksum(text string) uint32 {
	table := castagnoli()
	var sum uint32
	var chunk [32 << 10]byte
	for len(text) > 0 {
		n := copy(chunk[:], text)
		sum = crc32.Update(sum, table, chunk[:n])
		text = text[n:]
	}
	return sum
}

func (t *table) valid() bool {
	var end uint32
	for i := range t.strings() {
		next := u32(t.ends, 4*i)
		if next < end || int(next) > len(t.text) || (i == 0 && next != 0) {
			return false
		}
		end = next
	}
	depths, ok := t.depths()
	return ok && t.strings() > 0 && t.validAnswers(depths)
}

// depths checks the nodes and returns the length of the chain that begins at each.
func (t *table) depths() ([]uint16, bool) {
	depths := make([]uint16, len(t.nodes)/nodeSize)
	for i := range depths {
		n := t.node(i)
		for _, s := range []uint32{n.function, n.linkage, n.file} {
			if int(s) >= t.strings() {
				return nil, false
			}
		}
		caller := int(n.caller >> 1)
		if caller > i {
			return nil, false
		}
		depths[i] = 1
		if caller > 0 {
			depths[i] += depths[caller-1]
		}
		if depths[i] > maxDepth {
			return nil, false
		}
	}
	return depths, true
}

func (t *table) validAnswers(depths []uint16) bool {
	frames := 0
	for i := range t.len() {
		a := t.answer(i)
		if i > 0 && t.address(i-1) >= a.addr {
			return false
		}
		if (a.source == 0) != (a.reason != 0) {
			return false
		}
		switch {
		case a.source == 0:
			if int(a.ref) >= t.strings() {
				return false
			}
		case a.ref == 0 || int(a.ref) > len(depths):
			return false
		default:
			frames += int(depths[a.ref-1])
		}
	}
	return frames <= maxDepth+maxMean*t.len()
}

func (t *table) strings() int { return len(t.ends) / 4 }

func (t *table) string(i uint32) string {
	if i == 0 {
		return ""
	}
	return t.text[u32(t.ends, 4*int(i-1)):u32(t.ends, 4*int(i))]
}

// node is a frame and its caller.
type node struct {
	function, linkage, file uint32 // strings
	line, column, startLine uint32
	caller                  uint32
}

func (t *table) node(i int) node {
	b := t.nodes[i*nodeSize : (i+1)*nodeSize]
	return node{u32(b, 0), u32(b, 4), u32(b, 8), u32(b, 12), u32(b, 16), u32(b, 20), u32(b, 24)}
}

// answer is an Entry as the file has it.
type answer struct {
	addr, distance uint64
	ref            uint32
	source, reason uint8
}

// len returns the number of answers.
func (t *table) len() int { return len(t.answers) / answerSize }

func (t *table) address(i int) uint64 { return u64(t.answers, i*answerSize) }

func (t *table) answer(i int) answer {
	b := t.answers[i*answerSize : (i+1)*answerSize]
	return answer{u64(b, 0), u64(b, 8), u32(b, 16), b[20], b[21]}
}

// find copies the answer for an address to e and reports whether there is one.
func (t *table) find(addr uint64, e *Entry) bool {
	lo, hi := 0, t.len()
	for lo < hi {
		if mid := lo + (hi-lo)/2; t.address(mid) < addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == t.len() || t.address(lo) != addr {
		return false
	}
	t.read(lo, e)
	return true
}

// read copies an answer to e and reuses the memory of e.Frames.
func (t *table) read(i int, e *Entry) {
	a := t.answer(i)
	*e = Entry{Source: a.source, Reason: a.reason, Frames: e.Frames[:0]}
	if a.source == 0 {
		e.Near, e.NearDistance = t.string(a.ref), a.distance
		return
	}
	for ref := a.ref; ref > 0; {
		n := t.node(int(ref - 1))
		e.Frames = append(e.Frames, StoredFrame{
			Function: t.string(n.function), Linkage: t.string(n.linkage), File: t.string(n.file),
			Line: int(n.line), Column: int(n.column), StartLine: int(n.startLine), Inlined: n.caller&1 != 0,
		})
		ref = n.caller >> 1
	}
}

// copyTo adds all answers to a builder.
func (t *table) copyTo(b *builder) {
	b.flags |= t.flags
	var e Entry
	for i := range t.len() {
		t.read(i, &e)
		b.add(t.address(i), &e)
	}
}

// size returns about the size of the file in bytes, never more.
func (t *table) size() int {
	return len(t.key) + len(t.ends) + len(t.text) + len(t.nodes) + len(t.answers)
}

func u32(s string, at int) uint32 {
	b := s[at : at+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func u64(s string, at int) uint64 { return uint64(u32(s, at)) | uint64(u32(s, at+4))<<32 }
