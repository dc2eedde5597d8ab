package symbolize

import (
	"debug/elf"
	"fmt"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// checkStale returns an error if the file is not the one that was mapped. It compares the build IDs
// if both are known. Otherwise it compares the size and time with the recorded ones, the segments
// with the mappings, and checks the code before the return addresses.
func (j *moduleJob) checkStale(file *elffile.File, m *Module, search files.Search) error {
	if j.recorded != "" && file.BuildID != "" {
		if j.recorded != file.BuildID {
			return fmt.Errorf("%s: its build ID is %s, the one that was mapped has %s", file.Path, file.BuildID, j.recorded)
		}
		return nil
	}
	if err := j.checkState(file, m, search); err != nil {
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

// checkState compares the size and time of the file with the recorded ones. It compares the time
// only for the file at the original path, because copies may have another one. It does not compare
// Options.Binary, which may be a copy with more symbols.
func (j *moduleJob) checkState(file *elffile.File, m *Module, search files.Search) error {
	was, now := j.state, file.Info
	if was.Size == 0 || now == nil || (j.main && search.Binary != "") {
		return nil
	}
	if now.Size() != was.Size {
		return fmt.Errorf(
			"%s: it has %d bytes, the file that was mapped had %d: it was rebuilt or replaced",
			file.Path,
			now.Size(),
			was.Size,
		)
	}
	const resolution = 2 * time.Second // of modification times on some file systems
	if search.Sysroot == "" && file.Path == m.Path && !was.MTime.IsZero() &&
		now.ModTime().Sub(was.MTime).Abs() >= resolution {
		return fmt.Errorf(
			"%s: it was written at %s, the file that was mapped at %s: it was rebuilt or replaced, or only its time changed",
			file.Path,
			now.ModTime().UTC().Format(time.RFC3339),
			was.MTime.UTC().Format(time.RFC3339),
		)
	}
	return nil
}

// fitsSegment reports whether a loader can have made an executable mapping from an executable
// segment of the file: the mapping begins on a page of the segment and is not longer than the
// segment. It may be shorter, because parts of a mapping can be remapped, for example to huge
// pages.
func fitsSegment(file *elffile.File, m heapfile.Mapping) bool {
	if m.Perm == "" {
		return true // the brief format has no offsets
	}
	if file.Emptied() {
		_, ok := emptiedSegment(file, m)
		return ok
	}
	const page = 1 << 16 // the largest page size in common use
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

// countCalls counts the return addresses that follow a call instruction in the file.
func (j *moduleJob) countCalls(file *elffile.File, m *Module) {
	for _, l := range j.out {
		if l.Reason != ReasonNone {
			continue
		}
		found, known := file.EndsInCall(l.Offset)
		if !known {
			continue
		}
		m.CallsChecked++
		if found {
			m.CallsFound++
		}
	}
}
