//go:build linux && amd64

package snapshot

import (
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/pagemap"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Resident returns the parts of a range of the copy that have content, by address: other pages were never
// written to. If that cannot be found out, it returns the whole range. Of memory that is shared with other processes,
// the kernel copies no table of pages: the process tells which pages it has used.
func (s *Snapshot) Resident(r blocks.Range) []blocks.Range {
	pid := s.Memory.PID
	if m, ok := target.Containing(s.Mappings, r.Start); ok && strings.HasSuffix(m.Permissions, "s") {
		pid = s.PID
	}
	f, err := pagemap.Open(pid)
	if err != nil {
		return []blocks.Range{r}
	}
	defer f.Close()
	list, err := f.Written(r)
	if err != nil {
		return []blocks.Range{r}
	}
	return list
}
