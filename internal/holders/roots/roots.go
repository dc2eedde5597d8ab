//go:build linux

package roots

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Kind is what a root is. It is also the phase in which it is followed.
type Kind = graph.Phase

// Kinds by the order in which they are followed.
const (
	Module        Kind = iota + 1 // a module of Python
	Frame                         // variables of a function of Python that runs
	Temporary                     // its other values, some of which are old
	Global                        // data of a module
	TLS                           // thread-local variables
	MainVariable                  // local variables of main
	Kernel                        // a word that the kernel has for the program, such as the data of epoll_ctl(2)
	Descriptor                    // what glibc keeps for a thread, such as the argument of its function
	LocalVariable                 // local variables of other functions that run
	Stack                         // a stack, or registers
	Unknown                       // other private memory
	Shared                        // memory that is shared with other processes
	Stale                         // the part of a stack that is not in use
)

// Root is memory that holds blocks.
type Root struct {
	graph.Root
	// Module is the path of the file whose data it is.
	Module string
	// Thread is the index of the thread whose stack or registers it is, or -1.
	Thread int
}

// Process is what is known of the process.
type Process struct {
	Memory   blocks.Memory
	Mappings []target.Mapping
	Threads  []snapshot.Thread
	// Libc is the path of the C library. Musl reports whether that is musl, not glibc.
	Libc string
	Musl bool
	// Own lists memory that belongs to the allocator, or to heaplapse.
	Own []blocks.Range
	// Kernel has the words that the kernel keeps.
	Kernel []uint64
	// Locals lists the memory of stacks that belongs to variables.
	Locals []LocalMemory
	// Runtime lists what the runtime of a language knows to be roots, which may be parts of blocks. Other
	// memory is not added again.
	Runtime []Root
}

// LocalMemory is memory of the stack of a thread, which is given by its index, that belongs to a variable. Depth is
// the number of frames between that of the variable and the outermost one. Main reports whether it is one of main.
type LocalMemory struct {
	blocks.Range
	Thread, Depth int
	Main          bool
}

// Of lists the roots of a process whose blocks are in a set.
func Of(p Process, set *blocks.Set) []Root {
	b := builder{Process: p, set: set}
	for _, r := range p.Runtime {
		if set.Region(r.Range.Start) == nil {
			b.taken = append(b.taken, r.Range)
		}
	}
	b.list = slices.Clone(p.Runtime)
	if p.Musl {
		b.addMuslTLS()
	}
	b.addGlobals()
	if len(p.Kernel) > 0 {
		b.list = append(b.list, Root{Root: graph.Root{Phase: Kernel, Values: p.Kernel}, Thread: -1})
	}
	b.addThreads()
	b.addRest()
	for i := range b.list {
		if r := &b.list[i]; r.Turn == 0 {
			r.Turn = turn(r.Phase, 0)
		}
	}
	return b.list
}

// turn is when the roots of a kind and rank are followed. Variables that live as long as the program or a thread are
// followed together. The blocks of each may have words of their last owners, which lead to everything, but by longer
// ways.
func turn(k Kind, rank int) int {
	const ranks = 1 << 16
	if k == TLS || k == MainVariable {
		k = Global
	}
	return int(k)*ranks + min(rank, ranks-1)
}

type builder struct {
	Process
	set   *blocks.Set
	list  []Root
	taken []blocks.Range // by roots
}

// add adds the parts of a range that are not taken, and that are neither blocks nor the allocator's.
func (b *builder) add(kind Kind, r blocks.Range, module string, thread int) {
	cut := overlapping(r, b.Own, b.taken)
	for _, part := range b.set.Gaps(r) {
		for _, free := range subtract([]blocks.Range{part}, cut) {
			root := graph.Root{Phase: kind, Range: free}
			b.list = append(b.list, Root{Root: root, Module: module, Thread: thread})
		}
	}
	b.taken = append(b.taken, r)
}

// addLocals adds the variables on the stacks. Those of main, and objects such as containers, own what they have, as
// global variables do. Of the others, which are mostly pointers that a function was given, those of outer functions
// count more.
func (b *builder) addLocals() {
	const pointers = 16 // bytes, also of shared_ptr and of most iterators
	for _, l := range b.Locals {
		n, kind, when := len(b.list), LocalVariable, turn(LocalVariable, l.Depth)
		if l.Main {
			kind = MainVariable
		}
		if l.Main || l.Size() > pointers {
			when = turn(Global, 0)
		}
		b.add(kind, l.Range, "", l.Thread)
		b.setTurn(n, when)
	}
}

// setTurn sets the turn of the roots from an index on.
func (b *builder) setTurn(from, turn int) {
	for i := range b.list[from:] {
		b.list[from+i].Turn = turn
	}
}

// overlapping returns those of some ranges that overlap another one.
func overlapping(r blocks.Range, lists ...[]blocks.Range) (found []blocks.Range) {
	for _, list := range lists {
		for _, o := range list {
			if o.Start < r.End && r.Start < o.End {
				found = append(found, o)
			}
		}
	}
	return found
}

// subtract returns what is left of ranges.
func subtract(list, cut []blocks.Range) []blocks.Range {
	for _, c := range cut {
		var left []blocks.Range
		for _, r := range list {
			if before := (blocks.Range{Start: r.Start, End: min(r.End, c.Start)}); before.Start < before.End {
				left = append(left, before)
			}
			if behind := (blocks.Range{Start: max(r.Start, c.End), End: r.End}); behind.Start < behind.End {
				left = append(left, behind)
			}
		}
		list = left
	}
	return list
}

