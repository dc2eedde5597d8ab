//go:build linux

package collect

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// checkAccess finds processes that are recorded, but cannot write to the directory: they run as another
// user by now, as the workers of a service do. It gives the user access, or tells about the processes of
// the user once, and at once, because a service may run for days.
func (c *Collector) checkAccess() {
	for _, pid := range append([]int{c.o.Root}, proc.Descendants(c.o.Root)...) {
		if proc.CanWrite(pid, c.dir) {
			continue
		}
		info, known := proc.Read(pid)
		id, ok := proc.User(pid)
		if !known || !ok || c.cannotWrite[id] != "" || !c.isRecorded(&process{pid: pid, parent: info.Parent}) {
			continue
		}
		name, program := proc.UserName(id), filepath.Base(info.Exe)
		if proc.CanReach(pid, filepath.Dir(c.dir)) && c.grant(id, name, program) {
			continue
		}
		c.cannotWrite[id] = fmt.Sprintf("%s runs as %s, which cannot write to %s: its snapshots are missing; "+
			"record into a directory of that user (install -d -o %s DIR)", program, name, c.o.Shown, name)
		c.o.note("%s", c.cannotWrite[id])
	}
}

// grant lets a user write to the directory, if this recording has made it, and reports whether it may.
func (c *Collector) grant(id int, name, program string) bool {
	if slices.Contains(c.granted, id) {
		return true
	}
	if c.o.Created == nil || proc.Grant(c.dir, c.o.Created, append(slices.Clone(c.granted), id)) != nil {
		return false
	}
	c.granted = append(c.granted, id)
	c.o.note("%s runs as %s, which may write to %s from now on", program, name, c.o.Shown)
	return true
}
