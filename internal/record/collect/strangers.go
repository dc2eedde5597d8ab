//go:build linux

package collect

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// strangers are the processes below the recorded ones that are not recorded.
type strangers struct {
	started time.Time // the recording
	seen    map[int]*stranger
}

type stranger struct {
	parent      int // the nearest process above it that is recorded
	name        string
	first, last time.Time
	base, size  int64 // resident set size at these times, in bytes
}

const (
	// leastLife is the share of the recording for which a stranger must have lived to count.
	leastLife = 0.5
	// leastGrown is the number of bytes by which it must have grown, and leastShare the share of its size.
	leastGrown = 4 << 20
	leastShare = 0.1
)

// noteStrangers looks at the processes that are not recorded. below are those below the root, parents first.
func (c *Collector) noteStrangers(below []int) {
	// By process: itself if it is recorded, else the nearest one above it that is.
	nearest := map[int]int{c.o.Root: c.o.Root}
	for _, pid := range below {
		if p := c.procs[pid]; p != nil && p.recorded {
			nearest[pid] = pid
			continue
		}
		info, ok := proc.Read(pid)
		parent := cmp.Or(nearest[info.Parent], c.o.Root) // its parent may have ended meanwhile
		nearest[pid] = parent
		if ok && info.Exe != "" && !program.IsWrapper(info.Exe) && !proc.SameProgram(pid, parent) && hasBegun(info) {
			c.strangers.note(pid, parent, filepath.Base(strings.TrimSuffix(info.Exe, proc.DeletedSuffix)), time.Now())
		}
	}
}

func (s *strangers) note(pid, parent int, name string, now time.Time) {
	size := proc.Resident(pid)
	if size == nil {
		return
	}
	if s.seen == nil {
		s.seen = map[int]*stranger{}
	}
	if known := s.seen[pid]; known == nil || known.name != name {
		s.seen[pid] = &stranger{parent: parent, name: name, first: now, base: *size}
	}
	s.seen[pid].last, s.seen[pid].size = now, *size
}

// problems tells which of them grew, by the recorded process above them.
func (s *strangers) problems(now time.Time) (list []manifest.Problem) {
	names := map[int][]string{}
	for _, x := range s.seen {
		if x.grew() && x.last.Sub(x.first).Seconds() >= leastLife*now.Sub(s.started).Seconds() {
			names[x.parent] = append(names[x.parent], x.name)
		}
	}
	for _, parent := range slices.Sorted(maps.Keys(names)) {
		all := slices.Sorted(slices.Values(names[parent]))
		count := int64(len(all))
		list = append(list, manifest.Problem{
			PID: parent, Kind: manifest.ProblemPrograms, Count: count, Detail: strings.Join(slices.Compact(all), ", "),
		})
	}
	return list
}

func (x *stranger) grew() bool {
	grown := x.size - x.base
	return grown >= leastGrown && float64(grown) >= leastShare*float64(cmp.Or(x.base, 1))
}
