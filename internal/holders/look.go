//go:build linux && amd64

package holders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/names"
	"github.com/heaplapse/heaplapse/internal/holders/pymalloc"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Options are those of Take.
type Options struct {
	// MaxBytes limits the memory of the graph; 0 means 1 GiB.
	MaxBytes uint64
	// Own lists memory of heaplapse's engine in the process, which does not hold blocks.
	Own []blocks.Range
	// Symbols locate files.
	Symbols symbolize.Options
}

// Look is what was seen of a process at one moment. The caller must call Close.
type Look struct {
	// Heap has the blocks.
	Heap *glibc.Heap
	// Doubts lists why a block that seems to be lost may be held: not all memory is understood. If there is
	// any, nothing is said to be lost.
	Doubts []string

	snapshot *snapshot.Snapshot
	process  *target.Process
	roots    []roots.Root
	graph    *graph.Graph
	names    *names.Process
}

// Take looks at a process. It returns a [snapshot.Refusal] if that is impossible.
func Take(pid int, o Options) (*Look, error) {
	kernel := roots.KernelWords(pid)
	s, err := snapshot.Take(pid, snapshot.Options{})
	if err != nil {
		return nil, err
	}
	l := &Look{snapshot: s}
	// What the kernel has may change: both readings count.
	if err := l.read(o, append(kernel, roots.KernelWords(pid)...)); err != nil {
		if early := s.Err(); early != nil {
			err = early
		}
		return nil, errors.Join(err, s.Close())
	}
	return l, nil
}

func (l *Look) read(o Options, kernel []uint64) (err error) {
	s := l.snapshot
	if l.process, err = target.Open(s.PID); err != nil {
		return err
	}
	if l.process.Libc == nil {
		return &snapshot.Refusal{Reason: fmt.Sprintf("process %d has ended, or runs another program", s.PID)}
	}
	p := glibc.ProcessOf(s.Memory, s.Mappings, l.process.Libc.Path)
	p.Resident = s.Resident
	if l.Heap, err = glibc.Walk(p); err != nil {
		return err
	}
	pools, err := pymalloc.Walk(pymalloc.Process{Memory: s.Memory, Anonymous: p.Anonymous, Resident: s.Resident},
		&l.Heap.Blocks)
	if err != nil {
		return err
	}
	l.roots = roots.Of(roots.Process{
		Memory: s.Memory, Mappings: s.Mappings, Threads: s.Threads, Own: append(l.Heap.Own, o.Own...), Kernel: kernel,
	}, &l.Heap.Blocks)
	l.graph, err = graph.Build(graph.Memory{Memory: s.Memory, Resident: s.Resident}, &l.Heap.Blocks, graph.Options{
		MaxBytes: o.MaxBytes, Doubtful: roots.StreamBuffers(s.Memory, l.process.Libc.Symbol("_IO_list_all").Start),
	})
	if err != nil {
		return err
	}
	l.graph.Mark(roots.Graph(l.roots))
	l.names = &names.Process{
		PID: s.PID, Modules: l.process.Modules, Libc: l.process.Libc, Mappings: s.Mappings, Memory: s.Memory, Options: o.Symbols,
	}
	l.listDoubts(pools)
	return s.Err()
}

func (l *Look) listDoubts(pools pymalloc.Result) {
	doubt := func(format string, args ...any) { l.Doubts = append(l.Doubts, fmt.Sprintf(format, args...)) }
	for _, p := range l.Heap.Problems {
		doubt("%v", p)
	}
	for _, m := range l.process.Allocators {
		doubt("%s has an allocator whose blocks are not known", symbolize.FileName(m.Path))
	}
	if n := len(l.snapshot.Missing); n > 0 {
		doubt("%d mappings were not copied (MADV_DONTFORK)", n)
	}
	if n := l.graph.Unreadable(); n > 0 {
		doubt("%d bytes could not be read", n)
	}
	if pools.Changing > 0 {
		doubt("%d pools of CPython were being changed", pools.Changing)
	}
}

// Stopped returns for how long the process was stopped.
func (l *Look) Stopped() time.Duration { return l.snapshot.Stopped }

