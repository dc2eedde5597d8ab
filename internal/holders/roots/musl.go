//go:build linux

package roots

import (
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Of struct pthread of musl.
const (
	muslDescriptor = 208
	// The descriptor has the number of the thread, the addresses and sizes of its mapping and of its stack, and the
	// address of the values of pthread_setspecific. In 1.2.1 they are 8 bytes further on, behind a word that is 0.
	muslNumber  = 48
	muslMapping = 72
	muslValues  = 128
	muslKeys    = 128 // PTHREAD_KEYS_MAX
)

// muslThread is what the descriptor of a thread of musl tells.
type muslThread struct {
	// mapping has the stack, the thread-local variables, the descriptor and the values of pthread_setspecific, in this
	// order. It is empty for the main thread, and if the program has provided the stack.
	mapping blocks.Range
	// stack is empty for the main thread.
	stack blocks.Range
	// values may be empty.
	values blocks.Range
}

// muslThread reads the descriptor of a thread.
func (b *builder) muslThread(t snapshot.Thread) (m muslThread) {
	descriptor := t.TLS
	if b.word(descriptor+muslNumber) == 0 { // 1.2.1
		descriptor += 8
	}
	word := func(offset uint64) uint64 { return b.word(descriptor + offset) }
	if start, size := word(muslMapping), word(muslMapping+8); start != 0 && start+size > start {
		m.mapping = blocks.Range{Start: start, End: start + size}
	}
	if top, size := word(muslMapping+16), word(muslMapping+24); top > size {
		m.stack = blocks.Range{Start: top - size, End: top}
	}
	if values := word(muslValues); values%8 == 0 && values != 0 {
		m.values = blocks.Range{Start: values, End: values + 8*muslKeys}
	}
	return m
}

// addMuslTLS adds the thread-local variables of the threads of a process with musl, their descriptors, and the
// values of pthread_setspecific. Those of the main thread are in the data of the C library, or in a block, which is
// free then.
func (b *builder) addMuslTLS() {
	size := tlsSize(b.Memory, b.Mappings)
	for i, t := range b.Threads {
		m, ok := target.Containing(b.Mappings, t.TLS)
		if !ok || b.word(t.TLS) != t.TLS {
			continue
		}
		variables := blocks.Range{Start: t.TLS, End: t.TLS}
		descriptor := blocks.Range{Start: t.TLS, End: min(t.TLS+muslDescriptor, m.End)}
		if start := b.tlsStart(t, size); start != 0 {
			variables.Start = max(start, m.Start)
		}
		thread := b.muslThread(t)
		if thread.mapping.Contains(t.TLS) {
			descriptor.End = min(thread.mapping.End, m.End)
		} else if b.isWritable(thread.values) {
			b.add(Descriptor, thread.values, "", i)
		}
		block, _ := b.set.Find(t.TLS)
		b.addInFree(TLS, variables, block, i)
		b.addInFree(Descriptor, descriptor, block, i)
	}
}

// addInFree adds a range of a thread, also if it lies in a block that is free.
func (b *builder) addInFree(kind Kind, r blocks.Range, block blocks.Block, thread int) {
	if !block.Free {
		b.add(kind, r, "", thread)
		return
	}
	r.Start = max(r.Start, block.Start)
	b.list = append(b.list, Root{Root: graph.Root{Phase: kind, Range: r}, Thread: thread})
	b.taken = append(b.taken, r)
}

// isWritable reports whether a range that is not empty is in private memory that the program can write to.
func (b *builder) isWritable(r blocks.Range) bool {
	m, ok := target.Containing(b.Mappings, r.Start)
	return ok && r.Start < r.End && r.End <= m.End && len(m.Permissions) == 4 && m.Permissions[:2] == "rw" &&
		m.Permissions[3] == 'p'
}
