package profile

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"path"
	"strconv"
	"strings"
)

// Mapping is a mapped file.
type Mapping struct {
	Start, Limit, Offset uint64
	Path, BuildID        string
	// Virtual is set if an address of the mapping minus Start is an ELF virtual address of the
	// file.
	Virtual bool
}

// Location is a position in the code.
type Location struct {
	// Address is the return address. That of a location with names is made up: it has the top bit
	// and a hash of the names, so that it is the same in all profiles. It is 0 if the profile has
	// neither names nor an address.
	Address uint64
	Named   bool
	// Mapping is a position in Mappings, or -1.
	Mapping int
}

// FrameName is one function at a location.
type FrameName struct {
	Function, Linkage, File string
	Line, Column, StartLine int
}

const (
	madeUp = 1 << 63
	// virtualSize is the size of the range that stands for a file whose addresses are ELF virtual
	// addresses.
	virtualSize = 1 << 32
)

// virtual reports whether the mapping is no range of a process, which never has half of all
// addresses: jemalloc_pprof writes 0 to 2^64 for each file.
func (m *mapping) virtual() bool { return m.limit-m.start >= madeUp && m.limit > m.start }

// Mappings returns the mapped files. A file whose addresses are ELF virtual addresses has a range
// that is made up of its build ID and path, because the ranges in the profile overlap.
func (p *Profile) Mappings() []Mapping {
	out := make([]Mapping, len(p.maps))
	for i := range p.maps {
		m := &p.maps[i]
		out[i] = Mapping{
			Start: m.start, Limit: m.limit, Offset: m.offset,
			Path: p.string(m.file), BuildID: p.string(m.buildID), Virtual: m.virtual(),
		}
		if out[i].Virtual {
			h := hashBytes(hashBytes(0, p.bytesOf(uint64(m.buildID))), p.bytesOf(uint64(m.file)))
			out[i].Start, out[i].Offset = madeUp|h>>33<<32, 0
			out[i].Limit = out[i].Start + virtualSize - 1
		}
	}
	return out
}

func (p *Profile) string(text uint32) string { return string(p.bytesOf(uint64(text))) }

// Locations calls yield with each location in turn.
func (p *Profile) Locations(yield func(i int, l Location)) {
	maps := p.Mappings()
	hashes := make([]uint64, len(p.funcs))
	for i := range p.locs {
		l := &p.locs[i]
		out := Location{Mapping: p.mapIndex.find(l.mapping)}
		if l.mapping == 0 {
			out.Mapping = -1
		}
		if out.Named = p.named(l, maps, out.Mapping); out.Named {
			out.Address = p.identity(l, out.Mapping, hashes)
		} else {
			out.Address = returnAddress(l.address, maps, out.Mapping)
		}
		yield(i, out)
	}
}

// returnAddress returns the address of the location without a name. Producers write that of the
// call.
func returnAddress(a uint64, maps []Mapping, mapping int) uint64 {
	switch {
	case a == 0 || a == math.MaxUint64:
		return a
	case mapping < 0 || !maps[mapping].Virtual:
		return a + 1
	case a < virtualSize-1:
		return maps[mapping].Start + a + 1
	}
	return 0 // no file is that large
}

// named reports whether a location has a function with a name.
func (p *Profile) named(l *location, maps []Mapping, mapping int) bool {
	for _, ln := range p.lines[l.begin:l.end] {
		f := p.funcIndex.find(ln.function)
		if f >= 0 && len(p.bytesOf(uint64(p.funcs[f].name))) > 0 {
			return p.Producer != Heaplapse || !p.isLabel(l, maps, mapping)
		}
	}
	return false
}

// isLabel reports whether the name of a location is the text that heaplapse writes for one without
// a name: the file and the offset, or the address.
func (p *Profile) isLabel(l *location, maps []Mapping, mapping int) bool {
	ln := p.lines[l.begin]
	f := p.funcIndex.find(ln.function)
	if l.end-l.begin != 1 || ln.line != 0 || f < 0 || len(p.bytesOf(uint64(p.funcs[f].file))) > 0 {
		return false
	}
	file := ""
	if mapping >= 0 {
		file = path.Base(maps[mapping].Path) + "+"
	}
	offset, ok := strings.CutPrefix(p.string(p.funcs[f].name), file+"0x")
	_, err := strconv.ParseUint(offset, 16, 64)
	return ok && err == nil
}

// identity returns an address for a location with names: a hash of its file, functions and lines.
// It does not depend on the numbers in the profile, nor on the addresses of the process.
func (p *Profile) identity(l *location, mapping int, hashes []uint64) uint64 {
	h := uint64(1)
	if mapping >= 0 {
		h = hashBytes(h, p.bytesOf(uint64(p.maps[mapping].file)))
	}
	for _, ln := range p.lines[l.begin:l.end] {
		f := p.funcIndex.find(ln.function)
		if f < 0 || len(p.bytesOf(uint64(p.funcs[f].name))) == 0 {
			continue
		}
		if hashes[f] == 0 {
			hashes[f] = p.hashFunction(&p.funcs[f])
		}
		h = mix(mix(h, hashes[f]), uint64(ln.line)<<32|uint64(ln.column))
	}
	return h | madeUp
}

func (p *Profile) hashFunction(f *function) uint64 {
	h := hashBytes(2, p.bytesOf(uint64(f.name)))
	if linkage := p.linkage(f); linkage != nil {
		h = hashBytes(h, linkage)
	}
	return mix(hashBytes(h, p.bytesOf(uint64(f.file))), uint64(f.start))
}

// linkage returns the linkage name of a function, or nil if it does not differ from its name.
func (p *Profile) linkage(f *function) []byte {
	linkage := p.bytesOf(uint64(f.system))
	if len(linkage) == 0 || bytes.Equal(linkage, p.bytesOf(uint64(f.name))) {
		return nil
	}
	return linkage
}

// hashBytes adds bytes to a hash. It has no seed, because all readers of a series must agree.
func hashBytes(h uint64, b []byte) uint64 {
	h = mix(h, uint64(len(b)))
	for ; len(b) >= 8; b = b[8:] {
		h = mix(h, binary.LittleEndian.Uint64(b))
	}
	var last [8]byte
	copy(last[:], b)
	return mix(h, binary.LittleEndian.Uint64(last[:]))
}

func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^v^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// builtins is the file of the functions that V8 has built in, such as Map's set. Their profiles
// have no file; a function of a program without one has parentheses: (anonymous), (external).
const builtins = "node:builtins"

// file returns the source file of a function.
func (p *Profile) file(f *function) string {
	if f.file == 0 && p.Producer == Datadog && p.bytesOf(uint64(f.name))[0] != '(' {
		return builtins
	}
	return p.string(f.file)
}

// Frames returns the functions at a location, innermost first.
func (p *Profile) Frames(i int) []FrameName {
	l := &p.locs[i]
	out := make([]FrameName, 0, l.end-l.begin)
	for _, ln := range p.lines[l.begin:l.end] {
		k := p.funcIndex.find(ln.function)
		if k < 0 || len(p.bytesOf(uint64(p.funcs[k].name))) == 0 {
			continue
		}
		f := &p.funcs[k]
		out = append(out, FrameName{
			Function: p.string(f.name), Linkage: string(p.linkage(f)), File: p.file(f),
			Line: int(ln.line), Column: int(ln.column), StartLine: int(f.start),
		})
	}
	return out
}
