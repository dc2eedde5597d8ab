//go:build linux && amd64

package holders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/names"
	"github.com/heaplapse/heaplapse/internal/holders/pymalloc"
	"github.com/heaplapse/heaplapse/internal/holders/python"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/holders/samples"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Look is what was seen of a process at one moment. The caller must call Close.
type Look struct {
	// Heap is that of glibc's malloc, or nil if the process does not use it.
	Heap *glibc.Heap
	// Doubts lists why a block that seems to be lost may be held: not all memory is understood. If there is
	// any, nothing is said to be lost.
	Doubts []string

	snapshot *snapshot.Snapshot
	process  *target.Process
	samples  *samples.Table // nil if heaplapse's engine does not record the process
	engine   []blocks.Range // the memory of that engine, which holds no block
	set      *blocks.Set    // all blocks whose boundaries are known
	musl     bool           // it has blocks of musl's malloc
	whole    *blocks.Set    // those of jemalloc
	own      []blocks.Range // the memory in which allocators keep their own data
	jemalloc []string       // files with jemalloc, whose blocks are in the set
	problems []error        // what does not fit in the memory of allocators
	pools    pymalloc.Result
	taken    time.Time
	pages    []blocks.Range // those that are resident, if that is asked
	roots    []roots.Root
	stacks   stacks
	locals   []names.Local // by address
	graph    *graph.Graph
	names    *names.Process
	python   *python.Interpreter // may be nil
	ruby     bool                // its interpreter is there
}

// Copy is a copy of a process, which Begin has made and the process does not see. It is read at leisure, also when the
// process has ended. The caller must call Look, Ask or Close.
type Copy struct {
	snapshot *snapshot.Snapshot
	kernel   []uint64
	ring     bool // the process uses io_uring
	taken    time.Time
	resident *rss.Kernel // what the kernel said of the resident memory, or nil
}

// BeginResident is Begin for an answer that also tells where the resident memory is.
func BeginResident(pid int, g *snapshot.Guard) (*Copy, error) {
	resident, unread := rss.ReadKernel(pid)
	c, err := Begin(pid, g)
	if err != nil {
		return nil, err
	}
	if unread == nil {
		c.resident = resident
	}
	return c, nil
}

// Begin copies a process, which is stopped meanwhile. It returns a [snapshot.Refusal] if that is impossible or may do
// harm; the process is then as it was. The guard removes the copy if heaplapse is killed; it may be nil.
func Begin(pid int, g *snapshot.Guard) (*Copy, error) {
	kernel := roots.KernelWords(pid)
	s, err := snapshot.Take(pid, snapshot.Options{Guard: g})
	if err != nil {
		return nil, err
	}
	// What the kernel has may change: both readings count.
	kernel = append(kernel, roots.KernelWords(pid)...)
	return &Copy{snapshot: s, kernel: kernel, ring: roots.HasRing(pid), taken: time.Now()}, nil
}

// Close removes the copy.
func (c *Copy) Close() error { return c.snapshot.Close() }

func (c *Copy) newLook() *Look {
	l := &Look{snapshot: c.snapshot, taken: c.taken}
	if c.ring {
		l.problems = append(l.problems, errors.New("the kernel does not tell the pointers in requests of io_uring"))
	}
	l.stacks = stacks{Look: l, frames: map[int][]unwind.Frame{}, functions: map[[2]int]string{}}
	return l
}

