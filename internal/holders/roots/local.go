//go:build linux

package roots

import (
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Local returns where a thread may have the thread-local variables of a module: before its thread pointer, or where its
// vector of modules says.
func Local(memory blocks.Memory, mappings []target.Mapping, t snapshot.Thread, module *target.Module) []blocks.Range {
	if !hasTLS(module) {
		return nil
	}
	b := builder{Process: Process{Memory: memory, Mappings: mappings}}
	before := blocks.Range{Start: t.TLS - min(t.TLS, tlsSize(memory, mappings)), End: t.TLS}
	list := b.within(nil, before, t.TLS-1)
	vector := b.word(t.TLS + vectorOffset)
	for i := uint64(1); i <= min(b.word(vector-vectorEntry), maxModules); i++ {
		if at := b.word(vector + i*vectorEntry); !before.Contains(at) {
			list = b.within(list, blocks.Range{Start: at, End: at + module.TLS}, at)
		}
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
