// Package option has what texts advise a user to set or to run: the remedies of results and errors.
// Reports, the recorder and errors refer to them, but only cmd knows the flags and the commands.
package option

import (
	"errors"
	"fmt"
	"strings"
)

// Option is something that the user can set, or a command. Its value describes it to a user who has
// no flags. A value may follow.
type Option string

// Options of commands that read snapshots.
const (
	Process  Option = "the process"
	Since    Option = "a start"
	Until    Option = "an end"
	Focus    Option = "the pattern of stacks to keep"
	Ignore   Option = "the pattern of stacks to drop"
	GroupBy  Option = "grouping by"
	MinBytes Option = "a minimum growth of"
	Top      Option = "a row limit of"
	Explain  Option = "the site to explain"
	Verbose  Option = "verbose output"
	Symbols  Option = "a check of the names of functions"
	Markdown Option = "a report in Markdown"
	Evidence Option = "a report of leaks"

	// Options that set where files are.
	Sysroot    Option = "a system root"
	Binary     Option = "a program file"
	DebugDir   Option = "a debug directory"
	Debuginfod Option = "a debuginfod server"
	PerfMap    Option = "its perf map"
	SourceRoot Option = "a source root"

	// Options of the regression check.
	Work            Option = "an amount of work"
	Workload        Option = "a name of the workload"
	Force           Option = "the request to compare anyway"
	Regression      Option = "the size of a regression"
	RequireBaseline Option = "requiring a baseline"
	TextOutput      Option = "text output"

	// Options of the recorder.
	Engine         Option = "the engine"
	Library        Option = "the library"
	Duration       Option = "the duration"
	FollowChildren Option = "all processes"
	MainOnly       Option = "the restriction to the main process"
	Wait           Option = "waiting"
	JIT            Option = "perf maps"
	PythonMalloc   Option = "with PYTHONMALLOC=malloc"
	Every          Option = "the interval"
	EveryAlloc     Option = "the interval of allocated bytes"
	EveryInuse     Option = "the interval of bytes in use"
	Signal         Option = "the signal"
	SamplePeriod   Option = "the sample period"
	Keep           Option = "the limit of snapshots"
	Output         Option = "the output directory"
	Replace        Option = "replacing it"
	HoldersEvery   Option = "an interval of looks"

	// Options of requests to a service.
	Header   Option = "the header"
	CACert   Option = "a file of certificates"
	Insecure Option = "no check of certificates"
	Timeout  Option = "the time limit"
	Retry    Option = "the time for further attempts"
	MaxSize  Option = "the size limit"

	// Commands.
	BaselineSave  Option = "a saved baseline"
	GateCommand   Option = "the regression check"
	GrowthCommand Option = "the judgement of the series"
	InfoCommand   Option = "the description of the series"
	RecordCommand Option = "a recording"
	TopCommand    Option = "the table of functions"
	ViewCommand   Option = "this server"
)

// Flags are the flags that set the options, such as --sysroot, and the commands. Texts use plain
// words for an option without a flag; the zero value has none.
type Flags map[Option]string

// Of returns the flag of an option, or else describes the option.
func (f Flags) Of(o Option) string {
	if flag := f[o]; flag != "" {
		return flag
	}
	return string(o)
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

// Error is an error about an option.
type Error struct {
	Option Option
	// Value is what the option was set to; it may be empty.
	Value string
	Err   error
}

// Error describes the option; see [Flags.Reword].
func (e *Error) Error() string { return e.text(nil) }

// Unwrap returns the error without the option.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) text(f Flags) string {
	return strings.TrimSuffix(f.Of(e.Option)+" "+e.Value, " ") + ": " + e.Err.Error()
}

// Reword returns the text of an error that may wrap an [Error], with the flag of the option.
func (f Flags) Reword(err error) string {
	var about *Error
	if !errors.As(err, &about) {
		return err.Error()
	}
	return strings.Replace(err.Error(), about.Error(), about.text(f), 1)
}
