package symbolize

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"io/fs"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// resolveModule names the addresses of one module.
func (r *resolver) resolveModule(ctx context.Context, j *moduleJob, m *Module) {
	r.inFile(ctx, j, m, func(file *elffile.File) { r.resolveIn(ctx, file, j, m) })
}

// inFile calls do with the file of a module, or sets the reason why there is none.
func (r *resolver) inFile(ctx context.Context, j *moduleJob, m *Module, do func(*elffile.File)) {
	file, err := r.search.Module(ctx, m.Path, m.BuildID, j.main)
	if err != nil {
		m.Err = err
		j.fail(m, reasonOf(err))
		return
	}
	defer file.Close()
	m.File = file.Path
	m.BuildID = cmp.Or(m.BuildID, file.BuildID)
	if err := file.Guard(func() error {
		do(file)
		return nil
	}); err != nil {
		m.Err = err
		j.fail(m, ReasonMalformed)
	}
}

func reasonOf(err error) Reason {
	if errors.Is(err, fs.ErrNotExist) {
		return ReasonMissing
	}
	return ReasonUnreadable
}

// fail sets the reason of the module, and of all its addresses without a name.
func (j *moduleJob) fail(m *Module, reason Reason) {
	m.Reason = reason
	for i, l := range j.out {
		if !l.Named() {
			l.Reason = reason
			l.Offset = cmp.Or(l.Offset, j.places[i].offset)
		}
	}
}

// resolveIn names the addresses of a module by its file.
func (r *resolver) resolveIn(ctx context.Context, file *elffile.File, j *moduleJob, m *Module) {
	if !r.locate(file, j, m) {
		return
	}
	located := slices.DeleteFunc(slices.Clone(j.out), func(l *Location) bool { return l.Reason != ReasonNone })
	slices.SortFunc(located, compareOffset)
	var err error
	if j.cache, err = r.name(ctx, file, m, located); err != nil {
		m.Err = err
	}
	if !m.HasDebug && !m.HasSymbols {
		m.Reason = ReasonNoSymbols
	}
}

// locate sets the offsets of the addresses of a module, and reports whether its file is the one that was mapped.
func (r *resolver) locate(file *elffile.File, j *moduleJob, m *Module) bool {
	emptied := file.Emptied()
	for i, l := range j.out {
		v, ok := j.elfAddress(file, j.places[i], emptied)
		if !ok {
			l.Offset, l.Reason = j.places[i].offset, ReasonNoSegment
			continue
		}
		l.Offset = v
	}
	if err := j.checkStale(file, m, r.search); err != nil {
		m.Err = err
		j.fail(m, ReasonStale)
		return false
	}
	return true
}

// name names locations, which are sorted by offset, by the cache or the files of the module. It
// returns the cache, which the caller saves.
func (r *resolver) name(ctx context.Context, file *elffile.File, m *Module, located []*Location) (*moduleCache, error) {
	cache := r.openCache(ctx, file)
	left := cache.answer(located)
	if cache.complete(located, left) {
		cache.describe(m)
		return cache, nil
	}
	err := r.nameByFiles(ctx, file, m, left, cache)
	return cache, err
}

func (r *resolver) nameByFiles(
	ctx context.Context,
	file *elffile.File,
	m *Module,
	located []*Location,
	cache *moduleCache,
) error {
	img, err := r.openImage(ctx, file)
	defer img.close()
	m.Debug, m.HasDebug, m.HasSymbols = img.debugPath(), img.dwarf != nil, img.symbols.Len() > 0
	if fault := img.name(located); err == nil {
		err = fault
	}
	img.explain(located, err)
	cache.keep(located, img, err)
	return err
}

// compareOffset orders locations by ELF address.
func compareOffset(a, b *Location) int { return cmp.Compare(a.Offset, b.Offset) }

// elfAddress returns the ELF virtual address of a place. emptied is the result of file.Emptied.
func (j *moduleJob) elfAddress(file *elffile.File, p place, emptied bool) (uint64, bool) {
	m := j.mappings[p.mapping]
	switch {
	case m.Virtual:
		return p.offset, inSegment(file, p.offset-1)
	case !emptied:
		return elfAddress(file, p.offset)
	}
	start, ok := emptiedSegment(file, m)
	return start + uint64(p.addr-m.Start), ok
}

// inSegment reports whether a segment contains an ELF virtual address.
func inSegment(file *elffile.File, v uint64) bool {
	return slices.ContainsFunc(file.Progs, func(p elf.ProgHeader) bool {
		return p.Type == elf.PT_LOAD && v >= p.Vaddr && v-p.Vaddr < p.Memsz
	})
}

// emptiedSegment returns the ELF address of the start of a mapping, for a file without the file
// offsets of its segments (see elffile.File.Emptied). It is the start of the executable segment
// that has as many pages as the mapping, if there is just one. The kernel and ld.so map each
// segment from its first page to its last.
func emptiedSegment(file *elffile.File, m heapfile.Mapping) (start uint64, ok bool) {
	for _, page := range []uint64{4 << 10, 16 << 10, 64 << 10} {
		found := 0
		for _, p := range file.Progs {
			if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 || p.Memsz == 0 {
				continue
			}
			begin := p.Vaddr &^ (page - 1)
			if end := (p.Vaddr + p.Memsz + page - 1) &^ (page - 1); end-begin == uint64(m.Limit-m.Start) {
				start = begin
				found++
			}
		}
		if found > 0 {
			return start, found == 1
		}
	}
	return 0, false
}

// elfAddress returns the ELF virtual address of a return address at a file offset.
func elfAddress(file *elffile.File, offset uint64) (uint64, bool) {
	// The call precedes the return address and may be in another segment.
	call := offset - 1
	best := -1
	for i, p := range file.Progs {
		if p.Type != elf.PT_LOAD || call < p.Off || call-p.Off >= p.Filesz {
			continue
		}
		if best < 0 || (p.Flags&elf.PF_X != 0 && file.Progs[best].Flags&elf.PF_X == 0) {
			best = i
		}
	}
	if best < 0 {
		return 0, false
	}
	p := file.Progs[best]
	return offset - p.Off + p.Vaddr, true
}
