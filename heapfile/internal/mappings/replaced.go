package mappings

import (
	"iter"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/interval"
)

// WithoutReplaced returns the known mappings without those that share an address with an added
// mapping of another file. Only mappings of files count: anonymous memory does not change what an
// address means.
//
// One sweep over the address space finds each replaced mapping once, so that the cost is
// O(n log n) for n mappings, even if all of them overlap.
func WithoutReplaced(known, added []heapfile.Mapping) []heapfile.Mapping {
	if !slices.ContainsFunc(added, isFile) {
		return known
	}
	all := slices.Concat(known, added)
	replaced := make(map[int]bool)
	openKnown, openAdded := openFiles{}, openFiles{}
	for i, opens := range interval.Sweep(fileRanges(all)) {
		m, isKnown := all[i], i < len(known)
		switch {
		case !opens && isKnown:
			openKnown.remove(i, m)
		case !opens:
			openAdded.remove(i, m)
		case isKnown && openAdded.anyOther(m):
			replaced[i] = true
		case isKnown:
			openKnown.add(i, m)
		default:
			for k := range openKnown.others(m) {
				replaced[k] = true
				openKnown.remove(k, all[k])
			}
			openAdded.add(i, m)
		}
	}
	var kept []heapfile.Mapping
	for i, m := range known {
		if !replaced[i] {
			kept = append(kept, m)
		}
	}
	return kept
}

func isFile(m heapfile.Mapping) bool { return strings.HasPrefix(m.Path, "/") }

// fileRanges returns the address range of each mapping, or an empty range if it is not of a file.
func fileRanges(mappings []heapfile.Mapping) []interval.Range {
	ranges := make([]interval.Range, len(mappings))
	for i, m := range mappings {
		if isFile(m) {
			ranges[i] = interval.Range{Lo: uint64(m.Start), Hi: uint64(m.Limit)}
		}
	}
	return ranges
}

// filePlace is a file and the address of its first byte. With the inode, it determines what the
// addresses of a mapping mean.
type filePlace struct {
	path string
	base heapfile.Addr
}

func placeOf(m heapfile.Mapping) filePlace { return filePlace{m.Path, m.Start - m.Offset} }

// openFiles is the mappings that hold the address that a sweep is at: their positions by place and
// inode. With these groups, mappings of another file are found without a scan of the same file's.
type openFiles map[filePlace]map[uint64]map[int]bool

func (o openFiles) add(i int, m heapfile.Mapping) {
	inodes := o[placeOf(m)]
	if inodes == nil {
		inodes = map[uint64]map[int]bool{}
		o[placeOf(m)] = inodes
	}
	if inodes[m.Inode] == nil {
		inodes[m.Inode] = map[int]bool{}
	}
	inodes[m.Inode][i] = true
}

// remove removes a mapping, if it is there.
func (o openFiles) remove(i int, m heapfile.Mapping) {
	inodes := o[placeOf(m)]
	delete(inodes[m.Inode], i)
	if len(inodes[m.Inode]) == 0 {
		delete(inodes, m.Inode)
	}
	if len(inodes) == 0 {
		delete(o, placeOf(m))
	}
}

// others yields the mappings that are of another file than m, or of the same at another base. The
// same path is another file if the inodes are known and differ.
func (o openFiles) others(m heapfile.Mapping) iter.Seq[int] {
	return func(yield func(int) bool) {
		for place, inodes := range o {
			for inode, positions := range inodes {
				if place == placeOf(m) && (inode == m.Inode || inode == 0 || m.Inode == 0) {
					continue
				}
				for i := range positions {
					if !yield(i) {
						return
					}
				}
			}
		}
	}
}

func (o openFiles) anyOther(m heapfile.Mapping) bool {
	for range o.others(m) {
		return true
	}
	return false
}
