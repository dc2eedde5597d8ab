package series

import (
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/intern"
)

// Space identifies one address space: a process image between two changes of its mappings. An
// address means something only within its Space. The mappings of a Space are in [Series.Spaces].
type Space uint32

// StackTable holds each stack of a series once. Stacks are numbered in order of first appearance,
// so the numbers are the same in every run. The same addresses in two process images are two
// stacks.
//
// It does not change after [Open] and is safe for concurrent readers.
type StackTable struct {
	set    intern.Set[heapfile.Addr]
	spaces []Space
}

// Len returns the number of stacks; valid IDs are 0 to Len()-1.
func (t *StackTable) Len() int { return len(t.spaces) }

// Addrs returns a stack, leaf first. The caller must not change it.
func (t *StackTable) Addrs(id heapfile.StackID) []heapfile.Addr { return t.set.Addrs(uint32(id)) }

// Space returns the address space in which a stack first appeared.
func (t *StackTable) Space(id heapfile.StackID) Space { return t.spaces[id] }

// add returns the ID of a stack of a process image. A new stack belongs to the given space.
func (t *StackTable) add(image int, space Space, addrs []heapfile.Addr) heapfile.StackID {
	number, added := t.set.Intern(uint64(image), addrs)
	if added {
		t.spaces = append(t.spaces, space)
	}
	return heapfile.StackID(number)
}

// find returns the ID of a stack of a process image, if the table has it.
func (t *StackTable) find(image int, addrs []heapfile.Addr) (heapfile.StackID, bool) {
	number, ok := t.set.Find(uint64(image), addrs)
	return heapfile.StackID(number), ok
}

// renumbering maps the stack IDs of one decoder to those of a [StackTable]. A stack is looked up
// once per decoder and process image.
type renumbering struct {
	image int
	ids   []uint32 // by the decoder's ID: the table's ID + 1; 0 is unknown
}

// apply renumbers the samples of a snapshot. id returns the table's ID of a stack.
func (r *renumbering) apply(s *heapfile.Snapshot, image int, id func([]heapfile.Addr) (heapfile.StackID, error)) error {
	if r.image != image {
		r.image, r.ids = image, r.ids[:0]
	}
	if n := s.Stacks.Len() - len(r.ids); n > 0 {
		r.ids = append(r.ids, make([]uint32, n)...)
	}
	for i := range s.Samples {
		own := s.Samples[i].Stack
		if r.ids[own] == 0 {
			known, err := id(s.Stacks.Addrs(own))
			if err != nil {
				return err
			}
			r.ids[own] = uint32(known) + 1
		}
		s.Samples[i].Stack = heapfile.StackID(r.ids[own] - 1)
	}
	return nil
}

// renumberings are those of the decoders of several workers.
type renumberings []*renumbering

// of returns the renumbering of a worker.
func (r *renumberings) of(worker int) *renumbering {
	for len(*r) <= worker {
		*r = append(*r, &renumbering{})
	}
	return (*r)[worker]
}
