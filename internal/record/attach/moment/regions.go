//go:build linux && amd64

package moment

import (
	"path/filepath"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// region is code in which a thread must not be interrupted.
type region struct {
	target.Range
	name string
}

// regions has the code of a process by what it does.
type regions struct {
	unsafe []region
	// threads is the part of the C library that starts and ends threads.
	threads target.Range
	// waits lists the functions that wait for something other than a lock of the C library.
	waits []target.Range
	// system is the function syscall.
	system target.Range
}

// Static functions lie around those that are exported.
const (
	beforeMalloc, behindMalloc = 0x5000, 0x800
	beforeThread, behindThread = 0x800, 0x100
	maxAllocator               = 4 << 20
)

var (
	mallocFunctions = []string{
		"malloc", "free", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc",
		"malloc_trim", "malloc_info", "mallopt", "malloc_usable_size",
	}
	lockFunctions = []string{
		"fork", "_Fork", "vfork", "setuid", "dlopen", "dlsym", "dlclose", "dlvsym", "dladdr", "dlmopen", "dlinfo",
	}
	waitFunctions = []string{
		"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "sem_wait", "sem_timedwait",
		"sem_clockwait", "pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np", "pthread_barrier_wait",
		"pthread_mutex_lock", "poll", "nanosleep", "clock_nanosleep", "usleep", "sleep", "select", "epoll_wait",
		"recv", "recvfrom", "accept",
	}
)

func regionsOf(p *target.Process) (r regions) {
	if p.Loader != nil {
		r.addCode(p.Loader, "the dynamic linker")
	}
	r.addAround(p.Libc, "malloc", beforeMalloc, behindMalloc, mallocFunctions)
	for _, name := range lockFunctions {
		r.addAround(p.Libc, name, 0, 0, []string{name})
	}
	for _, m := range p.Allocators {
		r.addAllocator(p, m)
	}
	if p.Engine != nil {
		r.addCode(p.Engine, "the engine")
	}
	create := p.Libc.Symbol("pthread_create")
	r.threads = target.Range{Start: create.Start - beforeThread, End: create.End + behindThread}
	for _, name := range waitFunctions {
		if f := p.Libc.Symbol(name); f.Start != 0 {
			r.waits = append(r.waits, f)
		}
	}
	r.system = p.Libc.Symbol("syscall")
	return r
}

func (r *regions) addCode(m *target.Module, name string) {
	for _, c := range m.Code {
		r.unsafe = append(r.unsafe, region{c, name})
	}
}

// addAround adds the code from the first to the last of some functions, and some bytes around it.
func (r *regions) addAround(m *target.Module, name string, before, behind uint64, functions []string) {
	all := target.Range{Start: ^uint64(0)}
	for _, f := range functions {
		if s := m.Symbol(f); s.Start != 0 {
			all.Start, all.End = min(all.Start, s.Start), max(all.End, s.End)
		}
	}
	if all.End != 0 {
		r.unsafe = append(r.unsafe, region{target.Range{Start: all.Start - before, End: all.End + behind}, name})
	}
}

// addAllocator adds an object that defines malloc: all of its code if it is a library of its own, or
// else the functions.
func (r *regions) addAllocator(p *target.Process, m *target.Module) {
	var size uint64
	for _, c := range m.Code {
		size += c.End - c.Start
	}
	if size < maxAllocator && m != p.Program() {
		r.addCode(m, "the allocator "+filepath.Base(m.Path))
		return
	}
	for _, name := range mallocFunctions {
		r.addAround(m, name, 0, 0, []string{name})
	}
}

// unsafeAt returns the name of the unsafe code at an address, or "".
func (r *regions) unsafeAt(address uint64) string {
	for _, u := range r.unsafe {
		if u.Contains(address) {
			return u.name
		}
	}
	return ""
}
