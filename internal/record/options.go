package record

import (
	"fmt"
	"os"
	"time"

	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/record/collect"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// Scope is which processes are recorded besides the program.
type Scope = collect.Scope

// The scopes: the program's workers, which is the default, no other process, or all.
const (
	Workers  = collect.Workers
	MainOnly = collect.MainOnly
	All      = collect.All
)

// Options defines a recording. All fields except Command may have their zero value.
type Options struct {
	// Command is the program and its arguments.
	Command []string
	// Dir is the directory of the snapshots, an [outdir.Pattern]. It is created if it does not
	// exist, and must not hold a recording. If it is "", a new directory is created in the working
	// directory.
	Dir string
	// Replace removes the recording that Dir holds before the program starts.
	Replace bool
	// Engine is tcmalloc, jemalloc or auto, which selects the first engine that supports the
	// options. "" means auto.
	Engine string
	// Library is the path of the engine's shared library. If it is "", the library is searched for.
	Library string

	// Every is the time between snapshots. 0 disables the timer.
	Every time.Duration
	// Adaptive sets the interval automatically: DefaultEvery at first, later 1/DefaultPart of the
	// time since the process started.
	Adaptive bool
	// EveryAlloc is the number of bytes allocated between snapshots. 0 disables it.
	EveryAlloc int64
	// EveryInuse takes a snapshot when the bytes in use exceed their previous maximum by this
	// number. 0 disables it.
	EveryInuse int64
	// SamplePeriod is the mean number of bytes between samples, for an engine that samples. 0 means
	// the engine's default.
	SamplePeriod int64
	// Signal is the name (USR2) or the number of a signal that makes the program take a snapshot.
	Signal string

	// Duration is the time after which the program is sent SIGTERM. 0 means no limit.
	Duration time.Duration
	// Keep is the maximum number of snapshots of each process image. 0 means no limit.
	Keep int
	// KeepBytes is the maximum size of all snapshots in bytes, as they are stored. 0 means no
	// limit.
	KeepBytes int64
	// NoCompress leaves the snapshots as the engine wrote them.
	NoCompress bool
	// HoldFiles holds the files that name addresses open while the recording lasts: see [collect.Result].
	HoldFiles bool
	// Scope is which processes are recorded besides the program.
	Scope Scope
	// HoldersEvery is the time between looks at what holds the sampled blocks. 0 means that it is chosen, and that
	// large processes are not looked at. NoHolders turns it off.
	HoldersEvery time.Duration
	NoHolders    bool
	// Guard removes the copies of processes that are looked at if heaplapse is killed. It may be nil.
	Guard *snapshot.Guard
	// JIT makes Node and CPython write the names of generated code.
	JIT bool
	// PythonMalloc makes CPython allocate small objects with malloc.
	PythonMalloc bool

	// Recorder is the name and version of this program, for the manifest.
	Recorder string
	// Env is the program's environment, without Plan.Settings. Nil means that of this process.
	Env []string
	// Stdin, Stdout and Stderr are the program's standard streams. Nil means those of this process.
	Stdin, Stdout, Stderr *os.File
	// Note is called with each warning for the user, and Tell with what is as requested, each a
	// single line. They may be nil.
	Note, Tell func(string)
}

// Parameters of the adaptive timer.
const (
	DefaultEvery = 500 * time.Millisecond
	DefaultPart  = 250
)

// Setting is an environment variable.
type Setting struct{ Name, Value string }

// Plan is a recording that is ready to run.
type Plan struct {
	Options
	// Engine is the name of the selected engine.
	Engine string
	// Why is the reason for the selection, for the user.
	Why     string
	Library Library
	Target  program.Target
	// Settings lists the variables that are added to the program's environment.
	Settings []Setting
	// Cost describes the overhead and the accuracy, for the user.
	Cost string
	// When describes the times of the snapshots, for the user.
	When string
	// Hints lists options that would improve the recording, for the user.
	Hints []string

	engine   engine
	adapter  string            // where the adapter is; "": the engine needs none
	prefix   string            // absolute path with which the names of snapshots begin
	freeName func() string     // returns a name of the directory that no file has; nil if Dir is the only one
	made     bool              // MakeDir was called
	attached bool              // the program runs already
	created  bool              // the directory did not exist before
	receiver *channel.Receiver // writes the snapshots; nil before the program is started
}

// Library is an engine's shared library.
type Library struct{ Path, Version string }

// Outcome is the result of a recording.
type Outcome struct {
	collect.Result
	// Dir is the directory of the snapshots.
	Dir string
	// PID is the process that Attach has recorded.
	PID int
	// Restored is the number of entries in tables of imports that Attach has put back.
	Restored int
}

func (o *Options) tell(format string, args ...any) {
	if o.Tell != nil {
		o.Tell(fmt.Sprintf(format, args...))
	}
}

func (o *Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}
