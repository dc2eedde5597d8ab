package symbolize

import (
	"cmp"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/interval"
)

// mappingFinder finds the mapping of an address. It keeps the index of one address space: a series
// numbers its spaces in the order of its snapshots, and its stacks too, so no space comes back.
type mappingFinder struct {
	space    series.Space
	mappings []heapfile.Mapping // of the space; nil before the first call
	order    []int              // by position in index: index in mappings
	index    interval.Index
}

// find returns the mapping that holds an address and its index, or nil and -1. The mappings are
// those of the space, sorted by start. Of mappings that overlap, file-backed ones take precedence
// over anonymous ones, for ranges of generated code are never dropped from a space; then the one
// that starts last.
func (f *mappingFinder) find(space series.Space, mappings []heapfile.Mapping, a heapfile.Addr) (*heapfile.Mapping, int) {
	if f.mappings == nil || f.space != space {
		f.space, f.mappings = space, mappings
		f.build()
	}
	i, ok := f.index.Find(uint64(a))
	if !ok {
		return nil, -1
	}
	return &mappings[f.order[i]], f.order[i]
}

// build orders the mappings by precedence, as the index wants them.
func (f *mappingFinder) build() {
	f.order = f.order[:0]
	for _, wantFile := range []bool{false, true} {
		for i, m := range f.mappings {
			if strings.HasPrefix(m.Path, "/") == wantFile {
				f.order = append(f.order, i)
			}
		}
	}
	ranges := make([]interval.Range, len(f.order))
	for k, i := range f.order {
		ranges[k] = interval.Range{Lo: uint64(f.mappings[i].Start), Hi: uint64(f.mappings[i].Limit)}
	}
	f.index = interval.New(ranges)
}

// isLibrary reports whether a path has the name of a shared library: libc.so.6,
// _ctypes.cpython-311-x86_64-linux-gnu.so.
func isLibrary(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.") || strings.HasPrefix(base, "ld-")
}

// compareOffset orders locations by ELF address.
func compareOffset(a, b *Location) int { return cmp.Compare(a.Offset, b.Offset) }
