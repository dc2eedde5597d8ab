package sites

import (
	"encoding/binary"
	"iter"

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

// all iterates over the snapshots that show the stack, and its counts there.
func (r *rows) all() iter.Seq2[int, counts] {
	return func(yield func(int, counts) bool) {
		var sum, more counts
		k := 0
		for n := 0; n <= len(r.runs); n++ {
			run := r.nth(n)
			for i := run.from; i < run.to; i++ {
				more, k = next(r.data, k)
				sum.bytes += more.bytes
				sum.objects += more.objects
				sum.alloc += more.alloc
				if !yield(int(i), sum) {
					return
				}
			}
		}
	}
}

// addTo adds all rows to a column.
func (r *rows) addTo(c *Column) {
	for i, of := range r.all() {
		c.add(i, of.bytes, of.objects, of.alloc)
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
	for i, of := range r.all() {
		if i == snapshot {
			return of.bytes
		}
	}
	return 0
}

// next reads the differences at an index, and returns the index after them.
func next(data []byte, k int) (counts, int) {
	var v [3]int64
	for i := range v {
		value, n := binary.Varint(data[k:])
		v[i], k = value, k+n
	}
	return counts{v[0], v[1], v[2]}, k
}
