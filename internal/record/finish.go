//go:build linux

package record

import (
	"cmp"
	"fmt"
	"maps"
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
	"github.com/heaplapse/heaplapse/internal/record/written"
	"github.com/heaplapse/heaplapse/internal/units"
)

// finish completes a recording. It is called when the program has ended and stop has returned. It
// adds the remaining snapshots, writes how the program ended, and closes the manifest.
func (c *collector) finish(state *os.ProcessState, ended time.Time) Outcome {
	c.settle(settleFor)
	o := Outcome{Status: state.ExitCode()}
	end := manifest.End{PID: c.root, Time: ended.UTC()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.Signal = int(ws.Signal())
		o.Status = 128 + o.Signal
		end.Signal = sig.Name(o.Signal)
		c.markSignalSnapshot(ended, ws.Signal())
	} else {
		end.Status = &o.Status
		c.markExitSnapshot(ended)
	}
	return c.close(o, &end)
}

// close writes the rest of the manifest. end is how the program ended, or nil if it runs on.
func (c *collector) close(o Outcome, end *manifest.End) Outcome {
	o.Dir = c.plan.Dir
	for _, pid := range c.pids() {
		c.copyMaps(c.procs[pid], true)
	}
	c.prune()
	c.writeProblems()
	c.keepFrames()
	c.problem(c.truncationError())
	if end != nil {
		c.checkWrite(c.out.End(*end))
	}
	c.compressRest()
	problems := append(c.sortedProblems(), slices.Sorted(maps.Values(c.cannotWrite))...)
	c.checkWrite(c.out.End(manifest.End{Time: time.Now().UTC(), Error: strings.Join(problems, "; ")}))
	if err := c.out.Close(); err != nil {
		c.checkWrite(err)
	}
	c.count(&o)
	o.Notes = c.notes(o)
	return o
}

// writeProblems copies what the engine reported to the manifest.
func (c *collector) writeProblems() {
	problems, errs := c.events.Finish(func(err unix.Errno) bool {
		// The processes were given access since: the user was told so.
		return err == unix.EACCES && len(c.granted) > 0 && len(c.cannotWrite) == 0
	})
	for _, p := range problems {
		c.checkWrite(c.out.Problem(p))
		c.engineNotes = append(c.engineNotes, written.ProblemText(p))
	}
	for _, err := range errs {
		c.checkWrite(err)
	}
}

// settleFor is the time that finish waits for other processes of the recording to end.
const settleFor = time.Second

// settle waits for processes that are about to end, and adds the remaining snapshots.
func (c *collector) settle(limit time.Duration) {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline) && c.othersLive(); time.Sleep(dumpPoll) {
		c.sweep(settleFor)
	}
	c.sweep(0)
	c.takeAbandoned()
}

// takeAbandoned handles incomplete snapshots of processes that were killed while they were writing.
func (c *collector) takeAbandoned() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		n, ok := written.ParseName(e.Name(), filepath.Base(c.plan.prefix))
		if ok && !c.seen[e.Name()] && !proc.Alive(cmp.Or(n.PID, c.root)) {
			c.take(e.Name(), true)
		}
	}
}

// othersLive reports whether a process of the recording other than the program is alive.
func (c *collector) othersLive() bool {
	for _, pid := range c.pids() {
		if pid != c.root && proc.Alive(pid) {
			return true
		}
	}
	return false
}

// exitWithin is the maximum time between the last snapshot of a program and its end, if the end
// caused the snapshot.
const exitWithin = time.Second

// markExitSnapshot sets the trigger of the last snapshot to exit if the exit of the program caused
// it. With tcmalloc, only its time shows that.
func (c *collector) markExitSnapshot(ended time.Time) {
	p, s := c.procs[c.root], c.lastOf(c.root)
	if s == nil {
		return
	}
	if s.trigger != written.TriggerExit {
		if s.event != nil || s.trigger == written.TriggerManual || ended.Sub(s.Time) > exitWithin {
			return
		}
		s.trigger = written.TriggerExit
		c.write(p, s, false)
	}
	c.dropTeardown(p.last())
}

// markSignalSnapshot sets the trigger of the last snapshot to manual if the agent took it because
// of the signal that ended the program. See agent.c.
func (c *collector) markSignalSnapshot(ended time.Time, signal syscall.Signal) {
	able := c.plan.agent && c.plan.engine.dumpSignal(&c.plan.Options, true) != 0
	s := c.lastOf(c.root)
	if !able || s == nil || s.trigger == written.TriggerManual {
		return
	}
	if (signal != unix.SIGINT && signal != unix.SIGTERM) || ended.Sub(s.Time) > exitWithin {
		return
	}
	s.trigger = written.TriggerManual
	c.write(c.procs[c.root], s, false)
}

// lastOf returns the last snapshot of a process, or nil if it has none.
func (c *collector) lastOf(pid int) *snapshot {
	p := c.procs[pid]
	if p == nil || len(p.images) == 0 || len(p.last().series) == 0 {
		return nil
	}
	series := p.last().series
	return series[len(series)-1]
}

