package symbolize

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// A cache file holds the answers to the addresses of one module, so that an address is looked up by one
// binary search, as in symbolic's symcache. All numbers are little-endian:
//
//	magic    8 bytes; they change with the layout
//	counts   6 × u32: bytes of the key, strings, bytes of text, nodes, answers, flags
//	key      what the answers depend on
//	ends     a u32 for each string: where it ends in the text. String 0 is ""
//	text     the strings, one after the other
//	nodes    7 × u32 each: function, linkage name, file (strings); line; column; line of declaration;
//	         caller×2 + 1 if it was inlined. The caller is the number of an earlier node plus 1, 0 for none
//	answers  24 bytes each, by rising address: u64 address, u64 distance of the nearest symbol, u32 first
//	         node plus 1 or, where there is no name, string of the nearest symbol, u8 source, u8 reason, u16 0
//	checksum u32 CRC-32C of all before
//
// decodeCache checks everything once; lookups rely on it.
const (
	cacheMagic      = "hlsyms\x001"
	cacheHeaderSize = len(cacheMagic) + 6*4
	cacheNodeSize   = 7 * 4
	cacheAnswerSize = 24
)

// Caps of a cache file. Inlined calls are nested some tens deep, and a handful on average.
const (
	maxCacheFile  = 256 << 20
	maxCacheDepth = maxCacheMean * 16
	maxCacheMean  = 256
)

// Flags of a cache file: what the module brings.
const (
	cacheHasDebug = 1 << iota
	cacheHasSymbols
)

