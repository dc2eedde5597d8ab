package attach

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Options are those of Start.
type Options struct {
	PID int
	// Settings are those of the engine: see engine/src/process/config.h.
	Settings string
	// Adopt is given the memory through which the engine sends its snapshots, and makes it ready.
	Adopt func(pid int, memory *os.File) error
	// Patience is the time after which Start gives up to find a safe moment. 0 means no limit.
	Patience time.Duration
	// Step, if it is not nil, is called before each step of the injection. It is for tests.
	Step func(name string)
}

// Kind is what kept a process from being recorded.
type Kind int

// Kinds of refusals. The process was not changed.
const (
	Unsupported Kind = iota // the process cannot be recorded
	NotFound                // there is no such process
	NoAccess                // the kernel does not permit it
	Busy                    // another tool, or another heaplapse, is at work: later it may be possible
)

// Refusal is the error of Start if the process was left alone.
type Refusal struct {
	Kind   Kind
	Reason string
	// Remedy is what the user can do about it, or "".
	Remedy string
}

func (r *Refusal) Error() string {
	if r.Remedy == "" {
		return r.Reason
	}
	return r.Reason + ": " + r.Remedy
}

// NoProcess is the refusal of a number that no process has.
func NoProcess(pid int) *Refusal {
	return &Refusal{NotFound, fmt.Sprintf("there is no process %d", pid), "pgrep NAME prints the numbers of those of a program"}
}

// ErrEnded is returned if the process has ended.
var ErrEnded = errors.New("the process has ended")

// ErrExec is returned if the process has become another program, which does not have the engine.
var ErrExec = errors.New("the process runs another program now")

// ErrNotAttached is returned by Detach.
var ErrNotAttached = errors.New("the process is not recorded by attach")

// Started tells how the engine came into a process.
type Started struct {
	// Pause is the time for which a thread was stopped while it was borrowed, and Longest that of
	// any thread that was looked at.
	Pause, Longest time.Duration
	// Looks is the number of times that a thread was stopped to see whether the moment is safe.
	Looks int
	// Loaded reports whether the engine was loaded now. If not, it was there from an earlier time.
	Loaded bool
	// Functions is the number of entries in tables of imports that call the engine, Foreign that of
	// those that call functions that others have put there.
	Functions, Foreign int
	// Python reports whether CPython's allocator is recorded.
	Python bool
}

// Coverage tells how many calls of malloc the engine has seen in a time.
type Coverage struct{ Seen, All uint64 }

// How a recording ended.
const (
	EndedByCommand = iota
	EndedAlone     // heaplapse did not answer for a time
	EndedByProgram // the program restricts its system calls
)

// Summary tells how a recording ended.
type Summary struct {
	// Restored is the number of entries that called the engine. Left of them still do.
	Restored, Left int
	// PythonLeft reports whether CPython still calls the engine, because another tool has put its
	// functions before those of the engine.
	PythonLeft bool
	// Ended is EndedByCommand, EndedAlone or EndedByProgram.
	Ended int
}
