//go:build linux

package rss

import (
	"fmt"
	"sort"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/pymalloc"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Copy is what is known of the copy of a process.
type Copy struct {
	Memory   blocks.Memory
	Mappings []target.Mapping
	// Missing lists memory of the process that the copy lacks.
	Missing []target.Range
	// Resident lists what is in memory of PrivateMemory(Mappings).
	Resident []blocks.Range
	// Heap is nil if the blocks of malloc are not known.
	Heap  *glibc.Heap
	Pools pymalloc.Result
	// ThreadPointers are those of the threads that run.
	ThreadPointers []uint64
	// Data lists the variables of programs and libraries, and Engine the memory of heaplapse's engine.
	Data, Engine []blocks.Range
	// Allocators lists files with an allocator whose blocks are not known.
	Allocators []string
}

// PrivateMemory returns the mappings without a file that are not shared, by address.
func PrivateMemory(mappings []target.Mapping) (list []blocks.Range) {
	for _, m := range mappings {
		if isAnonymous(m.Permissions, m.Path) {
			list = append(list, blocks.Range{Start: m.Start, End: m.End})
		}
	}
	return list
}

// Of adds up the memory of a process. Without a copy, c is nil: then nothing is known but mappings.
func Of(k *Kernel, c *Copy) *Result {
	r := &Result{Schema: Schema, PID: k.PID, Program: k.program, Allocators: []string{}, Problems: []string{}}
	a := &account{Result: r, kernel: k.mappings, parts: map[Kind]uint64{}}
	a.addKernel(c == nil)
	if c != nil {
		a.addCopy(c)
	}
	a.finish()
	return a.Result
}

// account adds up memory.
type account struct {
	*Result
	kernel []kernelMapping
	parts  map[Kind]uint64

	resident ranges // of private memory without a file
	heapEnd  uint64 // of the mapping [heap]
	pools    map[*blocks.Region]bool

	files, shared, anonymous names
}

func (a *account) add(kind Kind, bytes uint64) { a.parts[kind] += bytes }

// addKernel adds what the kernel counts. Private memory without a file is counted in the copy, if there is one.
func (a *account) addKernel(all bool) {
	a.files, a.shared, a.anonymous = names{}, names{}, names{}
	for _, m := range a.kernel {
		a.Kernel += int64(m.rss)
		a.Swap += int64(m.swap)
		a.Hugetlb += int64(m.hugetlb)
		if m.isAnonymous() {
			a.HugePages += int64(m.huge)
			a.Locked = a.Locked || m.locked && m.rss > 0
			if all {
				a.addPrivate(m)
			}
			continue
		}
		kind := m.kind()
		a.add(kind, m.rss)
		switch kind {
		case SharedMemory:
			a.shared.add(m.path, m.rss)
		case Code, Data, Files:
			a.files.add(m.path, m.rss)
		}
	}
}

// addPrivate adds private memory without a file of which no copy is known.
func (a *account) addPrivate(m kernelMapping) {
	if m.path == "[stack]" {
		a.Stacks++
		a.add(Stacks, m.rss)
		return
	}
	a.add(Anonymous, m.rss)
	a.anonymous.add(nameOf(m.permissions, m.path), m.rss)
}

// kind returns what the mapping is, if it is not private memory without a file.
func (m kernelMapping) kind() Kind {
	shared := strings.HasSuffix(m.permissions, "s")
	switch {
	case shared && isSharedMemory(m.path):
		return SharedMemory
	case !m.file, strings.HasPrefix(m.path, "/dev/"), !strings.HasPrefix(m.path, "/"):
		return Other
	case strings.Contains(m.permissions, "x"):
		return Code
	case !shared && strings.Contains(m.permissions, "w"):
		return Data
	}
	return Files
}

// isSharedMemory reports whether a path is that of memory, not of a file on a disk: of mmap, System V, memfd_create and
// POSIX.
func isSharedMemory(path string) bool {
	for _, prefix := range []string{"/dev/zero", "/SYSV", "/memfd:", "/dev/shm/", "[anon_shmem:"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// addCopy adds private memory without a file.
func (a *account) addCopy(c *Copy) {
	a.resident = c.Resident
	a.Allocators = append(a.Allocators, c.Allocators...)
	for _, m := range c.Mappings {
		if m.Path == "[heap]" {
			a.heapEnd = m.End
		}
	}
	known := &blocks.Set{}
	a.addPython(c.Pools)
	if c.Heap == nil {
		for _, r := range c.Pools.Regions {
			_ = known.Add(r) // they do not overlap
		}
	} else {
		known = &c.Heap.Blocks
		a.addMalloc(c.Heap)
		for _, p := range c.Heap.Problems {
			a.Problems = append(a.Problems, p.Error())
		}
	}
	a.addRest(c, a.resident.and(known.Gaps(blocks.Range{End: 1 << 63})))
	a.addMissing(c.Missing)
	a.HugeZero = int64(a.zeroInHugePages(c.Memory))
}

// addMissing adds private memory without a file that the copy lacks.
func (a *account) addMissing(missing []target.Range) {
	var list ranges
	for _, r := range missing {
		list = list.add(blocks.Range{Start: r.Start, End: r.End})
	}
	n := 0
	for _, m := range a.kernel {
		if bytes := min(m.rss, list.size(m.Range)); bytes > 0 && m.isAnonymous() {
			n++
			a.add(Anonymous, bytes)
			a.anonymous.add(nameOf(m.permissions, m.path), bytes)
		}
	}
	if n > 0 {
		a.Problems = append(a.Problems,
			fmt.Sprintf("%s cannot be copied (MADV_DONTFORK): what is in them is not known", units.Count(n, "mapping")))
	}
}

// addPython adds the pools of CPython.
func (a *account) addPython(pools pymalloc.Result) {
	a.pools = map[*blocks.Region]bool{}
	if pools.Pools == 0 {
		return
	}
	a.Python = &Python{Pools: int64(pools.Pools), EmptyPools: int64(len(pools.Empty))}
	var empty, free uint64
	for _, r := range pools.Empty {
		empty += a.resident.size(r)
	}
	for _, region := range pools.Regions {
		a.pools[region] = true
		for b := range region.All() {
			bytes := a.resident.size(b.Range)
			if b.Free {
				free += bytes
			} else {
				a.add(PythonBlocks, bytes)
			}
		}
	}
	a.add(PythonEmpty, empty)
	a.add(PythonFree, free-min(free, empty))
}

// addRest adds what is neither a block nor free memory of an allocator.
func (a *account) addRest(c *Copy, rest ranges) {
	known := a.known(c)
	unknown := make([]uint64, len(c.Mappings))
	for _, r := range rest {
		// Blocks begin and end within a page. What is left of the page is malloc's.
		whole := blocks.Range{Start: pageEnd(r.Start), End: pageStart(r.End)}
		if whole.Start > whole.End {
			whole = blocks.Range{}
		}
		a.add(MallocOwn, r.Size()-whole.Size())
		known.divide(whole, func(part blocks.Range, kind Kind) {
			if kind == "" {
				addUnknown(c.Mappings, part, unknown)
			} else {
				a.add(kind, part.Size())
			}
		})
	}
	for i, bytes := range unknown {
		a.add(Anonymous, bytes)
		a.anonymous.add(nameOf(c.Mappings[i].Permissions, c.Mappings[i].Path), bytes)
	}
}

// known returns the memory whose use is known, besides blocks.
func (a *account) known(c *Copy) (list claims) {
	for _, m := range c.Mappings {
		if m.Path == "[stack]" {
			list.add(blocks.Range{Start: m.Start, End: m.End}, Stacks)
			a.Stacks++
		}
	}
	for _, r := range c.Engine {
		list.add(r, Engine)
	}
	a.addStacks(c, &list)
	for _, r := range c.Data {
		list.add(blocks.Range{Start: pageStart(r.Start), End: pageEnd(r.End)}, Data)
	}
	return list
}

// addUnknown adds up memory of which only the mappings are known.
func addUnknown(mappings []target.Mapping, r blocks.Range, bytes []uint64) {
	i := sort.Search(len(mappings), func(i int) bool { return mappings[i].End > r.Start })
	for ; i < len(mappings) && mappings[i].Start < r.End; i++ {
		bytes[i] += min(r.End, mappings[i].End) - max(r.Start, mappings[i].Start)
	}
}

// Executable is the name of private memory without a file or a name that has code.
const Executable = "[executable]"

func nameOf(permissions, path string) string {
	if path == "" && strings.Contains(permissions, "x") {
		return Executable
	}
	return path
}

// finish makes lists of what was added up.
func (a *account) finish() {
	a.Parts = []Part{}
	for _, kind := range Kinds {
		if bytes := a.parts[kind]; bytes > 0 {
			a.Parts = append(a.Parts, Part{kind, int64(bytes)})
			a.Bytes += int64(bytes)
		}
	}
	a.Files, a.Shared, a.Anonymous = a.files.largest(), a.shared.largest(), a.anonymous.largest()
	a.Advice = advise(a.Result)
}
