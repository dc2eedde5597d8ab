//go:build linux

package proc

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/infile"
)

// DeletedSuffix is what the kernel appends to the path of a mapped file that was deleted or
// replaced.
const DeletedSuffix = " (deleted)"

// Identify returns the path, size, time and build ID of a file that a process has mapped. It opens
// the path in the root directory of the process (a container, a chroot) if the process is alive. If
// the kernel reports the file as deleted, the result has only a path, because another file may be
// there now. Identify returns false if the path is not a regular file.
func Identify(path string, pid int) (manifest.Mapping, bool) {
	m := manifest.Mapping{Path: strings.TrimSuffix(path, DeletedSuffix)}
	if strings.HasSuffix(path, DeletedSuffix) {
		return m, true
	}
	f, info, err := infile.Open(fmt.Sprintf("/proc/%d/root%s", pid, path))
	if err != nil && !errors.Is(err, infile.ErrNotRegular) {
		f, info, err = infile.Open(path)
	}
	if errors.Is(err, infile.ErrNotRegular) {
		return m, false // a device, a shared memory segment
	}
	if err != nil {
		return m, true
	}
	defer f.Close()
	m.Size, m.MTime, m.BuildID = info.Size(), info.ModTime().UTC(), BuildID(f)
	return m, true
}

// BuildID returns the GNU build ID of an ELF file in hexadecimal, or "" if it has none.
func BuildID(r io.ReaderAt) string {
	f, err := elf.NewFile(r)
	if err != nil {
		return ""
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<20 {
			continue
		}
		note := make([]byte, p.Filesz)
		if _, err := p.ReadAt(note, 0); err != nil {
			continue
		}
		if id := GnuBuildID(note, f.ByteOrder); id != "" {
			return id
		}
	}
	return ""
}

// GnuBuildID returns the build ID in a section of ELF notes, or "". A note has the sizes of name
// and description, a type (3 is the build ID), then name and description, each padded to a multiple
// of four bytes.
func GnuBuildID(b []byte, order binary.ByteOrder) string {
	for len(b) >= 12 {
		nameSize, descSize, kind := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint32(b[8:])
		name := 12 + (nameSize+3)&^3
		end := name + descSize
		if end > uint64(len(b)) {
			return ""
		}
		if kind == 3 && string(b[12:12+nameSize]) == "GNU\x00" {
			return hex.EncodeToString(b[name:end])
		}
		b = b[min((end+3)&^3, uint64(len(b))):]
	}
	return ""
}