// addThreads adds the registers of threads, their stacks, and their thread-local variables. What a thread was started
// with is mostly a variable of main, too, which has a name.
func (b *builder) addThreads() {
	size := tlsSize(b.Memory, b.Mappings)
	for i, t := range b.Threads {
		if start := b.tlsStart(t, size); start != 0 && !b.Musl {
			b.add(TLS, blocks.Range{Start: start, End: t.TLS}, "", i)
			b.add(Descriptor, blocks.Range{Start: t.TLS, End: t.TLS + descriptor}, "", i)
		}
		b.addLoaded(t, i)
	}
	b.addLocals()
	for i, t := range b.Threads {
		b.list = append(b.list, Root{Root: graph.Root{Phase: Stack, Values: t.Registers}, Thread: i})
		if live := b.liveStack(t); live.Size() > 0 {
			b.add(Stack, live, "", i)
		}
	}
	for i, t := range b.Threads {
		if m, ok := target.Containing(b.Mappings, t.TLS); ok && !b.Musl && !b.liveStack(t).Contains(t.TLS) {
			start := t.TLS - min(t.TLS, size)
			b.add(TLS, blocks.Range{Start: max(start, m.Start), End: min(t.TLS+descriptor, m.End)}, "", i)
		}
	}
	for i, t := range b.Threads {
		if stale := b.staleStack(t); stale.Size() > 0 {
			b.add(Stale, stale, "", i)
		}
	}
}

// addLoaded adds the thread-local variables of libraries that were loaded later: the dynamic linker of glibc has
// allocated them.
func (b *builder) addLoaded(t snapshot.Thread, thread int) {
	if b.Musl {
		return
	}
	for _, at := range Vector(b.Memory, t.TLS, b.Musl) {
		if block, ok := b.set.Find(at); ok && !block.Free && block.Contains(at) {
			r := blocks.Range{Start: at, End: block.End}
			b.list = append(b.list, Root{Root: graph.Root{Phase: TLS, Range: r}, Thread: thread})
		}
	}
}

// tlsStart returns where the thread-local variables of a thread begin that lie before its thread pointer, or 0 if
// that is not known. The vector of the thread has the address of those of each module. At most size bytes can be
// there.
func (b *builder) tlsStart(t snapshot.Thread, size uint64) (start uint64) {
	for _, at := range Vector(b.Memory, t.TLS, b.Musl) {
		if at < t.TLS && t.TLS-at < size && (start == 0 || at < start) {
			start = at
		}
	}
	return start
}

func (b *builder) word(address uint64) uint64 { return word(b.Memory, address) }

// word returns the word at an address, or 0 if it cannot be read.
func word(memory blocks.Memory, address uint64) uint64 {
	var buf [8]byte
	if memory.Read(address, buf[:]) != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(buf[:])
}

const (
	redZone    = 128
	descriptor = 2304 // size of struct pthread of glibc, at the thread pointer
)

// liveStack returns the part of a stack that is in use. The stack of a thread ends with its descriptor, that of
// the main thread with its mapping.
func (b *builder) liveStack(t snapshot.Thread) blocks.Range {
	m, ok := target.Containing(b.Mappings, t.SP)
	if !ok {
		return blocks.Range{}
	}
	live := blocks.Range{Start: max(m.Start, t.SP-min(t.SP, redZone)), End: m.End}
	if b.Musl {
		if stack := b.muslThread(t).stack; stack.Contains(t.SP) {
			live.End = min(live.End, stack.End)
		}
		return live
	}
	if t.TLS > t.SP && t.TLS < m.End {
		live.End = min(m.End, (t.TLS+descriptor+page-1)&^(page-1))
	}
	return live
}

// staleStack returns the part of a stack that is not in use. Stacks of threads may lie in one mapping.
func (b *builder) staleStack(t snapshot.Thread) blocks.Range {
	live := b.liveStack(t)
	m, ok := target.Containing(b.Mappings, t.SP)
	if !ok {
		return blocks.Range{}
	}
	stale := blocks.Range{Start: m.Start, End: live.Start}
	if b.Musl {
		if stack := b.muslThread(t).stack; stack.Contains(t.SP) {
			stale.Start = max(stale.Start, stack.Start)
		}
	}
	for _, other := range b.Threads {
		if end := b.liveStack(other).End; end <= stale.End {
			stale.Start = max(stale.Start, end)
		}
	}
	return stale
}

// addRest adds all other memory that the program has written to, or can write to. It may have made private memory
// read-only since.
func (b *builder) addRest() {
	for _, m := range b.Mappings {
		kind := Unknown
		if strings.HasSuffix(m.Permissions, "s") {
			kind = Shared
		}
		private := strings.HasSuffix(m.Permissions, "p") && !strings.HasPrefix(m.Path, "[v") // [vvar], [vdso]
		readable := strings.HasPrefix(m.Permissions, "rw") || strings.HasPrefix(m.Permissions, "r") && private
		if readable && !isDevice(m.Path) {
			b.add(kind, blocks.Range{Start: m.Start, End: m.End}, "", -1)
		}
	}
}

// isDevice reports whether reading the memory of a file may have an effect.
func isDevice(path string) bool {
	memory := strings.HasPrefix(path, "/dev/zero") || strings.HasPrefix(path, "/dev/shm/")
	return strings.HasPrefix(path, "/dev/") && !memory
}

// Graph returns the roots as package graph wants them.
func Graph(list []Root) (roots []graph.Root) {
	for _, r := range list {
		roots = append(roots, r.Root)
	}
	return roots
}

func byStart(a, b blocks.Range) int { return cmp.Compare(a.Start, b.Start) }
