//go:build linux && amd64

package snapshot

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Resident returns the parts of a range of the copy that have content, by address: other pages were never
// written to. If that cannot be found out, it returns the whole range. Of memory that is shared with other processes,
// the kernel copies no table of pages: the process tells which pages it has used.
func (s *Snapshot) Resident(r blocks.Range) []blocks.Range {
	const page, entry, batch = 4096, 8, 8192
	pid := s.Memory.PID
	if m, ok := target.Containing(s.Mappings, r.Start); ok && strings.HasSuffix(m.Permissions, "s") {
		pid = s.PID
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		return []blocks.Range{r}
	}
	defer f.Close()
	var list []blocks.Range
	b := make([]byte, batch*entry)
	for at := r.Start &^ (page - 1); at < r.End; {
		n := min((r.End-at+page-1)/page, batch)
		if _, err := f.ReadAt(b[:n*entry], int64(at/page*entry)); err != nil {
			return []blocks.Range{r}
		}
		for i := range n {
			if isResident(binary.LittleEndian.Uint64(b[i*entry:])) {
				list = blocks.Join(list, blocks.Range{Start: max(at, r.Start), End: min(at+page, r.End)})
			}
			at += page
		}
	}
	return list
}

// isResident reports whether an entry of /proc/PID/pagemap is that of a page in memory or in swap. A guard page
// (MADV_GUARD_INSTALL), as glibc has them below stacks from 2.42 on, cannot be read, and counts as in swap.
func isResident(entry uint64) bool {
	const swappedOrPresent, guard = 3 << 62, 1 << 58
	return entry&swappedOrPresent != 0 && entry&guard == 0
}