var (
	errCacheDamaged = errors.New("damaged cache file")
	errCacheTooBig  = fmt.Errorf("more than %d bytes to cache", maxCacheFile)
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// cacheTable is a decoded cache file. Strings and tables are parts of its text.
type cacheTable struct {
	key                        string
	flags                      uint32
	ends, text, nodes, answers string
}

// decodeCache takes a cache file apart. Any damage is an error.
func decodeCache(file string) (*cacheTable, error) {
	if len(file) < cacheHeaderSize+4 || len(file) > maxCacheFile || file[:len(cacheMagic)] != cacheMagic {
		return nil, errCacheDamaged
	}
	body, sum := file[:len(file)-4], u32(file, len(file)-4)
	if checksum(body) != sum {
		return nil, errCacheDamaged
	}
	t := &cacheTable{flags: u32(body, len(cacheMagic)+20)}
	rest := body[cacheHeaderSize:]
	ok := true
	take := func(i int, size uint64) string {
		n := uint64(u32(body, len(cacheMagic)+4*i)) * size
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
	t.nodes = take(3, cacheNodeSize)
	t.answers = take(4, cacheAnswerSize)
	if !ok || rest != "" || !t.valid() {
		return nil, errCacheDamaged
	}
	return t, nil
}

// checksum is that of a text, without a copy of all of it.
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

func (t *cacheTable) valid() bool {
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

// depths checks the nodes and returns how long the chain from each one is.
func (t *cacheTable) depths() ([]uint16, bool) {
	depths := make([]uint16, len(t.nodes)/cacheNodeSize)
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
		if depths[i] > maxCacheDepth {
			return nil, false
		}
	}
	return depths, true
}

func (t *cacheTable) validAnswers(depths []uint16) bool {
	frames := 0
	for i := range t.len() {
		a := t.answer(i)
		if i > 0 && t.address(i-1) >= a.addr {
			return false
		}
		if int(a.source) >= len(sourceNames) || int(a.reason) >= len(reasonNames) || (a.source == SourceNone) != (a.reason != ReasonNone) {
			return false
		}
		switch {
		case a.source == SourceNone:
			if int(a.ref) >= t.strings() {
				return false
			}
		case a.ref == 0 || int(a.ref) > len(depths):
			return false
		default:
			frames += int(depths[a.ref-1])
		}
	}
	return frames <= maxCacheDepth+maxCacheMean*t.len()
}

func (t *cacheTable) strings() int { return len(t.ends) / 4 }

func (t *cacheTable) string(i uint32) string {
	if i == 0 {
		return ""
	}
	return t.text[u32(t.ends, 4*int(i-1)):u32(t.ends, 4*int(i))]
}

// cacheNode is a frame; of a chain the innermost comes first.
type cacheNode struct {
	function, linkage, file uint32 // strings
	line, column, startLine uint32
	caller                  uint32
}

func (t *cacheTable) node(i int) cacheNode {
	b := t.nodes[i*cacheNodeSize : (i+1)*cacheNodeSize]
	return cacheNode{u32(b, 0), u32(b, 4), u32(b, 8), u32(b, 12), u32(b, 16), u32(b, 20), u32(b, 24)}
}

// cacheAnswer is what is known of an address.
type cacheAnswer struct {
	addr, distance uint64
	ref            uint32
	source         Source
	reason         Reason
}

// len is the number of answers.
func (t *cacheTable) len() int { return len(t.answers) / cacheAnswerSize }

func (t *cacheTable) address(i int) uint64 { return u64(t.answers, i*cacheAnswerSize) }

func (t *cacheTable) answer(i int) cacheAnswer {
	b := t.answers[i*cacheAnswerSize : (i+1)*cacheAnswerSize]
	return cacheAnswer{u64(b, 0), u64(b, 8), u32(b, 16), Source(b[20]), Reason(b[21])}
}

// find fills in the location of an address; false if there is no answer.
func (t *cacheTable) find(addr uint64, l *Location) bool {
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
	t.fill(lo, l)
	return true
}

func (t *cacheTable) fill(i int, l *Location) {
	a := t.answer(i)
	l.Source, l.Reason, l.shown = a.source, a.reason, true
	if a.source == SourceNone {
		l.Near, l.NearDistance = t.string(a.ref), a.distance
		return
	}
	depth := 0
	for ref := a.ref; ref > 0; ref = t.node(int(ref-1)).caller >> 1 {
		depth++
	}
	l.Frames = make([]Frame, 0, depth)
	for ref := a.ref; ref > 0; {
		n := t.node(int(ref - 1))
		l.Frames = append(l.Frames, Frame{
			Function: t.string(n.function), Linkage: t.string(n.linkage), File: t.string(n.file),
			Line: int(n.line), Column: int(n.column), StartLine: int(n.startLine), Inlined: n.caller&1 != 0,
		})
		ref = n.caller >> 1
	}
}

func u32(s string, at int) uint32 {
	b := s[at : at+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func u64(s string, at int) uint64 { return uint64(u32(s, at)) | uint64(u32(s, at+4))<<32 }

// cacheBuilder makes a cache file.
type cacheBuilder struct {
	key     string
	flags   uint32
	strings []string
	ids     map[string]uint32
	text    int // bytes of all strings
	nodes   []cacheNode
	nodeIDs map[cacheNode]uint32 // number plus 1
	answers []cacheAnswer
}

func newCacheBuilder(key string, flags uint32) *cacheBuilder {
	return &cacheBuilder{
		key: key, flags: flags, strings: []string{""}, ids: map[string]uint32{"": 0}, nodeIDs: map[cacheNode]uint32{},
	}
}

func (b *cacheBuilder) intern(s string) uint32 {
	id, ok := b.ids[s]
	if !ok {
		id = uint32(len(b.strings))
		b.ids[s] = id
		b.strings = append(b.strings, s)
		b.text += len(s)
	}
	return id
}

// add keeps what is known of an address; of several answers to one the first counts.
func (b *cacheBuilder) add(addr uint64, l *Location) {
	a := cacheAnswer{addr: addr, source: l.Source, reason: l.Reason}
	if !l.Named() {
		a.ref, a.distance = b.intern(l.Near), l.NearDistance
	}
	for i := len(l.Frames) - 1; i >= 0; i-- {
		a.ref = b.node(&l.Frames[i], a.ref)
	}
	b.answers = append(b.answers, a)
}

// copyTo adds all answers to a builder.
func (t *cacheTable) copyTo(b *cacheBuilder) {
	b.flags |= t.flags
	for i := range t.len() {
		var l Location
		t.fill(i, &l)
		b.add(t.address(i), &l)
	}
}

// size is that of the file in bytes, or a little less.
func (t *cacheTable) size() int {
	return len(t.key) + len(t.ends) + len(t.text) + len(t.nodes) + len(t.answers)
}

// node numbers a frame with its callers: those that answers share are kept once.
func (b *cacheBuilder) node(f *Frame, caller uint32) uint32 {
	n := cacheNode{
		b.intern(f.Function), b.intern(f.Linkage), b.intern(f.File),
		uint32(f.Line), uint32(f.Column), uint32(f.StartLine), caller << 1,
	}
	if f.Inlined {
		n.caller |= 1
	}
	id, ok := b.nodeIDs[n]
	if !ok {
		b.nodes = append(b.nodes, n)
		id = uint32(len(b.nodes))
		b.nodeIDs[n] = id
	}
	return id
}

// size is that of the file in bytes.
func (b *cacheBuilder) size() int {
	return cacheHeaderSize + len(b.key) + 4*len(b.strings) + b.text + cacheNodeSize*len(b.nodes) + cacheAnswerSize*len(b.answers) + 4
}

// encode writes the file.
func (b *cacheBuilder) encode(w io.Writer) error {
	slices.SortStableFunc(b.answers, func(x, y cacheAnswer) int { return cmp.Compare(x.addr, y.addr) })
	b.answers = slices.CompactFunc(b.answers, func(x, y cacheAnswer) bool { return x.addr == y.addr })
	if b.size() > maxCacheFile {
		return errCacheTooBig
	}
	sum := crc32.New(castagnoli())
	out := io.MultiWriter(w, sum)
	le := binary.LittleEndian
	head := []byte(cacheMagic)
	for _, n := range []int{len(b.key), len(b.strings), b.text, len(b.nodes), len(b.answers), int(b.flags)} {
		head = le.AppendUint32(head, uint32(n))
	}
	head = append(head, b.key...)
	end := uint32(0)
	for _, s := range b.strings {
		end += uint32(len(s))
		head = le.AppendUint32(head, end)
	}
	if _, err := out.Write(head); err != nil {
		return err
	}
	if err := b.encodeTables(out); err != nil {
		return err
	}
	_, err := w.Write(le.AppendUint32(nil, sum.Sum32()))
	return err
}

func (b *cacheBuilder) encodeTables(out io.Writer) error {
	le := binary.LittleEndian
	for _, s := range b.strings {
		if _, err := io.WriteString(out, s); err != nil {
			return err
		}
	}
	var row []byte
	for _, n := range b.nodes {
		row = row[:0]
		for _, v := range [...]uint32{n.function, n.linkage, n.file, n.line, n.column, n.startLine, n.caller} {
			row = le.AppendUint32(row, v)
		}
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	for _, a := range b.answers {
		row = le.AppendUint64(le.AppendUint64(row[:0], a.addr), a.distance)
		row = append(le.AppendUint32(row, a.ref), byte(a.source), byte(a.reason), 0, 0)
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	return nil
}
