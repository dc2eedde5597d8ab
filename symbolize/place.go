package symbolize

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/interval"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// moduleJob has the addresses of one module that are to be named.
type moduleJob struct {
	id       ModuleID
	main     bool // the module is the main program
	mappings []heapfile.Mapping
	recorded string // build ID from the snapshots or the manifest
	state    manifest.Mapping
	places   []place      // sorted by offset in the file
	out      []*Location  // parallel to places
	locs     []LocationID // parallel to places, used until out is known
	cache    *moduleCache
}

// place is an address as an offset in the file of its module.
type place struct {
	addr    heapfile.Addr
	offset  uint64
	mapping int // in moduleJob.mappings
}

type spaceAddr struct {
	space series.Space
	addr  heapfile.Addr
}

// place creates a Location for each address and groups them by module.
func (s *Symbols) place(from *series.Series, source files.Source) []*moduleJob {
	p := placer{
		s: s, series: from, ids: map[spaceAddr]LocationID{},
		modules: map[moduleKey]ModuleID{}, byPath: map[moduleKey]*moduleJob{},
	}
	p.hasVDSO = sync.OnceValue(func() bool { return hasVDSO(source) })
	stacks := from.Stacks
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
	s       *Symbols
	series  *series.Series
	ids     map[spaceAddr]LocationID
	modules map[moduleKey]ModuleID
	byPath  map[moduleKey]*moduleJob
	jobs    []*moduleJob
	finder  mappingFinder
	hasVDSO func() bool
}

// hasVDSO reports whether an image of [vdso] was recorded.
func hasVDSO(source files.Source) bool {
	file, err := source.Open(files.VDSO)
	if err == nil {
		file.Close()
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// location returns the ID of the Location of an address, which it creates if necessary.
func (p *placer) location(space series.Space, a heapfile.Addr) LocationID {
	key := spaceAddr{space, a}
	if id, ok := p.ids[key]; ok {
		return id
	}
	id := LocationID(len(p.s.Locations))
	p.ids[key] = id
	if symbol, ok := p.symbol(space, a); ok {
		l := Location{Space: space, Address: a, Module: NoModule, Mapping: -1, Offset: uint64(a)}
		if symbol.Path != "" {
			l.Module = p.module(moduleKey{symbol.Path, symbol.BuildID}, false)
		}
		p.s.Locations = append(p.s.Locations, l)
		return id
	}
	m, index := p.mapping(space, a)
	l := Location{Space: space, Address: a, Module: NoModule, Mapping: index}
	switch {
	case a == 0:
		l.Reason = ReasonNull
	case m == nil:
		l.Reason = ReasonNoMapping
	case m.Path == "" || isAnonymous(m.Path):
		l.Reason = ReasonAnonymous
	case m.Path[0] == '[' && (m.Path != files.VDSOMapping || !p.hasVDSO()):
		l.Reason = ReasonKernel
	default:
		j := p.job(*m)
		l.Module = j.id
		j.add(id, a, *m)
	}
	p.s.Locations = append(p.s.Locations, l)
	return id
}

// symbol returns the symbol of an address that is made up. useEmbedded names it.
func (p *placer) symbol(space series.Space, a heapfile.Addr) (heapfile.Symbol, bool) {
	if len(p.series.Symbols) == 0 {
		return heapfile.Symbol{}, false
	}
	symbol := p.series.Symbols[series.Place{Image: p.series.Spaces[space].Image, Addr: a}]
	return symbol, symbol.MadeUp
}

func (p *placer) mapping(space series.Space, a heapfile.Addr) (*heapfile.Mapping, int) {
	if int(space) >= len(p.series.Spaces) || a == 0 {
		return nil, -1
	}
	return p.finder.find(space, p.series.Spaces[space].Mappings, a-1)
}

// isAnonymous reports whether a path means memory without a file.
func isAnonymous(path string) bool {
	for _, prefix := range []string{"//anon", "[heap", "[stack", "[anon", "/memfd:", "/dev/zero", "/SYSV", "/dev/shm/"} {
		if strings.HasPrefix(path, prefix) {
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
		id: p.module(key, m.Deleted), recorded: key.buildID, state: p.series.Mapped[m.Path],
		main: m.Path == MainProgram(p.series),
	}
	p.byPath[key] = j
	p.jobs = append(p.jobs, j)
	return j
}

// module returns the ID of the module of a mapped file, which it creates if necessary.
func (p *placer) module(key moduleKey, deleted bool) ModuleID {
	if id, ok := p.modules[key]; ok {
		return id
	}
	id := ModuleID(len(p.s.Modules))
	module := Module{Path: key.path, Deleted: deleted, BuildID: key.buildID}
	if key.path == p.series.Process.Exe {
		module.Link = p.series.Process.Link
	}
	p.s.Modules = append(p.s.Modules, module)
	p.modules[key] = id
	return id
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

// MainProgram returns the path of the first mapped file that is not a library, or "" if there is
// none.
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

// mappingFinder finds the mapping of an address. It keeps the index of only one address space: a
// series numbers spaces and stacks in the order of its snapshots, so that a lookup never returns to
// an earlier space.
type mappingFinder struct {
	space    series.Space
	mappings []heapfile.Mapping // of the space; nil before the first call
	order    []int              // by position in index: index in mappings
	index    interval.Index
}

// find returns the mapping that contains an address and its index, or nil and -1. The mappings are
// those of the space, sorted by start. If mappings overlap, file-backed ones take precedence over
// anonymous ones, because mappings of generated code stay in a space after they are unmapped; then
// the one that starts last wins.
func (f *mappingFinder) find(
	space series.Space,
	mappings []heapfile.Mapping,
	a heapfile.Addr,
) (*heapfile.Mapping, int) {
	if f.mappings == nil || f.space != space {
		f.space, f.mappings = space, mappings
		f.build()
	}
	i, ok := f.index.Find(uint64(a))
	if !ok {
		return nil, -1
	}
	return &mappings[f.order[i]], f.order[i]
}

// build sorts the mappings by precedence for the index.
func (f *mappingFinder) build() {
	f.order = f.order[:0]
	for _, wantFile := range []bool{false, true} {
		for i, m := range f.mappings {
			if strings.HasPrefix(m.Path, "/") == wantFile {
				f.order = append(f.order, i)
			}
		}
	}
	ranges := make([]interval.Range, len(f.order))
	for k, i := range f.order {
		ranges[k] = interval.Range{Lo: uint64(f.mappings[i].Start), Hi: uint64(f.mappings[i].Limit)}
	}
	f.index = interval.New(ranges)
}

// isLibrary reports whether a path has the name of a shared library: libc.so.6,
// _ctypes.cpython-311-x86_64-linux-gnu.so.
func isLibrary(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.") || strings.HasPrefix(base, "ld-")
}
