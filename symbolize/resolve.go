package symbolize

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Options say where files are. The zero value works on the machine that was recorded.
type Options struct {
	// Binary replaces the main program, when it has moved.
	Binary string
	// Sysroot is put before every path, and files outside it are not used: what
	// this machine has at the same path may be another build.
	Sysroot string
	// DebugDirs hold separate debug files; nil takes /usr/lib/debug (within Sysroot).
	DebugDirs []string
	// PerfMaps are the maps and jitdumps of just-in-time compilers; nil looks for perf-PID.map and jit-PID.dump beside
	// the snapshots, in /tmp and in the directory of the process, if it still runs.
	PerfMaps []string
	// Debuginfod fetches files that are not here; nil fetches none.
	Debuginfod *Debuginfod
	Demangle   Demangle
	// CacheDir is a directory, made if need be, that keeps answers from run to run; "" keeps none.
	CacheDir string
	// Files, if set, are the only files there are: those that a bundle brought along from the machine that all the other
	// options describe.
	Files Files
	// Used, if set, learns what was read. Answers of the cache read nothing: CacheDir must be "".
	Used *Used
	// Workers is the number of modules, and of units of a module, that are looked through at once; 0 takes one per CPU.
	Workers int

	// exact follows llvm-symbolizer in what it prints, where that is not what
	// a reader of a heap needs: see ELF.
	exact bool
	// vdso is the image of the kernel's [vdso] that the recorder kept, "" if there is none.
	vdso string
}

func (o *Options) workers() int { return cmp.Or(o.Workers, runtime.GOMAXPROCS(0)) }

// Resolve names the addresses of a series.
func Resolve(series *series.Series, o Options) (*Symbols, error) {
	s := &Symbols{}
	o.vdso = keptVDSO(series, &o)
	jobs := s.place(series, o.vdso != "")
	names := newNameTable(o)
	s.resolveModules(jobs, o, names)
	names.finish(s.Locations)
	for _, j := range jobs {
		_ = j.cache.save() // it is resolved again next time
	}
	s.Warnings = append(s.Warnings, o.Debuginfod.Warnings()...)
	s.resolveGenerated(series, o)
	s.useEmbedded(series)
	s.sites = newSiteTable(s)
	return s, nil
}

// moduleJob is the addresses of one module that are to be named.
type moduleJob struct {
	id       ModuleID
	main     bool // it is the program itself
	mappings []heapfile.Mapping
	recorded string // build ID recorded with the snapshots
	state    manifest.Mapping
	places   []place      // sorted by offset in the file
	out      []*Location  // parallel to places
	locs     []LocationID // parallel to places, before out is known
	cache    *moduleCache
}

// place is an address as an offset in its module's file.
type place struct {
	addr    heapfile.Addr
	offset  uint64
	mapping int // in moduleJob.mappings
}

type spaceAddr struct {
	space series.Space
	addr  heapfile.Addr
}

// place gives every address a Location and groups them by module.
func (s *Symbols) place(series *series.Series, vdso bool) []*moduleJob {
	p := placer{s: s, series: series, vdso: vdso, ids: map[spaceAddr]LocationID{}, byPath: map[moduleKey]*moduleJob{}}
	stacks := series.Stacks
	for id := range stacks.Len() {
		space := stacks.Space(heapfile.StackID(id))
		for _, a := range stacks.Addrs(heapfile.StackID(id)) {
			s.stacks = append(s.stacks, p.location(space, a))
		}
		s.ends = append(s.ends, len(s.stacks))
	}
	for _, j := range p.jobs {
		for _, id := range j.locs {
			j.out = append(j.out, &s.Locations[id])
		}
	}
	return p.jobs
}

type moduleKey struct{ path, buildID string }

type placer struct {
	s      *Symbols
	series *series.Series
	ids    map[spaceAddr]LocationID
	byPath map[moduleKey]*moduleJob
	jobs   []*moduleJob
	finder mappingFinder
	vdso   bool // its image is known
}

