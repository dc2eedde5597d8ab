//go:build linux

package collect

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/units"
)

// problem stores an error, which may be nil, for the end of the recording.
func (c *Collector) problem(err error) {
	if err != nil {
		c.problems[err.Error()] = true
	}
}

func (c *Collector) sortedProblems() []string { return slices.Sorted(maps.Keys(c.problems)) }

// truncationError returns an error if snapshots were truncated.
func (c *Collector) truncationError() error {
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

// notes returns what the user should know about a recording.
func (c *Collector) notes(r *Result) []string {
	notes := append(c.sortedProblems(), c.engineNotes...)
	if n := len(c.unrecorded); n > 0 {
		notes = append(notes, fmt.Sprintf("not recorded: %s: %s%s",
			units.CountOf(n, "child process", "child processes"), names(c.unrecorded), c.o.ChildrenHint))
	}
	maps.DeleteFunc(c.contained, func(pid int, _ string) bool { return c.procs[pid] != nil })
	if len(c.contained) > 0 {
		notes = append(notes, fmt.Sprintf("not recorded: %s, in a container: let the container run heaplapse record -- CMD, "+
			"or record it from here while it runs: heaplapse attach PID", names(c.contained)))
	}
	if len(c.filtered) > 0 {
		notes = append(notes, fmt.Sprintf("not recorded: %s, under a seccomp filter that heaplapse does not run under, "+
			"and that might end the program for a snapshot; run heaplapse inside of the sandbox",
			strings.Join(slices.Sorted(maps.Keys(c.filtered)), ", ")))
	}
	if n := len(c.survivors); n > 0 {
		var list []string
		for _, pid := range c.survivors {
			list = append(list, strconv.Itoa(pid))
		}
		notes = append(notes, fmt.Sprintf("not recorded any more: %s that the program left running: %s",
			units.CountOf(n, "process", "processes"), few(list)))
	}
	if r.Signal == int(unix.SIGSYS) {
		notes = append(notes, "SIGSYS ended the program: its seccomp filter may not permit the system calls "+
			"that write a snapshot, such as openat; record it without the filter, or add them")
	}
	if r.Snapshots == 0 {
		notes = append(notes, c.noSnapshotsReason(r))
	}
	return notes
}

// names returns the names of programs, in order.
func names(of map[int]string) string { return few(slices.Compact(slices.Sorted(maps.Values(of)))) }

// few joins the first of some names.
func few(list []string) string {
	const most = 5
	if len(list) > most {
		list = append(list[:most:most], "…")
	}
	return strings.Join(list, ", ")
}

// noSnapshotsReason returns a message for a recording without snapshots, with the likely reason.
func (c *Collector) noSnapshotsReason(r *Result) string {
	switch {
	case r.Signal != 0:
		return fmt.Sprintf("no snapshots: %s ended the program before the first one was due", sig.Name(r.Signal))
	case len(c.problems) > 0 || len(c.filtered) > 0 || c.truncated > 0 || len(c.engineNotes) > 0:
		return "no snapshots"
	case c.o.Unfinished != nil && c.o.Unfinished():
		return "no snapshots: the program ended while the first one was being written, for which it waits for at most 2 s"
	}
	return "no snapshots: the program did not use the preloaded allocator; " +
		"it may have its own allocator (Go; jemalloc or mimalloc linked in), clear its environment, " +
		"end with _exit, run as another user, or run in a container that the command only asks for (docker, kubectl)"
}
