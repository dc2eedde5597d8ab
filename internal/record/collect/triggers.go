//go:build linux

package collect

import (
	"time"

	"github.com/heaplapse/heaplapse/internal/record/written"
)

// trigger returns the name of what caused a snapshot.
func (c *Collector) trigger(p *process, img *image, s *snapshot) string {
	if name := s.event.TriggerName(); name != "" {
		return name
	}
	if c.requested[p.pid] {
		delete(c.requested, p.pid)
		return written.TriggerManual
	}
	if c.o.Trigger == nil {
		return ""
	}
	var before *written.Snapshot
	if n := len(img.series); n > 0 {
		before = &img.series[n-1].Snapshot
	}
	return c.o.Trigger(&s.Snapshot, before, img.highest)
}

// exitWithin is the maximum time between the last snapshot of a program and its end, if the end
// caused the snapshot.
const exitWithin = time.Second

// markExitSnapshot sets the trigger of the last snapshot to exit if the exit of the program caused
// it. With tcmalloc, only its time shows that.
func (c *Collector) markExitSnapshot(ended time.Time) {
	p, s := c.procs[c.o.Root], c.lastOf(c.o.Root)
	if s == nil {
		return
	}
	if s.trigger != written.TriggerExit {
		if s.event.TriggerName() != "" || s.trigger == written.TriggerManual || ended.Sub(s.Time) > exitWithin {
			return
		}
		s.trigger = written.TriggerExit
		c.write(p, s, false)
	}
	c.dropTeardown(p.last())
}