// location returns the ID of an address, new or known.
func (p *placer) location(space series.Space, a heapfile.Addr) LocationID {
	key := spaceAddr{space, a}
	if id, ok := p.ids[key]; ok {
		return id
	}
	id := LocationID(len(p.s.Locations))
	p.ids[key] = id
	m, index := p.mapping(space, a)
	l := Location{Space: space, Address: a, Module: NoModule, Mapping: index}
	switch {
	case a == 0:
		l.Reason = ReasonNull
	case m == nil:
		l.Reason = ReasonNoMapping
	case m.Path == "" || isAnonymous(m.Path):
		l.Reason = ReasonAnonymous
	case m.Path[0] == '[' && (m.Path != vdsoPath || !p.vdso):
		l.Reason = ReasonKernel
	default:
		j := p.job(*m)
		l.Module = j.id
		j.add(id, a, *m)
	}
	p.s.Locations = append(p.s.Locations, l)
	return id
}

func (p *placer) mapping(space series.Space, a heapfile.Addr) (*heapfile.Mapping, int) {
	if int(space) >= len(p.series.Spaces) || a == 0 {
		return nil, -1
	}
	return p.finder.find(space, p.series.Spaces[space].Mappings, a-1)
}

// isAnonymous recognises pseudo-files that stand for memory without a file.
func isAnonymous(path string) bool {
	for _, prefix := range []string{"//anon", "[heap", "[stack", "[anon", "/memfd:", "/dev/zero", "/SYSV", "/dev/shm/"} {
		if len(path) >= len(prefix) && path[:len(prefix)] == prefix {
			return true
		}
	}
	return false
}

// job returns the job of a mapped file.
func (p *placer) job(m heapfile.Mapping) *moduleJob {
	key := moduleKey{m.Path, cmp.Or(m.BuildID, p.series.BuildIDs[m.Path])}
	if j, ok := p.byPath[key]; ok {
		return j
	}
	j := &moduleJob{
		id: ModuleID(len(p.s.Modules)), recorded: key.buildID, state: p.series.Mapped[m.Path], main: m.Path == MainProgram(p.series),
	}
	p.s.Modules = append(p.s.Modules, Module{Path: m.Path, Deleted: m.Deleted, BuildID: key.buildID})
	p.byPath[key] = j
	p.jobs = append(p.jobs, j)
	return j
}

func (j *moduleJob) add(id LocationID, a heapfile.Addr, m heapfile.Mapping) {
	i := slices.Index(j.mappings, m)
	if i < 0 {
		i = len(j.mappings)
		j.mappings = append(j.mappings, m)
	}
	j.places = append(j.places, place{a, uint64(a - m.Start + m.Offset), i})
	j.locs = append(j.locs, id)
}

// MainProgram is the path of the first mapped file that is not a library.
func MainProgram(series *series.Series) string {
	for _, sp := range series.Spaces {
		for _, m := range sp.Mappings {
			if len(m.Path) > 0 && m.Path[0] == '/' && !isLibrary(m.Path) {
				return m.Path
			}
		}
	}
	return ""
}

// resolveModules names the addresses of all modules, the largest first. Modules are resolved concurrently, and names
// demangled beside them (see nameTable); of a module, several units at once. Nothing else in the package is concurrent. Jobs share nothing but the
// locations, of which each has its own.
func (s *Symbols) resolveModules(jobs []*moduleJob, o Options, names nameTable) {
	order := slices.Clone(jobs)
	slices.SortStableFunc(order, func(a, b *moduleJob) int { return cmp.Compare(len(b.places), len(a.places)) })
	queue := make(chan *moduleJob)
	var wg sync.WaitGroup
	for range min(o.workers(), max(len(jobs), 1)) {
		wg.Go(func() {
			for j := range queue {
				resolveModule(j, &s.Modules[j.id], o, names)
			}
		})
	}
	for _, j := range order {
		queue <- j
	}
	close(queue)
	wg.Wait()
}

// useEmbedded gives addresses without a name the names that symbolized snapshots contain, those of their own
// process image. The writer looked up either the return address or the call before it.
func (s *Symbols) useEmbedded(from *series.Series) {
	if len(from.Symbols) == 0 {
		return
	}
	for i := range s.Locations {
		l := &s.Locations[i]
		if l.Named() {
			continue
		}
		image := from.Spaces[l.Space].Image
		names, ok := from.Symbols[series.Place{Image: image, Addr: l.Address}]
		if !ok {
			names = from.Symbols[series.Place{Image: image, Addr: l.Address - 1}]
		}
		for k, n := range names {
			l.Frames = append(l.Frames, Frame{Function: n, Inlined: k+1 < len(names)})
		}
		if l.Named() {
			l.Source, l.Reason = SourceEmbedded, ReasonNone
		}
	}
}
