package record

import (
	"fmt"
	"os"
	"time"

	"github.com/heaplapse/heaplapse/internal/record/program"
)

// Options say what is recorded, and how. The zero value of each field but Command works.
type Options struct {
	// Command is the program and its arguments.
	Command []string
	// Dir is where the snapshots go: made if need be, without a recording in it. "" makes one in the working directory.
	Dir string
	// Engine is tcmalloc, jemalloc, or auto (also ""): the one that can do what is asked for.
	Engine string
	// Library is the engine's file; "" looks for it.
	Library string

	// Every is the time between snapshots. Adaptive ("" of the flag) starts at DefaultEvery and never takes more than one in
	// 1/DefaultPart of the time that the process has run.
	Every    time.Duration
	Adaptive bool
	// EveryAlloc and EveryInuse take a snapshot after so many bytes allocated, or at each new high of the heap by so many; 0 is off.
	EveryAlloc, EveryInuse int64
	// SamplePeriod is the mean distance of samples in bytes, for an engine that samples; 0 is its default.
	SamplePeriod int64
	// Signal makes the program take a snapshot when it gets it: USR2, or a number.
	Signal string

	// Duration ends the program after that time, with SIGTERM; 0 is never.
	Duration time.Duration
	// Keep is the number of snapshots kept of each process; 0 keeps all.
	Keep int
	// FollowChildren keeps the snapshots of all processes, not of the program alone.
	FollowChildren bool
	// JIT asks Node and CPython to name their generated code; PythonMalloc makes CPython's small objects visible.
	JIT, PythonMalloc bool

	// Recorder is the version that is written down.
	Recorder string
	// Env is the program's environment before anything is added; nil takes this process's.
	Env []string
	// Stdin, Stdout and Stderr are the program's; nil takes this process's.
	Stdin, Stdout, Stderr *os.File
	// Note is told, in a line, what the user should know; nil drops it.
	Note func(string)
}

// Defaults of a timer that nobody set.
const (
	DefaultEvery = 500 * time.Millisecond
	DefaultPart  = 250
)

// Setting is an environment variable that the program gets.
type Setting struct{ Name, Value string }

// Plan is what will be done.
type Plan struct {
	Options
	// Engine is the name of the one that was chosen, Why says why.
	Engine, Why string
	Library     Library
	Target      program.Target
	// Settings are what is added to the program's environment.
	Settings []Setting
	// Cost says what the recording will cost the program, When when snapshots are taken.
	Cost, When string
	// Hints are what would make the recording say more.
	Hints []string

	engine engine
	agent  bool // the agent can be loaded
	prefix string
}

// Library is an engine's shared library.
type Library struct{ Path, Version string }

// Outcome is how a recording ended.
type Outcome struct {
	// Status is the program's exit status, Signal the number of the signal that killed it (Status is 128 more then).
	Status, Signal int
	Dir            string
	// Snapshots were kept of so many processes.
	Snapshots, Processes int
	// Main is the process with most snapshots.
	Main int
	// Notes say what the user should know: what is missing, and why.
	Notes []string
}

// Environment is what the program will see: its own, with the settings.
func (p *Plan) Environment() []string {
	env := append([]string(nil), p.Env...)
	for _, s := range p.Settings {
		env = program.Setenv(env, s.Name, s.Value)
	}
	return env
}

func (o *Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}
