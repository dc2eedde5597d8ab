//go:build linux

package record

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// finish is called when the program has ended and the goroutine was stopped: it takes what is left, says how it ended
// and closes the sidecar.
func (c *collector) finish(state *os.ProcessState, ended time.Time) Outcome {
	c.sweep(0)
	o := Outcome{Dir: c.plan.Dir, Status: state.ExitCode()}
	end := manifest.End{PID: c.root, Time: ended.UTC()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.Signal = int(ws.Signal())
		o.Status = 128 + o.Signal
		end.Signal = signalName(o.Signal)
	} else {
		end.Status = &o.Status
		c.exitDump(ended)
	}
	for _, pid := range c.pids() {
		c.copyMaps(c.procs[pid], true)
	}
	c.prune()
	c.written(c.out.End(end))
	problems := c.sortedProblems()
	c.written(c.out.End(manifest.End{Time: time.Now().UTC(), Error: strings.Join(problems, "; ")}))
	if err := c.out.Close(); err != nil {
		c.written(err)
	}
	c.count(&o)
	o.Notes = c.notes(o)
	return o
}

// exitWithin is how long before its end a program writes its last snapshot.
const exitWithin = 250 * time.Millisecond

// exitDump writes down that the last snapshot was that of the program's exit: nothing but its time tells with tcmalloc.
func (c *collector) exitDump(ended time.Time) {
	p := c.procs[c.root]
	if p == nil || len(p.images) == 0 || len(p.last().series) == 0 {
		return
	}
	series := p.last().series
	s := series[len(series)-1]
	if s.trigger == triggerExit || s.trigger == triggerManual || ended.Sub(s.time) > exitWithin {
		return
	}
	s.trigger = triggerExit
	c.write(p, s, false)
}

// enough is the least number of snapshots that growth can judge; helperMost is the most that a program writes that did its work at once.
const (
	enough     = 6
	helperMost = 2
)

// prune removes the snapshots of wrappers, and of helpers that shells ran, where there is a program that was recorded for longer.
func (c *collector) prune() {
	if c.plan.FollowChildren {
		return
	}
	var programs, long []*image
	for _, img := range c.images() {
		if !img.isWrapper() {
			programs = append(programs, img)
			if len(img.series) >= enough {
				long = append(long, img)
			}
		}
	}
	for _, img := range c.images() {
		wrapper := img.isWrapper() && len(programs) > 0
		helper := len(long) > 0 && len(img.series) <= helperMost
		if !wrapper && !helper {
			continue
		}
		for _, s := range img.series {
			_ = os.Remove(s.path)
		}
		img.series = nil
	}
}

func (c *collector) images() []*image {
	var out []*image
	for _, pid := range c.pids() {
		out = append(out, c.procs[pid].images...)
	}
	return out
}

func (c *collector) count(o *Outcome) {
	most := 0
	for _, pid := range c.pids() {
		n := 0
		for _, img := range c.procs[pid].images {
			n += len(img.series)
		}
		if n == 0 {
			continue
		}
		o.Snapshots += n
		o.Processes++
		if n > most {
			most, o.Main = n, pid
		}
	}
}

func (c *collector) sortedProblems() []string {
	var out []string
	for p := range c.problems {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func (c *collector) notes(o Outcome) []string {
	notes := c.sortedProblems()
	if c.unfinished > 0 {
		notes = append(notes, fmt.Sprintf("%d snapshots were cut short and are not used", c.unfinished))
	}
	if n := len(c.strangers); n > 0 {
		notes = append(notes, fmt.Sprintf("the program ran other processes (%d seen), which were not recorded: --follow-children keeps them all", n))
	}
	if o.Snapshots == 0 {
		notes = append(notes, c.whyNone(o))
	}
	return notes
}

// whyNone says why there may be no snapshots.
func (c *collector) whyNone(o Outcome) string {
	switch {
	case o.Signal != 0:
		return fmt.Sprintf("no snapshots: %s ended the program before one was due", signalName(o.Signal))
	case len(c.problems) > 0 || c.unfinished > 0:
		return "no snapshots"
	}
	return "no snapshots: the program did not use the preloaded allocator; it may bring its own (Go, jemalloc or mimalloc linked in), clear its environment, leave by _exit, or run under another user"
}