// dropTeardown removes the snapshots that the timer took while the program was freeing its memory
// before it exited. In them, a leak seems to have stopped. The snapshot of the exit itself is kept:
// readers know it by its trigger.
func (c *collector) dropTeardown(img *image) {
	from, last := teardownStart(img.series), len(img.series)-1
	if last < minSnapshots || from >= last {
		return
	}
	for _, s := range img.series[from:last] {
		c.drop(s, manifest.DropTeardown)
	}
	img.series = slices.Delete(img.series, from, last)
}

// teardownStart returns the index of the first snapshot after the heap has begun to shrink for the
// last time, if it shrinks by more than half and within the last tenth of the run or the last two
// seconds. Otherwise it returns the number of snapshots.
func teardownStart(series []*snapshot) int {
	last := len(series) - 1
	window := max(2*time.Second, series[last].Time.Sub(series[0].Time)/10)
	top := last
	for top > 0 && series[top-1].InuseBytes >= series[top].InuseBytes &&
		series[last].Time.Sub(series[top].Time) <= window {
		top--
	}
	if 2*series[last].InuseBytes < series[top].InuseBytes {
		return top + 1
	}
	return len(series)
}

// minSnapshots is the minimum number of snapshots for a verdict of growth.
const minSnapshots = 6

// prune removes the snapshots of wrappers if there is a program, and those of short-lived helpers
// if there is a program with a longer series.
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
		helper := len(img.series) < minSnapshots && 5*img.span() < longest
		if !wrapper && !helper {
			continue
		}
		for _, s := range img.series {
			c.drop(s, manifest.DropHelper)
		}
		img.series = nil
	}
}

// span returns the time from the first to the last snapshot.
func (i *image) span() time.Duration {
	if len(i.series) == 0 {
		return 0
	}
	return i.series[len(i.series)-1].Time.Sub(i.series[0].Time)
}

func (c *collector) images() []*image {
	var out []*image
	for _, pid := range c.pids() {
		out = append(out, c.procs[pid].images...)
	}
	return out
}

// keepFrames adds the frames files of the process images that have snapshots to the manifest, and
// removes those of the others.
func (c *collector) keepFrames() {
	owners := map[string]int{} // by path: the process
	for _, pid := range c.pids() {
		for _, img := range c.procs[pid].images {
			if len(img.series) > 0 {
				owners[written.ImageName(c.plan.prefix, pid, img.number, manifest.FramesSuffix)] = pid
			}
		}
	}
	for _, path := range c.events.Frames() {
		pid, kept := owners[path]
		if !kept {
			_ = os.Remove(path)
			continue
		}
		c.checkWrite(c.out.File(manifest.File{
			File: filepath.Base(path), Path: path, Kind: manifest.KindFrames, PID: pid,
		}))
	}
}

// truncationError returns an error if snapshots were truncated.
func (c *collector) truncationError() error {
	if c.truncated == 0 {
		return nil
	}
	var limit unix.Rlimit
	reason := ""
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && limit.Cur != unix.RLIM_INFINITY {
		size := units.RoundBytes(int64(min(limit.Cur, math.MaxInt64)))
		reason = fmt.Sprintf(" (ulimit -f limits files to %s)", size)
	}
	return fmt.Errorf("%s truncated, not used%s", units.Count(c.truncated, "snapshot"), reason)
}

// count sets the numbers of snapshots and processes, and the main process.
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
	notes := append(c.sortedProblems(), c.engineNotes...)
	if n := len(c.unrecorded); n > 0 {
		notes = append(notes, fmt.Sprintf("not recorded: %s%s",
			units.CountOf(n, "child process", "child processes"),
			c.plan.Flags.If(c.plan.childrenOption(), " (use %s to record all processes)")))
	}
	if o.Signal == int(unix.SIGSYS) {
		notes = append(notes, "SIGSYS ended the program: its seccomp filter may not permit the system calls "+
			"that write a snapshot, such as openat; record it without the filter, or add them")
	}
	if o.Snapshots == 0 {
		notes = append(notes, c.noSnapshotsReason(o))
	}
	return notes
}

// noSnapshotsReason returns a message for a recording without snapshots, with the likely reason.
func (c *collector) noSnapshotsReason(o Outcome) string {
	switch {
	case o.Signal != 0:
		return fmt.Sprintf("no snapshots: %s ended the program before the first one was due", sig.Name(o.Signal))
	case len(c.problems) > 0 || len(c.cannotWrite) > 0 || c.truncated > 0 || len(c.engineNotes) > 0:
		return "no snapshots"
	}
	return "no snapshots: the program did not use the preloaded allocator; " +
		"it may have its own allocator (Go; jemalloc or mimalloc linked in), clear its environment, " +
		"end with _exit, or run as another user"
}
