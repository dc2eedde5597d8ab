//go:build linux

package record

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/units"
)

// finish is called when the program has ended and the goroutine was stopped: it takes what is left, says how it ended
// and closes the sidecar.
func (c *collector) finish(state *os.ProcessState, ended time.Time) Outcome {
	c.settle()
	o := Outcome{Dir: c.plan.Dir, Status: state.ExitCode()}
	end := manifest.End{PID: c.root, Time: ended.UTC()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.Signal = int(ws.Signal())
		o.Status = 128 + o.Signal
		end.Signal = sig.Name(o.Signal)
		c.lastWords(ended, ws.Signal())
	} else {
		end.Status = &o.Status
		c.exitDump(ended)
	}
	for _, pid := range c.pids() {
		c.copyMaps(c.procs[pid], true)
	}
	c.prune()
	c.problem(c.cut())
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

// settleFor is how long finish waits for children that are about to end as the program has.
const settleFor = time.Second

// settle takes the snapshots that are still on their way.
func (c *collector) settle() {
	for deadline := time.Now().Add(settleFor); time.Now().Before(deadline) && c.othersLive(); time.Sleep(dumpPoll) {
		c.sweep(settleFor)
	}
	c.sweep(0)
	c.leftovers()
}

// leftovers are snapshots that nobody will complete: those of processes that were killed while they wrote.
func (c *collector) leftovers() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		n, ok := parseName(e.Name(), filepath.Base(c.plan.prefix))
		if ok && !c.seen[e.Name()] && !proc.Alive(cmp.Or(n.pid, c.root)) {
			c.take(e.Name(), true)
		}
	}
}

// othersLive says whether processes of the recording have outlived the program.
func (c *collector) othersLive() bool {
	for _, pid := range c.pids() {
		if pid != c.root && proc.Alive(pid) {
			return true
		}
	}
	return false
}

// exitWithin is how long before its end a program writes its last snapshot.
const exitWithin = time.Second

// exitDump writes down that the last snapshot was that of the program's exit: nothing but its time tells with tcmalloc.
func (c *collector) exitDump(ended time.Time) {
	p, s := c.procs[c.root], c.lastOf(c.root)
	if s == nil {
		return
	}
	if s.trigger != triggerExit {
		if s.trigger == triggerManual || ended.Sub(s.time) > exitWithin {
			return
		}
		s.trigger = triggerExit
		c.write(p, s, false)
	}
	c.dropTeardown(p.last())
}

// lastWords writes down that the last snapshot was taken because of the signal that then ended the program: see agent.c.
func (c *collector) lastWords(ended time.Time, signal syscall.Signal) {
	able := c.plan.agent && c.plan.engine.dumpSignal(&c.plan.Options, true) != 0
	s := c.lastOf(c.root)
	if !able || s == nil || s.trigger == triggerManual || (signal != unix.SIGINT && signal != unix.SIGTERM) || ended.Sub(s.time) > exitWithin {
		return
	}
	s.trigger = triggerManual
	c.write(c.procs[c.root], s, false)
}

// lastOf is the last snapshot of a process, nil without one.
func (c *collector) lastOf(pid int) *snapshotFile {
	p := c.procs[pid]
	if p == nil || len(p.images) == 0 || len(p.last().series) == 0 {
		return nil
	}
	series := p.last().series
	return series[len(series)-1]
}

// dropTeardown removes what the timer took while the program freed its memory to exit: to growth these snapshots would look as if
// the leak had stopped. The one of the exit itself stays; whoever reads the series knows it for what it is.
func (c *collector) dropTeardown(img *image) {
	from, last := teardown(img.series), len(img.series)-1
	if last < enough || from >= last {
		return
	}
	for _, s := range img.series[from:last] {
		c.drop(s, manifest.DropTeardown)
	}
	img.series = slices.Delete(img.series, from, last)
}

// teardown is the index of the first snapshot of a heap that falls until the end, and by more than half, within the last tenth of the
// run or two seconds; the number of snapshots if it does not.
func teardown(series []*snapshotFile) int {
	last := len(series) - 1
	window := max(2*time.Second, series[last].time.Sub(series[0].time)/10)
	top := last
	for top > 0 && series[top-1].inuseBytes >= series[top].inuseBytes && series[last].time.Sub(series[top].time) <= window {
		top--
	}
	if 2*series[last].inuseBytes < series[top].inuseBytes {
		return top + 1
	}
	return len(series)
}

// enough is the least number of snapshots that growth can judge.
const enough = 6

// prune removes the snapshots of wrappers, and of helpers that shells ran, where there is a program that was recorded for longer.
func (c *collector) prune() {
	if c.plan.FollowChildren {
		return
	}
	programs := 0
	var longest time.Duration
	for _, img := range c.images() {
		if !img.isWrapper() && len(img.series) > 0 {
			programs++
			longest = max(longest, img.span())
		}
	}
	for _, img := range c.images() {
		wrapper := img.isWrapper() && programs > 0
		helper := len(img.series) < enough && 5*img.span() < longest
		if !wrapper && !helper {
			continue
		}
		for _, s := range img.series {
			c.drop(s, manifest.DropHelper)
		}
		img.series = nil
	}
}

// span is the time from the first snapshot to the last.
func (i *image) span() time.Duration {
	if len(i.series) == 0 {
		return 0
	}
	return i.series[len(i.series)-1].time.Sub(i.series[0].time)
}

func (c *collector) images() []*image {
	var out []*image
	for _, pid := range c.pids() {
		out = append(out, c.procs[pid].images...)
	}
	return out
}

// cut says that snapshots were not completed.
func (c *collector) cut() error {
	var limit unix.Rlimit
	why := ""
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && limit.Cur != unix.RLIM_INFINITY {
		why = fmt.Sprintf(" (files are limited to %s: ulimit -f)", units.RoundBytes(int64(min(limit.Cur, math.MaxInt64))))
	}
	switch c.unfinished {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 snapshot was cut short and is not used%s", why)
	}
	return fmt.Errorf("%d snapshots were cut short and are not used%s", c.unfinished, why)
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
		return fmt.Sprintf("no snapshots: %s ended the program before one was due", sig.Name(o.Signal))
	case len(c.problems) > 0 || c.unfinished > 0:
		return "no snapshots"
	}
	return "no snapshots: the program did not use the preloaded allocator; it may bring its own (Go, jemalloc or mimalloc linked in), clear its environment, leave by _exit, or run under another user"
}
