package elffile

import (
	"bytes"
	"cmp"
	"slices"
)

// Range is a part of a file, in bytes.
type Range struct{ Offset, Size uint64 }

func (r Range) end() uint64 { return r.Offset + r.Size }

// Touched records the parts of a file that were read: headers, sections and code. A copy of the
// file with only these parts yields the same answers.
type Touched struct{ ranges []Range }

// add records a part. Most parts overlap or follow the previous one.
func (t *Touched) add(r Range) {
	if t == nil || r.Size == 0 {
		return
	}
	if n := len(t.ranges); n > 0 {
		last := &t.ranges[n-1]
		if r.Offset >= last.Offset && r.Offset <= last.end() {
			last.Size = max(last.end(), r.end()) - last.Offset
			return
		}
	}
	t.ranges = append(t.ranges, r)
}

// Union returns the parts of several records of one file, sorted and disjoint.
func Union(list ...*Touched) []Range {
	var all, out []Range
	for _, t := range list {
		all = append(all, t.ranges...)
	}
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.Offset, b.Offset) })
	for _, r := range all {
		if n := len(out); n > 0 && r.Offset <= out[n-1].end() {
			out[n-1].Size = max(out[n-1].end(), r.end()) - out[n-1].Offset
			continue
		}
		out = append(out, r)
	}
	return out
}

// headerReader records the parts that debug/elf reads.
type headerReader struct {
	*bytes.Reader
	touched *Touched
}

func (r headerReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.Reader.ReadAt(b, off)
	if n > 0 {
		r.touched.add(Range{uint64(off), uint64(n)})
	}
	return n, err
}
