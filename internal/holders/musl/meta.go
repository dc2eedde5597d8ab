package musl

import (
	"encoding/binary"
	"errors"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// context is struct malloc_context.
type context struct {
	blocks.Range
	secret, head, tail uint64
}

// Offsets in struct malloc_context, from the head of the list of areas on.
const (
	toSecret    = 56 // before it
	toOldSecret = 64 // with the size of pages between
	toTail      = 8
	toEnd       = 928 - toSecret
)

// findContext searches the data of the C library.
func (w *walk) findContext() (c context, ok bool) {
	const largest = 16 << 20
	for _, r := range w.Data {
		if r.Size() > largest {
			continue
		}
		for at := (r.Start+7)&^7 + toSecret; at+toEnd <= r.End; at += 8 {
			head, ok := w.word(at)
			if !ok || !w.isArea(head) {
				continue
			}
			for _, before := range []uint64{toSecret, toOldSecret} {
				if c, ok = w.contextAt(at, before); ok {
					return c, true
				}
			}
		}
	}
	return context{}, false
}

// isArea reports whether an area may be at an address.
func (w *walk) isArea(address uint64) bool {
	r := blocks.Range{Start: address, End: address + areaSize}
	return address != 0 && address%areaSize == 0 && w.writable(r).Size() > 0
}

// contextAt returns the context whose list of areas has its head at an address, with the secret some bytes before.
func (w *walk) contextAt(at, before uint64) (c context, ok bool) {
	c.Range = blocks.Range{Start: at - before, End: at + toEnd}
	words := [3]uint64{}
	for i, address := range []uint64{at - before, at, at + toTail} {
		if words[i], ok = w.word(address); !ok {
			return c, false
		}
	}
	c.secret, c.head, c.tail = words[0], words[1], words[2]
	return c, c.secret != 0 && w.hasSecret(c.head, c.secret) && w.hasSecret(c.tail, c.secret)
}

func (w *walk) hasSecret(area, secret uint64) bool {
	var b [8]byte
	return w.isArea(area) && w.Memory.Read(area, b[:]) == nil && binary.LittleEndian.Uint64(b[:]) == secret
}

// Layout of struct meta_area.
const (
	areaSize = 4096
	toNext   = 8
	toCount  = 16
	toMetas  = 24
	metaSize = 40
	metas    = (areaSize - toMetas) / metaSize
)

// readAreas reads the groups of all areas.
func (w *walk) readAreas(c context) {
	seen := map[uint64]bool{}
	var b [areaSize]byte
	for at := c.head; ; at = binary.LittleEndian.Uint64(b[toNext:]) {
		if !w.isArea(at) || seen[at] || w.Memory.Read(at, b[:]) != nil ||
			binary.LittleEndian.Uint64(b[:]) != c.secret || binary.LittleEndian.Uint32(b[toCount:]) != metas {
			w.problem("there is no area of the allocator at %#x", at)
			return
		}
		seen[at] = true
		w.Own = blocks.Join(w.Own, blocks.Range{Start: at, End: at + areaSize})
		for i := uint64(toMetas); i+metaSize <= areaSize; i += metaSize {
			w.addMeta(b[i:i+metaSize], at+i)
		}
		if at == c.tail {
			return
		}
	}
}

// addMeta adds the group of a struct meta at an address, if it has one.
func (w *walk) addMeta(b []byte, at uint64) {
	g, err := parse(b, at)
	switch {
	case err == nil && g == nil:
		return
	case err == nil && w.writable(g.Range).Size() == 0:
		err = errors.New("its group is not in writable memory")
	}
	if err != nil {
		w.problem("the structure at %#x: %w", at, err)
		return
	}
	w.groups = append(w.groups, g)
}

// group is a group of slots.
type group struct {
	blocks.Range        // with the header, and what is left of the mapping
	meta         uint64 // address of its struct meta
	free         uint32 // a bit for each slot
	slots        uint64
	stride       uint64 // size of a slot
	mapped       bool   // it has a mapping of its own
	added        bool
}

const (
	unit       = 16 // size of the header, and alignment
	largeClass = 63
)

// units has the stride of each size class, in units (size_classes in malloc.c).
var units = [...]uint64{
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 31, 36, 42, 50, 63, 72, 84, 102, 127, 146, 170, 204, 255,
	292, 340, 409, 511, 584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
}

var errMalformed = errors.New("it is malformed")

// parse reads a struct meta at an address. It returns nil if that has no group.
func parse(b []byte, at uint64) (*group, error) {
	const toGroup, toAvail, toFreed, toBits = 16, 24, 28, 32
	start, bits := binary.LittleEndian.Uint64(b[toGroup:]), binary.LittleEndian.Uint64(b[toBits:])
	avail, freed := binary.LittleEndian.Uint32(b[toAvail:]), binary.LittleEndian.Uint32(b[toFreed:])
	if start == 0 {
		return nil, nil
	}
	class, pages := bits>>6&63, bits>>12
	g := &group{meta: at, free: avail | freed, slots: bits&31 + 1, mapped: pages > 0}
	switch {
	case start >= blocks.Topmost || start%unit != 0 || pages > blocks.Topmost/areaSize,
		class >= uint64(len(units)) && class != largeClass, avail&freed != 0, uint64(g.free)>>g.slots != 0,
		class == largeClass && (g.slots != 1 || !g.mapped), g.mapped && start%areaSize != 0:
		return nil, errMalformed
	case g.mapped && g.slots == 1:
		g.stride = pages*areaSize - unit
	default:
		g.stride = units[class] * unit
	}
	g.Range = blocks.Range{Start: start, End: start + unit + g.slots*g.stride}
	if g.mapped {
		used := g.End
		if g.End = start + pages*areaSize; g.End < used {
			return nil, errMalformed
		}
	}
	return g, nil
}
