package sites

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/heapfile"
)

// rows are the counts of a stack in the snapshots that show it. Counts hardly change from snapshot
// to snapshot, so that their differences take a quarter of the memory, or less. The zero value has
// none.
type rows struct {
	// data are the differences between each row and the one before, as varints: bytes, objects,
	// allocated bytes. begin is where the last row begins.
	data  []byte
	begin int
	// last are the counts of the last row.
	last counts
	// runs are the snapshots that show the stack, all but the last run of snapshots that follow
	// each other.
	runs []run
	run  run
}

// counts are what is kept of a row.
type counts struct{ bytes, objects, alloc int64 }

// run is the snapshots with indices from ≤ i < to.
type run struct{ from, to int32 }

// add adds the counts of a sample of a snapshot, which is the last one or a later one.
func (r *rows) add(snapshot int, e heapfile.Counts) {
	index, c := int32(snapshot), counts{e.InuseBytes, e.InuseObjects, e.AllocBytes}
	switch {
	case index == r.run.to-1 && r.run.from < r.run.to:
		r.addToLast(c)
		return
	case index == r.run.to:
		r.run.to++
	default:
		if r.run.from < r.run.to {
			r.runs = append(r.runs, r.run)
		}
		r.run = run{index, index + 1}
	}
	r.append(c)
}

// append appends a row.
func (r *rows) append(c counts) {
	r.begin = len(r.data)
	r.data = binary.AppendVarint(r.data, c.bytes-r.last.bytes)
	r.data = binary.AppendVarint(r.data, c.objects-r.last.objects)
	r.data = binary.AppendVarint(r.data, c.alloc-r.last.alloc)
	r.last = c
}

// addToLast adds counts to the last row: a snapshot may have several samples of a stack.
func (r *rows) addToLast(c counts) {
	sum := counts{r.last.bytes + c.bytes, r.last.objects + c.objects, r.last.alloc + c.alloc}
	more, _ := next(r.data, r.begin)
	r.last = counts{r.last.bytes - more.bytes, r.last.objects - more.objects, r.last.alloc - more.alloc}
	r.data = r.data[:r.begin]
	r.append(sum)
}

// addTo adds all rows to a column.
func (r *rows) addTo(c *Column) {
	var sum, more counts
	k := 0
	for n := 0; n <= len(r.runs); n++ {
		run := r.nth(n)
		for i := run.from; i < run.to; i++ {
			more, k = next(r.data, k)
			sum.bytes += more.bytes
			sum.objects += more.objects
			sum.alloc += more.alloc
			c.add(int(i), sum.bytes, sum.objects, sum.alloc)
		}
	}
}

// nth returns a run.
func (r *rows) nth(n int) run {
	if n < len(r.runs) {
		return r.runs[n]
	}
	return r.run
}

// inUse returns the bytes in use in a snapshot; 0 if it does not show the stack.
func (r *rows) inUse(snapshot int) int64 {
	if int32(snapshot) == r.run.to-1 {
		return r.last.bytes
	}
	var bytes int64
	var more counts
	k := 0
	for n := 0; n <= len(r.runs); n++ {
		run := r.nth(n)
		for i := run.from; i < run.to; i++ {
			more, k = next(r.data, k)
			bytes += more.bytes
			if int(i) == snapshot {
				return bytes
			}
		}
	}
	return 0
}

// next reads the differences at an index, and returns the index after them.
func next(data []byte, k int) (counts, int) {
	var c counts
	c.bytes, k = varint(data, k)
	c.objects, k = varint(data, k)
	c.alloc, k = varint(data, k)
	return c, k
}

// varint reads a number as [binary.Varint] does. Most have one byte or two.
func varint(data []byte, k int) (int64, int) {
	x := uint64(data[k])
	if x >= 0x80 {
		if next := uint64(data[k+1]); next < 0x80 {
			x, k = x&0x7f|next<<7, k+1
		} else {
			x, k = long(data, k)
		}
	}
	return int64(x>>1) ^ -int64(x&1), k + 1
}

// long reads a number of several bytes, and returns the index of the last one.
func long(data []byte, k int) (x uint64, last int) {
	for shift := 0; ; shift += 7 {
		b := data[k]
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x, k
		}
		k++
	}
}