// Look reads the copy. After an error, the copy is removed.
func (c *Copy) Look(ctx context.Context, o Options) (*Look, error) {
	l := c.newLook()
	var err error
	if c.resident != nil {
		err = l.readPages()
	}
	if err == nil {
		err = l.walk()
	}
	if err == nil {
		err = l.link(ctx, o, c.kernel)
	}
	if err != nil {
		if early := c.snapshot.Err(); early != nil {
			err = early
		}
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// walk reads the live samples, and finds the blocks of malloc and of CPython.
func (l *Look) walk() (err error) {
	s := l.snapshot
	// That of the copy is the same, and is there when the process has ended. Reading that of the process would make
	// pages of files resident.
	if l.process, err = target.Open(s.Memory.PID); err != nil {
		return err
	}
	if err := l.readSamples(); err != nil {
		return err
	}
	if l.process.Libc == nil {
		return nil
	}
	p := glibc.ProcessOf(s.Memory, s.Mappings, l.process.Libc.Path)
	p.Resident = s.Resident
	l.walkJemalloc(p.Anonymous)
	p.Anonymous = without(p.Anonymous, l.whole)
	l.set = &blocks.Set{}
	switch l.Heap, err = glibc.Walk(p); {
	case l.process.Musl:
		l.walkMusl()
	case errors.Is(err, glibc.ErrNoArena):
	case err != nil:
		return err
	default:
		l.set, l.own = &l.Heap.Blocks, append(l.own, l.Heap.Own...)
		l.problems = append(l.problems, l.Heap.Problems...)
	}
	l.pools, err = pymalloc.Walk(pymalloc.Process{Memory: s.Memory, Anonymous: p.Anonymous, Resident: s.Resident}, l.set)
	if err == nil {
		l.set, err = join(l.set, l.whole)
	}
	return err
}

// link finds what holds the blocks that walk has found.
func (l *Look) link(ctx context.Context, o Options, kernel []uint64) error {
	s := l.snapshot
	if l.process.Libc == nil {
		return &snapshot.Refusal{Reason: fmt.Sprintf("process %d has ended, or runs another program", s.PID)}
	}
	if l.Heap == nil && !l.musl && len(l.jemalloc) == 0 {
		return l.noMalloc()
	}
	if err := l.build(o); err != nil {
		return err
	}
	l.names = &names.Process{
		PID: s.Memory.PID, Modules: l.process.Modules, Libc: l.process.Libc, Musl: l.process.Musl,
		Mappings: s.Mappings, Memory: s.Memory, Whole: l.whole, Options: o.Symbols,
	}
	r := roots.Process{
		Memory: s.Memory, Mappings: s.Mappings, Threads: s.Threads,
		Libc: l.process.Libc.Path, Musl: l.process.Musl,
		Own: slices.Concat(l.own, l.engine), Kernel: kernel, Locals: l.findLocals(ctx),
	}
	if l.python != nil {
		r.Runtime = l.python.Roots()
	}
	l.roots = roots.Of(r, l.set)
	l.graph.Mark(roots.Graph(l.roots))
	l.ruby = slices.ContainsFunc(l.process.Modules, isRuby)
	l.listDoubts()
	return s.Err()
}

// noMalloc is the refusal of a process that does not use malloc of glibc or musl.
func (l *Look) noMalloc() error {
	r := &snapshot.Refusal{Reason: fmt.Sprintf("process %d has no memory of glibc's malloc", l.snapshot.PID)}
	if l.process.Musl {
		r.Reason = fmt.Sprintf("process %d has no memory of musl's malloc of 1.2.1 or later", l.snapshot.PID)
	}
	if list := l.unknownAllocators(); len(list) > 0 {
		r.Reason += ": it uses " + symbolize.FileName(list[0]) + ", whose blocks are not known"
	}
	return r
}

// build reads the pointers between the blocks.
func (l *Look) build(o Options) (err error) {
	s := l.snapshot
	options := graph.Options{
		MaxBytes: o.MaxBytes, Doubtful: roots.StreamBuffers(s.Memory, l.process.Libc.Symbol("_IO_list_all").Start),
	}
	l.python, err = python.Find(python.Process{
		Memory: s.Memory, Mappings: s.Mappings, Modules: l.process.Modules, Blocks: l.set,
	})
	if len(l.jemalloc) > 0 {
		options.Whole = l.whole
	}
	if err != nil {
		l.Doubts = append(l.Doubts, err.Error())
	} else if l.python != nil {
		options.Content = l.python
	}
	l.graph, err = graph.Build(graph.Memory{Memory: s.Memory, Resident: s.Resident}, l.set, options)
	return err
}

// readSamples reads the live samples, and finds the memory of heaplapse's engine.
func (l *Look) readSamples() (err error) {
	module := l.process.Engine
	engine, ok := samples.EngineOf(func(name string) uint64 { return module.Symbol(name).Start })
	if !ok {
		return nil
	}
	if l.samples, err = samples.Read(l.snapshot.Memory, engine); err != nil {
		return err
	}
	l.engine = append(l.samples.Own, roots.Data(l.snapshot.Memory, l.snapshot.Mappings, module)...)
	return nil
}

func (l *Look) listDoubts() {
	doubt := func(format string, args ...any) { l.Doubts = append(l.Doubts, fmt.Sprintf(format, args...)) }
	for _, p := range l.problems {
		doubt("%v", p)
	}
	for _, path := range l.unknownAllocators() {
		doubt("%s has an allocator whose blocks are not known", symbolize.FileName(path))
	}
	if n := len(l.snapshot.Missing); n > 0 {
		doubt("%d mappings were not copied (MADV_DONTFORK)", n)
	}
	for _, t := range l.snapshot.Threads {
		what := "registers"
		if t.SP == 0 {
			what = "registers and the stack"
		}
		if t.Asleep {
			doubt("the %s of thread %d (%s) could not be read: a stop would have ended its system call early",
				what, t.ID, t.Name)
		}
	}
	if n := l.graph.Unreadable(); n > 0 {
		doubt("%d bytes could not be read", n)
	}
	if l.samples != nil && l.samples.Full {
		doubt("heaplapse's engine has more memory than its list tells")
	}
	if l.pools.Changing > 0 {
		doubt("%d pools of CPython were being changed", l.pools.Changing)
	}
}

// isRuby reports whether a module is the interpreter of Ruby, which unmaps its objects before the program exits: what
// they held seems to be lost then.
func isRuby(m *target.Module) bool { return m.Symbol("ruby_version").Start != 0 }

// Stopped returns for how long the process was stopped.
func (l *Look) Stopped() time.Duration { return l.snapshot.Stopped }

// Close removes what is left of the look in the process.
func (l *Look) Close() error {
	if l.names != nil {
		l.names.Close()
	}
	return l.snapshot.Close()
}

// kinds of holders, by the phase that reaches a block.
var kinds = map[graph.Phase]answer.Kind{
	roots.Module: answer.Module, roots.Frame: answer.Frame, roots.Temporary: answer.Frame,
	roots.Global: answer.Global, roots.Kernel: answer.Kernel, roots.TLS: answer.TLS,
	roots.MainVariable: answer.Stack, roots.Descriptor: answer.TLS, roots.LocalVariable: answer.Stack,
	roots.Stack: answer.Stack, roots.Unknown: answer.Unknown, roots.Shared: answer.Shared,
	roots.Stale: answer.Doubtful, graph.Doubtful: answer.Doubtful,
	graph.Lost: answer.Lost, graph.UnderLost: answer.Lost, graph.Cycle: answer.Cycle,
}

// Holder tells what holds a block.
type Holder struct {
	Kind answer.Kind
	// Name is that of the variable, of the thread, of the module of Python, or of the function with file and line.
	Name string
	// Thread is the name of the thread of a stack or of a thread-local variable. Function is the function whose frame has
	// the word of a stack or, if that is not known, the one in which the thread is.
	Thread, Function string
	// Variable is the variable, if it is known. That of a local variable has its function.
	Variable *names.Variable
	// Blocks leads from the root to the block, or from the block over a cycle to itself. If a cycle leads to the block,
	// the way behind it follows.
	Blocks []blocks.Range
	// Pointers is shared_ptr if such are on the cycle.
	Pointers string
	// Steps are the objects on that way.
	Steps []names.Step
}

const (
	// maxPath limits the blocks of a Holder: the last ones are kept.
	maxPath = 100
	// maxWalk limits the blocks for which Steps is made: of longer ways, the first and last ones are looked at.
	maxWalk = 1 << 9
)

// kind is what holds the blocks that a phase reaches.
func (l *Look) kind(phase graph.Phase) answer.Kind {
	k := kinds[phase]
	switch lost := k == answer.Lost || k == answer.Cycle; {
	case lost && l.ruby:
		return answer.Unknown
	case lost && len(l.Doubts) > 0:
		return answer.Doubtful
	}
	return k
}

// maxRounds limits how often blocks are marked again, because a way has led over containers that were not known.
const maxRounds = 32

// Holders returns what holds the blocks at some addresses, in their order. If the shortest way goes over an element
// that was removed from a container, it is another way.
func (l *Look) Holders(ctx context.Context, addresses []uint64) ([]Holder, error) {
	for range maxRounds {
		found := vacant{}
		list, err := l.holders(ctx, addresses, found)
		if err != nil || len(found) == 0 || !l.graph.MarkWithout(found) {
			return list, err
		}
	}
	return l.holders(ctx, addresses, vacant{})
}

// vacant has the memory of containers that has no elements, by block.
type vacant map[blocks.Range][]blocks.Range

// holders is Holders with what is known of containers. It adds those to found that were not known.
func (l *Look) holders(ctx context.Context, addresses []uint64, found vacant) ([]Holder, error) {
	list := make([]Holder, len(addresses))
	var words []names.Held
	var indices []int
	ways := make([]names.Way, len(addresses))
	for i, address := range addresses {
		var word *names.Held
		if list[i], word = l.holder(ctx, address, &ways[i]); word != nil {
			words, indices = append(words, *word), append(indices, i)
		}
	}
	variables, err := l.variables(ctx, words)
	if err != nil {
		return nil, err
	}
	for i, v := range variables {
		if v.Module != "" {
			h := &list[indices[i]]
			h.Name, h.Variable, h.Function = v.String(), &v, ""
		}
	}
	for i := range list {
		h := &list[i]
		steps, more := l.steps(ctx, h, ways[i])
		h.Steps = names.Fold(steps)
		for _, v := range more {
			found[v.Block] = v.Parts
		}
		if h.Kind == answer.Cycle {
			h.Steps = withoutLinks(h.Steps)
		}
		h.Blocks = slices.Clone(h.Blocks[max(0, len(h.Blocks)-maxPath):])
	}
	return list, ctx.Err()
}

// holder returns what holds the block at an address, and the way to it. If it is held by a variable that has no name
// yet, it also returns the word of the variable.
func (l *Look) holder(ctx context.Context, address uint64, way *names.Way) (h Holder, word *names.Held) {
	p, ok := l.graph.Path(address, maxWalk)
	if !ok {
		return Holder{Kind: answer.NotFound}, nil
	}
	h.Kind = l.kind(p.Phase)
	switch h.Kind {
	case answer.Lost:
		if way.Cycle, h.Pointers = l.addItself(ctx, &p); way.Cycle > 0 {
			h.Kind = answer.Cycle
		}
	case answer.Cycle:
		way.Cycle, h.Pointers = l.addCycle(ctx, &p, address)
	}
	h.Blocks, way.First, way.Skipped, way.Last = p.Blocks, p.First, p.Skipped, p.Blocks
	if l.python != nil {
		h.Name, h.Steps = l.python.Describe(l.root(p), p)
	}
	if p.Root < 0 {
		return h, nil
	}
	switch r := l.roots[p.Root]; {
	case r.Phase == roots.Global:
		word = &names.Held{Root: r, Address: p.Address}
	case r.Phase == roots.LocalVariable || r.Phase == roots.MainVariable:
		h.Thread = l.snapshot.Threads[r.Thread].Name
		v := l.names.LocalVariable(l.localAt(p.Address), p.Address)
		h.Name, h.Variable, h.Function = h.Thread, &v, v.Function
	case r.Thread >= 0:
		t := l.snapshot.Threads[r.Thread]
		h.Name, h.Thread = t.Name, t.Name
		h.Function = l.stacks.function(ctx, r, p.Address)
		if r.Phase == roots.TLS {
			word = &names.Held{Root: r, Address: p.Address, Thread: t.TLS}
		}
	}
	return h, word
}

// variables names words of variables. The module of those of a program is called as the program was: redis-server is a
// link to redis-check-rdb.
func (l *Look) variables(ctx context.Context, words []names.Held) ([]names.Variable, error) {
	list, err := l.names.Variables(ctx, words)
	if program := l.process.Program(); program != nil {
		for i := range list {
			if list[i].Module == program.Path {
				list[i].Module = cmp.Or(proc.ProgramName(l.snapshot.Memory.PID), program.Path)
			}
		}
	}
	return list, err
}

// root returns the root of a path, or none.
func (l *Look) root(p graph.Path) roots.Root {
	if p.Root < 0 {
		return roots.Root{}
	}
	return l.roots[p.Root]
}

// steps returns the objects on the way to a block: those of Python, which are known, and between them others. found is
// what [names.Process.Steps] finds of containers.
func (l *Look) steps(ctx context.Context, h *Holder, way names.Way) (list []names.Step, found []names.Vacant) {
	if !slices.ContainsFunc(h.Steps, python.IsObject) {
		return l.names.Steps(ctx, h.Variable, way)
	}
	variable := h.Variable
	for rest := h.Steps; len(rest) > 0; {
		n := 0
		var others names.Way
		for n < len(rest) && !python.IsObject(rest[n]) {
			others.Add(rest[n])
			n++
		}
		if n > 0 {
			steps, more := l.names.Steps(ctx, variable, others)
			list, found = append(list, steps...), append(found, more...)
		}
		for n < len(rest) && python.IsObject(rest[n]) {
			list = append(list, rest[n])
			n++
		}
		rest, variable = rest[n:], nil
	}
	return list, found
}
