package heapfile

import "github.com/heaplapse/heaplapse/heapfile/internal/intern"

// StackID is the number of a stack in a [Stacks] table.
type StackID uint32

// Stacks holds the stacks of one or more files, each once. The zero value is empty. It is
// immutable.
type Stacks struct{ view intern.View[Addr] }

// Len returns the number of stacks; valid IDs are 0 to Len()-1.
func (t Stacks) Len() int { return t.view.Len() }

// Addrs returns a stack, leaf first. The caller must not change it.
func (t Stacks) Addrs(id StackID) []Addr { return t.view.Addrs(uint32(id)) }
