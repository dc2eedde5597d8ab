package symbolize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// mappingFinder finds the mapping of an address, keeping for each space what a
// binary search needs.
type mappingFinder struct {
	reach map[series.Space][]heapfile.Addr
}

// maxNested bounds the search where mappings overlap.
const maxNested = 64

// find returns the mapping that holds an address, and its index. mappings are
// sorted by start; of several (macOS) the one that starts last counts. A file
// goes before memory without one: ranges of generated code are kept for good.
func (f *mappingFinder) find(space series.Space, mappings []heapfile.Mapping, a heapfile.Addr) (*heapfile.Mapping, int) {
	reach, ok := f.reach[space]
	if !ok {
		reach = series.LimitsSoFar(mappings)
		if f.reach == nil {
			f.reach = map[series.Space][]heapfile.Addr{}
		}
		f.reach[space] = reach
	}
	end, _ := slices.BinarySearchFunc(mappings, a, func(m heapfile.Mapping, a heapfile.Addr) int {
		if m.Start <= a {
			return -1
		}
		return 1
	})
	best := -1
	for i, tried := end-1, 0; i >= 0 && reach[i] > a && tried < maxNested; i, tried = i-1, tried+1 {
		if !mappings[i].Contains(a) {
			continue
		}
		if strings.HasPrefix(mappings[i].Path, "/") {
			return &mappings[i], i
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 {
		return nil, -1
	}
	return &mappings[best], best
}

// isLibrary recognises shared libraries by name: libc.so.6, _ctypes.cpython-311-x86_64-linux-gnu.so.
func isLibrary(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.") || strings.HasPrefix(base, "ld-")
}

// compareOffset orders by ELF address.
func compareOffset(a, b *Location) int { return cmp.Compare(a.Offset, b.Offset) }
