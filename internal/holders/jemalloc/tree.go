package jemalloc

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

const (
	// perNode is the number of elements of the root, and of a leaf, and nodeSize is the size in bytes.
	perNode, nodeSize = 1 << 18, 8 << 18
	// agreeing is the number of elements of a leaf that must agree with their extents to find the root.
	agreeing = 8
	// maxCandidates limits the words that are taken for addresses of leaves.
	maxCandidates = 1 << 16
)

// findRoot searches the data of the module for the root of the tree.
func (w *walk) findRoot() (root uint64, err error) {
	tried := map[uint64]bool{}
	for _, r := range w.Data {
		if r.End < r.Start || r.Size() < nodeSize {
			continue
		}
		w.words(r, func(address, word uint64) bool {
			if tried[word] || !w.isAnonymous(blocks.Range{Start: word, End: word + nodeSize}) {
				return true
			}
			tried[word] = true
			if key, ok := w.keyOf(word); ok {
				if at := address - 8*key; at >= r.Start && at <= address && at+nodeSize <= r.End {
					root = at
				}
			}
			return root == 0 && len(tried) < maxCandidates
		})
		if root != 0 {
			return root, nil
		}
	}
	return 0, ErrNoTree
}

// keyOf returns the index of a leaf in the root, which is its part of the addresses of all its extents. If the first
// elements do not agree, it is no leaf.
func (w *walk) keyOf(leaf uint64) (key uint64, ok bool) {
	n, same := 0, true
	w.words(blocks.Range{Start: leaf, End: leaf + nodeSize}, func(address, word uint64) bool {
		if element(word).extent() == 0 {
			return true
		}
		x, ok := w.readExtent(element(word))
		if !ok {
			same = false
			return false
		}
		if n == 0 {
			key = keyOfPage(x, (address-leaf)/8)
		}
		same = x.hasPage(key*perNode + (address-leaf)/8)
		n++
		return same && n < agreeing
	})
	return key, same && n == agreeing
}

// keyOfPage returns the first part of the number of the page of an extent whose last part is known.
func keyOfPage(x extent, index uint64) uint64 {
	first := x.Start / pageSize
	if first%perNode <= index {
		return first / perNode
	}
	return first/perNode + 1
}

func (x *extent) hasPage(number uint64) bool { return x.Contains(number * pageSize) }

// readTree reads the extents.
func (w *walk) readTree(root uint64) {
	total := uint64(0)
	w.words(blocks.Range{Start: root, End: root + nodeSize}, func(address, leaf uint64) bool {
		if !w.isAnonymous(blocks.Range{Start: leaf, End: leaf + nodeSize}) {
			w.problem("there is no leaf of the tree at %#x", leaf)
			return len(w.Problems) < maxProblems
		}
		w.leaves[leaf] = true
		w.addOwn(leaf)
		w.readLeaf(leaf, (address-root)/8, &total)
		return len(w.Problems) < maxProblems
	})
	slices.SortFunc(w.extents, func(a, b extent) int { return cmp.Compare(a.Start, b.Start) })
	kept := w.extents[:0]
	for _, x := range w.extents {
		if n := len(kept); n > 0 && kept[n-1].End > x.Start {
			w.problem("the extents at %#x and %#x overlap", kept[n-1].Start, x.Start)
			continue
		}
		kept = append(kept, x)
	}
	w.extents = kept
}

// readLeaf reads the extents of a leaf, each where its first page is.
func (w *walk) readLeaf(leaf, key uint64, total *uint64) {
	var last extent
	w.words(blocks.Range{Start: leaf, End: leaf + nodeSize}, func(address, word uint64) bool {
		e, page := element(word), key*perNode+(address-leaf)/8
		if e.extent() == 0 || e.extent() == last.at && last.hasPage(page) {
			return true
		}
		x, ok := w.readExtent(e)
		if !ok || !x.hasPage(page) {
			w.problem("page %#x has no extent in the tree", page*pageSize)
			return len(w.Problems) < maxProblems
		}
		last = x
		if x.Start != page*pageSize {
			return true
		}
		if *total += x.Size(); *total > maxBytes {
			w.problem("more than %d bytes in extents", uint64(maxBytes))
			return false
		}
		w.extents = append(w.extents, x)
		w.addOwn(x.at)
		return true
	})
}

// extentOf returns the extent in use that contains an address, or nil.
func (w *walk) extentOf(address uint64) *extent {
	i, found := slices.BinarySearchFunc(w.extents, address, func(x extent, address uint64) int {
		switch {
		case x.End <= address:
			return -1
		case x.Start > address:
			return 1
		}
		return 0
	})
	if !found || !w.extents[i].used {
		return nil
	}
	return &w.extents[i]
}