// Close removes what is left of the look in the process.
func (l *Look) Close() error {
	l.names.Close()
	return l.snapshot.Close()
}

// Kind is what holds a block.
type Kind string

// Kinds of holders.
const (
	Global   Kind = "global"
	Kernel   Kind = "kernel"
	TLS      Kind = "thread-local"
	Stack    Kind = "stack"
	Unknown  Kind = "unknown"
	Shared   Kind = "shared"
	Doubtful Kind = "doubtful" // only words that are most likely no pointers
	Lost     Kind = "lost"     // nothing points to it, or only blocks that are lost
	Cycle    Kind = "cycle"    // lost blocks that hold each other
	NotFound Kind = "not-found"
)

var kinds = map[graph.Phase]Kind{
	roots.Global: Global, roots.Kernel: Kernel, roots.TLS: TLS, roots.Stack: Stack, roots.Unknown: Unknown,
	roots.Shared: Shared, roots.Stale: Doubtful, graph.Doubtful: Doubtful, graph.Lost: Lost, graph.UnderLost: Lost,
	graph.Cycle: Cycle,
}

// Holder tells what holds a block.
type Holder struct {
	Kind Kind
	// Name is that of the variable, or of the thread.
	Name string
	// Thread is the name of the thread of a stack or of a thread-local variable, and Function that of a stack.
	Thread, Function string
	// Variable is the variable, if it is a global or thread-local one.
	Variable *names.Variable
	// Blocks leads from the root to the block.
	Blocks []blocks.Range
	// Steps are the objects on that way.
	Steps []names.Step
}

const (
	// maxPath limits the blocks of a Holder: the last ones are kept.
	maxPath = 100
	// maxWalk limits the blocks for which Steps is made.
	maxWalk = 1 << 16
)

// Holders returns what holds the blocks at some addresses, in their order.
func (l *Look) Holders(ctx context.Context, addresses []uint64) ([]Holder, error) {
	list := make([]Holder, len(addresses))
	var words []names.Held
	var indices []int
	functions := map[int]string{}
	for i, address := range addresses {
		p, ok := l.graph.Path(address, maxWalk)
		if !ok {
			list[i].Kind = NotFound
			continue
		}
		h := Holder{Kind: kinds[p.Phase], Blocks: p.Blocks}
		if len(l.Doubts) > 0 && (h.Kind == Lost || h.Kind == Cycle) {
			h.Kind = Doubtful
		}
		if p.Root >= 0 {
			switch r := l.roots[p.Root]; {
			case r.Phase == roots.Global:
				words, indices = append(words, names.Held{Root: r, Address: p.Address}), append(indices, i)
			case r.Thread >= 0:
				h.Thread = l.snapshot.Threads[r.Thread].Name
				h.Name = h.Thread
				h.Function = l.function(ctx, r.Thread, functions)
				l.nameThreadLocal(ctx, &h, r, p.Address)
			}
		}
		list[i] = h
	}
	variables, err := l.names.Variables(ctx, words)
	if err != nil {
		return nil, err
	}
	for i, v := range variables {
		list[indices[i]].Name, list[indices[i]].Variable = v.String(), &v
	}
	for i := range list {
		h := &list[i]
		h.Steps = l.names.Steps(ctx, h.Variable, h.Blocks)
		h.Blocks = slices.Clone(h.Blocks[max(0, len(h.Blocks)-maxPath):])
	}
	return list, ctx.Err()
}

// nameThreadLocal names the thread-local variable that has a word of a root.
func (l *Look) nameThreadLocal(ctx context.Context, h *Holder, r roots.Root, address uint64) {
	if h.Kind != TLS {
		return
	}
	if v, ok := l.names.ThreadLocal(ctx, l.snapshot.Threads[r.Thread].TLS, address); ok {
		h.Name, h.Variable, h.Function = v.String(), &v, ""
	}
}

// function returns the function in which a thread is. known has those that were asked for.
func (l *Look) function(ctx context.Context, thread int, known map[int]string) string {
	name, ok := known[thread]
	if !ok {
		name = l.names.Function(ctx, l.snapshot.Stack(thread, l.process.Modules))
		known[thread] = name
	}
	return name
}
