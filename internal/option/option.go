// Package option names the options that texts refer to. Reports and the recorder advise options
// and complain about their values, but only cmd knows the flags that set them.
package option

import "fmt"

// Option is something that the user can set.
type Option int

// Options of commands that read snapshots.
const (
	Process Option = iota
	Since
	Until
	Focus
	Ignore
	GroupBy
	MinBytes
	Top
	Explain
	Verbose
	Symbols
	Markdown
	Evidence

	// Options that set where files are.
	Sysroot
	Binary
	DebugDir
	Debuginfod
	PerfMap
	SourceRoot

	// Options of the regression check.
	Work
	Workload
	Force
	RequireBaseline
	TextOutput

	// Options of the recorder.
	Engine
	Library
	Duration
	FollowChildren
	MainOnly
	Wait
	JIT
	PythonMalloc
	Every
	EveryAlloc
	EveryInuse
	Signal
	SamplePeriod
	Keep
	Output
	Replace
	HoldersEvery

	// Options of requests to a service.
	Header
	CACert
	Insecure
	Timeout
	Retry
	MaxSize
)

// words describe each option to a user who has no flags. A value may follow.
var words = [...]string{
	Process:  "the process",
	Since:    "a start",
	Until:    "an end",
	Focus:    "the pattern of stacks to keep",
	Ignore:   "the pattern of stacks to drop",
	GroupBy:  "grouping by",
	MinBytes: "a minimum growth of",
	Top:      "a row limit of",
	Explain:  "the site to explain",
	Verbose:  "verbose output",
	Symbols:  "a check of the names of functions",
	Markdown: "as Markdown",
	Evidence: "a report of leaks",

	Sysroot:    "a system root",
	Binary:     "a program file",
	DebugDir:   "a debug directory",
	Debuginfod: "a debuginfod server",
	PerfMap:    "its perf map",
	SourceRoot: "a source root",

	Work:            "an amount of work",
	Workload:        "a name of the workload",
	Force:           "the request to compare anyway",
	RequireBaseline: "requiring a baseline",
	TextOutput:      "text output",

	Engine:         "the engine",
	Library:        "the library",
	Duration:       "the duration",
	FollowChildren: "all processes",
	MainOnly:       "the restriction to the main process",
	Wait:           "waiting",
	JIT:            "perf maps",
	PythonMalloc:   "with PYTHONMALLOC=malloc",
	Every:          "the interval",
	EveryAlloc:     "the interval of allocated bytes",
	EveryInuse:     "the interval of bytes in use",
	Signal:         "the signal",
	SamplePeriod:   "the sample period",
	Keep:           "the limit of snapshots",
	Output:         "the output directory",
	Replace:        "replacing it",
	HoldersEvery:   "an interval of looks",

	Header:   "the header",
	CACert:   "a file of certificates",
	Insecure: "no check of certificates",
	Timeout:  "the time limit",
	Retry:    "the time for further attempts",
	MaxSize:  "the size limit",
}

// Flags are the flags that set the options, such as --sysroot. Texts use plain words for an option
// without a flag; the zero value has none.
type Flags map[Option]string

// Of returns the flag of an option, or else describes the option.
func (f Flags) Of(o Option) string {
	if flag := f[o]; flag != "" {
		return flag
	}
	return words[o]
}

// If formats a part of a text that makes sense only with a flag, which is its first argument. The
// part is empty if the option has no flag.
func (f Flags) If(o Option, format string, args ...any) string {
	flag := f[o]
	if flag == "" {
		return ""
	}
	return fmt.Sprintf(format, append([]any{flag}, args...)...)
}
