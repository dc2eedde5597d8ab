package symbolize

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// resolveModule names the addresses of one module.
func resolveModule(j *moduleJob, m *Module, o Options, names nameTable) {
	f := finder{o}
	file, err := f.module(m, j.main)
	if err != nil {
		m.Err = err
		j.fail(m, reasonOf(err))
		return
	}
	defer file.Close()
	m.File = file.Path
	m.BuildID = cmp.Or(m.BuildID, file.BuildID)
	if err := file.Guard(func() error {
		j.resolveIn(file, m, f, names)
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

// fail gives all addresses that have no name the reason.
func (j *moduleJob) fail(m *Module, r Reason) {
	m.Reason = r
	for i, l := range j.out {
		if !l.Named() {
			l.Reason = r
			l.Offset = cmp.Or(l.Offset, j.places[i].offset)
		}
	}
}

func (j *moduleJob) resolveIn(file *elffile.File, m *Module, f finder, names nameTable) {
	emptied := file.Emptied()
	for i, l := range j.out {
		v, ok := j.elfAddress(file, j.places[i], emptied)
		if !ok {
			l.Offset, l.Reason = j.places[i].offset, ReasonNoSegment
			continue
		}
		l.Offset = v
	}
	if err := j.checkStale(file, m, f); err != nil {
		m.Err = err
		j.fail(m, ReasonStale)
		return
	}
	located := slices.DeleteFunc(slices.Clone(j.out), func(l *Location) bool { return l.Reason != ReasonNone })
	slices.SortFunc(located, compareOffset)
	j.cache = openCache(file, f)
	left := j.cache.answer(located)
	if j.cache.complete(located, left) {
		j.cache.describe(m)
	} else if err := nameModule(file, m, left, f, names, j.cache); err != nil {
		m.Err = err
	}
	if !m.HasDebug && !m.HasSymbols {
		m.Reason = ReasonNoSymbols
	}
}

// nameModule names locations by the module's files.
func nameModule(file *elffile.File, m *Module, located []*Location, f finder, names nameTable, c *moduleCache) error {
	img, err := openImage(file, f)
	defer img.close()
	m.Debug, m.HasDebug, m.HasSymbols = img.debugPath(), img.dwarf != nil, img.symbols.Len() > 0
	img.found = img.overlap(names)
	if fault := img.name(located); err == nil {
		err = fault
	}
	noteUnnamed(located, img, err)
	c.keep(located, img, err)
	return err
}

// noteUnnamed gives what stayed unnamed its reason, and the nearest symbol as a hint.
func noteUnnamed(located []*Location, img *image, err error) {
	for _, l := range located {
		if l.Named() {
			continue
		}
		switch {
		case err != nil:
			l.Reason = ReasonMalformed
		case img.dwarf == nil && img.symbols.Len() == 0:
			l.Reason = ReasonNoSymbols
		default:
			l.Reason = ReasonNoFunction
		}
		l.Near, l.NearDistance, _ = img.near(l.Offset - 1)
	}
}

func (j *moduleJob) elfAddress(file *elffile.File, p place, emptied bool) (uint64, bool) {
	if !emptied {
		return elfAddress(file, p.offset)
	}
	m := j.mappings[p.mapping]
	start, ok := emptiedSegment(file, m)
	return start + uint64(p.addr-m.Start), ok
}

// emptiedSegment returns the ELF address at which a mapping begins, for a file that has lost where in it
// its segments were: the executable segment that takes as many pages as the mapping, if there is only one. The
// kernel and ld.so map each segment from the page that it begins in to the one that it ends in.
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

// elfAddress turns an offset in the file into an ELF virtual address.
func elfAddress(file *elffile.File, offset uint64) (uint64, bool) {
	// The call lies before the return address, maybe in another segment.
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

// checkStale tells whether the file is the one that was mapped: by build ID if one was recorded, else by the size and
// time that were recorded, by its segments and by the calls before the return addresses.
func (j *moduleJob) checkStale(file *elffile.File, m *Module, f finder) error {
	if j.recorded != "" && file.BuildID != "" {
		if j.recorded != file.BuildID {
			return fmt.Errorf("%s: its build ID is %s, the one that was mapped has %s", file.Path, file.BuildID, j.recorded)
		}
		return nil
	}
	if err := j.checkState(file, m, f); err != nil {
		return err
	}
	for _, mp := range j.mappings {
		if !fitsSegment(file, mp) {
			return fmt.Errorf("%s: none of its segments fits the mapping %x-%x at offset 0x%x: it was rebuilt or replaced",
				file.Path, uint64(mp.Start), uint64(mp.Limit), uint64(mp.Offset))
		}
	}
	j.countCalls(file, m)
	if m.CallsChecked >= 5 && m.CallsFound*2 < m.CallsChecked {
		return fmt.Errorf("%s: only %d of %d return addresses follow a call: it was rebuilt or replaced",
			file.Path, m.CallsFound, m.CallsChecked)
	}
	return nil
}

// checkState compares the file with what the recorder noted of it. A copy has another time, but the same size. What
// the user named instead is not compared: it may have symbols that the other had not.
func (j *moduleJob) checkState(file *elffile.File, m *Module, f finder) error {
	was, now := j.state, file.Info
	if was.Size == 0 || now == nil || (j.main && f.o.Binary != "") {
		return nil
	}
	if now.Size() != was.Size {
		return fmt.Errorf("%s: it has %d bytes, the file that was mapped had %d: it was rebuilt or replaced", file.Path, now.Size(), was.Size)
	}
	const resolution = 2 * time.Second // of times on some file systems
	if f.o.Sysroot == "" && file.Path == m.Path && !was.MTime.IsZero() && now.ModTime().Sub(was.MTime).Abs() >= resolution {
		return fmt.Errorf("%s: it was written at %s, the file that was mapped at %s: it was rebuilt or replaced (if it is the same, name it with --binary or --sysroot /)",
			file.Path, now.ModTime().UTC().Format(time.RFC3339), was.MTime.UTC().Format(time.RFC3339))
	}
	return nil
}

// fitsSegment says whether an executable mapping is one that the loader makes of an executable
// segment: it begins on the page where the segment (or an earlier part of the
// file, if segments share it) begins and is no longer than it. Part of a mapping may have been
// remapped, e.g. to huge pages.
func fitsSegment(file *elffile.File, m heapfile.Mapping) bool {
	if m.Perm == "" {
		return true // the brief form gives no offsets
	}
	if file.Emptied() {
		_, ok := emptiedSegment(file, m)
		return ok
	}
	const page = 1 << 16 // the largest that common loaders use
	size := uint64(m.Limit - m.Start)
	for _, p := range file.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 {
			continue
		}
		begin := p.Off &^ (page - 1)
		end := (p.Off + p.Filesz + page - 1) &^ (page - 1)
		if uint64(m.Offset) >= begin && uint64(m.Offset) < end && size <= end-begin && uint64(m.Offset)+size <= end+page {
			return true
		}
	}
	return false
}

// countCalls looks at the bytes before each return address.
func (j *moduleJob) countCalls(file *elffile.File, m *Module) {
	for _, l := range j.out {
		if l.Reason != ReasonNone {
			continue
		}
		found, known := endsInCall(file, l.Offset)
		if !known {
			continue
		}
		m.CallsChecked++
		if found {
			m.CallsFound++
		}
	}
}

// endsInCall says whether the bytes before an ELF address end in a call
// instruction; known is false if the file has no code there or the machine is another.
func endsInCall(file *elffile.File, addr uint64) (found, known bool) {
	const longest = 7
	if addr < longest {
		return false, false
	}
	b := file.At(addr-longest, longest)
	if b == nil {
		return false, false
	}
	switch file.Machine {
	case elf.EM_X86_64:
		return endsInCallX86(b), true
	case elf.EM_AARCH64:
		w := uint32(b[3]) | uint32(b[4])<<8 | uint32(b[5])<<16 | uint32(b[6])<<24
		const bl, blr, blra = 0x94000000, 0xd63f0000, 0xd73f0800
		return w&0xfc000000 == bl || w&0xfffffc1f == blr || w&0xfffff800 == blra || w&0xfffff800 == 0xd63f0800, true
	}
	return false, false
}

// endsInCallX86 recognises E8 rel32, and FF /2 with its memory and register forms
// of 2 to 7 bytes (Intel SDM volume 2, CALL).
func endsInCallX86(b []byte) bool {
	n := len(b)
	if b[n-5] == 0xe8 {
		return true
	}
	for length := 2; length <= 7; length++ {
		if b[n-length] != 0xff || b[n-length+1]>>3&7 != 2 {
			continue
		}
		if length == 2+modRMExtra(b[n-length+1:]) {
			return true
		}
	}
	return false
}

// modRMExtra is the number of bytes behind a ModRM byte: SIB and displacement.
func modRMExtra(b []byte) int {
	mod, rm := b[0]>>6, b[0]&7
	extra := 0
	if mod != 3 && rm == 4 {
		extra++ // SIB
		if mod == 0 && len(b) > 1 && b[1]&7 == 5 {
			return extra + 4
		}
	}
	switch {
	case mod == 1:
		extra++
	case mod == 2 || (mod == 0 && rm == 5):
		extra += 4
	}
	return extra
}
