//go:build linux

package collect

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/sig"
)

// settleFor is the time that Finish waits for other processes of the recording to end.
const settleFor = time.Second

// Exit is how a program ended.
type Exit struct {
	State *os.ProcessState
	Time  time.Time
	// CPU is the time that all threads of the program have run, in nanoseconds, without its
	// children; nil if unknown.
	CPU *int64
	// Requested reports whether the recorder sent or passed on a signal that ends programs. Asked is
	// when it first did so itself; a terminal sends one without it.
	Requested bool
	Asked     time.Time
}

// Finish completes the recording of a program that has ended. It adds the remaining snapshots,
// writes how the program ended, and closes the manifest. It is called after Stop.
func (c *Collector) Finish(e Exit) Result {
	c.settle(settleFor)
	c.survivors = slices.DeleteFunc(c.living(), func(pid int) bool { return c.procs[pid].kept() == 0 })
	r := Result{Status: e.State.ExitCode()}
	end := manifest.End{
		PID: c.o.Root, Time: e.Time.UTC(), CPU: e.CPU, RSS: c.resident, Asked: e.Asked.UTC(), Leaving: c.leaving,
	}
	if ws, ok := e.State.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal = int(ws.Signal())
		r.Status = 128 + r.Signal
		end.Signal, end.Requested = sig.Name(r.Signal), e.Requested
	} else {
		end.Status = &r.Status
		c.markExitSnapshot(e.Time)
	}
	c.close(&r, &end)
	return r
}

// Leave completes the recording of a process that this one did not start. ended is the time at
// which the process has ended, or zero if it runs on. It is called after Stop.
func (c *Collector) Leave(ended time.Time) (r Result) {
	c.settle(0)
	var end *manifest.End
	if !ended.IsZero() {
		end = &manifest.End{PID: c.o.Root, Time: ended.UTC(), Leaving: c.leaving}
		c.markExitSnapshot(ended)
	}
	c.close(&r, end)
	return r
}

// settle waits for processes that are about to end, and adds the remaining snapshots.
func (c *Collector) settle(limit time.Duration) {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline) && len(c.living()) > 0; time.Sleep(poll) {
		c.sweep(settleFor)
	}
	if c.o.CloseFiles != nil {
		c.checkWrite(c.o.CloseFiles())
	}
	c.sweep(0)
	c.takeAbandoned()
}

// close writes the rest of the manifest, and completes the result. end is how the program ended, or
// nil if it runs on.
func (c *Collector) close(r *Result, end *manifest.End) {
	for _, pid := range c.pids() {
		c.copyMaps(c.procs[pid], true)
	}
	c.prune()
	c.writeWorkers()
	c.writeOwnHeaps()
	c.writeProblems()
	c.keepFrames()
	c.keepLooks()
	c.problem(c.truncationError())
	if end != nil {
		c.checkWrite(c.out.End(*end))
	}
	c.compressRest()
	c.checkWrite(c.out.End(manifest.End{Time: time.Now().UTC(), Error: strings.Join(c.sortedProblems(), "; ")}))
	if err := c.out.Close(); err != nil {
		c.checkWrite(err)
	}
	c.count(r)
	r.Files = c.files
	r.Notes = c.notes(r)
}

// count sets the numbers of snapshots and processes, and the main process.
func (c *Collector) count(r *Result) {
	most := 0
	for _, pid := range c.pids() {
		n := c.procs[pid].kept()
		if n == 0 {
			continue
		}
		r.Snapshots += n
		r.Processes++
		if n > most {
			most, r.Main = n, pid
		}
	}
}
