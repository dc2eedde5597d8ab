//go:build linux

package roots

import (
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Local returns, for each thread of a process, where it may have the thread-local variables of a module: before its
// thread pointer, or where its vector says.
func Local(p Process, module *target.Module) [][]blocks.Range {
	list := make([][]blocks.Range, len(p.Threads))
	if !hasTLS(module) {
		return list
	}
	b := builder{Process: p}
	size := tlsSize(p.Memory, p.Mappings)
	for i, t := range p.Threads {
		before := blocks.Range{Start: t.TLS - min(t.TLS, size), End: t.TLS}
		list[i] = b.within(nil, before, t.TLS-1)
		for _, at := range Vector(p.Memory, t.TLS, p.Musl) {
			if !before.Contains(at) {
				list[i] = b.within(list[i], blocks.Range{Start: at, End: at + module.TLS}, at)
			}
		}
	}
	return list
}

// Of struct pthread of glibc, and of its dtv_t. Musl's vector has the same offset.
const (
	vectorOffset    = 8
	vectorEntry     = 16
	muslVectorEntry = 8
	maxModules      = 1 << 12
)

// Vector returns the vector of a thread, which has the address of the thread-local variables of each module, from
// module 1 on. In memory, entry 0 of musl's vector has the number of modules. That of glibc has it in the entry before
// that.
func Vector(memory blocks.Memory, threadPointer uint64, musl bool) (list []uint64) {
	vector := word(memory, threadPointer+vectorOffset)
	entry, count := uint64(vectorEntry), vector-vectorEntry
	if musl {
		entry, count = muslVectorEntry, vector
	}
	for i := uint64(1); i <= min(word(memory, count), maxModules); i++ {
		list = append(list, word(memory, vector+i*entry))
	}
	return list
}

// within adds the part of a range that is in the mapping of an address.
func (b *builder) within(list []blocks.Range, r blocks.Range, address uint64) []blocks.Range {
	m, ok := target.Containing(b.Mappings, address)
	if !ok || r.End < r.Start {
		return list
	}
	return append(list, blocks.Range{Start: max(r.Start, m.Start), End: min(r.End, m.End)})
}
