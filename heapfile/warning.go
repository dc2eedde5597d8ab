package heapfile

import "fmt"

// SyntaxError is an error at a line of a file. It prints as file:line: message.
type SyntaxError struct {
	File string
	Line int // 1-based; 0 means the whole file
	Msg  string
	Err  error // the cause; may be nil
}

func (e *SyntaxError) Error() string {
	s := e.File + ": "
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d: ", e.File, e.Line)
	}
	s += e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// FormatError is the error for a file that is not a heap snapshot. Kind is what the file is ("an
// ELF file"); Hint is the remedy; it may be empty.
type FormatError struct {
	File, Kind, Hint string
}

func (e *FormatError) Error() string {
	s := e.File + ": not a heap snapshot: " + e.Kind
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// WarningKind classifies warnings: defects that were tolerated, and facts that a reader must know
// to judge the numbers.
type WarningKind uint8

// The kinds of warnings about single files, then those about series.
const (
	WarnMalformedRow     WarningKind = iota // a malformed row was skipped
	WarnMalformedMapping                    // a malformed mappings line was skipped
	WarnWriter                              // a %warn line of the writer
	WarnNegative                            // a negative count
	WarnZeroObjects                         // no objects but bytes
	WarnHeaderMismatch                      // header and sum of rows differ
	WarnImpossible                          // fewer bytes were allocated than are in use
	WarnTruncated                           // the writer truncated the file (gperftools ≤2.15: at 1 MiB)
	WarnUnfinished                          // the file ends before its mappings
	WarnNoMappings                          // the mappings section is empty
	WarnEmptyStack                          // rows without any address
	WarnDepthLimit                          // stacks truncated at the writer's depth limit
	WarnLongLine                            // a line longer than the limit was skipped
	WarnRestart                             // the process restarted within the series
	WarnLeftover                            // files of an earlier run follow those of a later one
	WarnFork                                // forked processes overwrote one another's files
	WarnMissing                             // numbers are missing from the series
	WarnHighWater                           // snapshots were taken at record highs
	WarnMixed                               // periods, formats or versions differ within the series
	WarnManyProcesses                       // other processes' snapshots were left out
	WarnClock                               // times are unknown
	WarnManifest                            // the recorder's manifest could not be used
	WarnKilled                              // the process was killed by a signal
	WarnRecording                           // the recording ended with an error, such as a full disk
	WarnRepeated                            // snapshots that repeat the one before were left out
	WarnRemoved                             // of some processes of the recording, no snapshots are kept
	WarnBirths                              // a comment about the births of a row was skipped
)

var warningNames = [...]string{
	"malformed-row", "malformed-mapping", "writer-warning", "negative-count", "zero-objects",
	"header-mismatch", "impossible-counts", "cut", "partial", "no-mappings", "empty-stack", "depth-limit", "long-line",
	"restart", "leftover", "fork", "missing-number", "high-water", "mixed", "many-processes",
	"clock", "sidecar", "killed", "recording", "repeated", "removed", "births",
}

// String returns the stable name used in JSON, such as "malformed-row".
func (k WarningKind) String() string {
	if int(k) < len(warningNames) {
		return warningNames[k]
	}
	return "unknown"
}

// Warning is a kind of defect or fact in one file or series, where it first occurred and how often.
// It prints as file:line: message.
type Warning struct {
	Kind  WarningKind
	File  string // "" for the series as a whole
	Line  int    // of the first occurrence; 0 means the whole file
	Count int
	Msg   string
}

func (w Warning) Error() string {
	s := w.Msg
	if w.Count > 1 {
		s += fmt.Sprintf(" (%d times)", w.Count)
	}
	switch {
	case w.File == "":
		return s
	case w.Line == 0:
		return w.File + ": " + s
	}
	return fmt.Sprintf("%s:%d: %s", w.File, w.Line, s)
}

// Harmless reports whether the warning is about a fact that costs no data.
func (w Warning) Harmless() bool {
	switch w.Kind {
	case WarnDepthLimit, WarnHighWater, WarnManyProcesses, WarnClock, WarnEmptyStack, WarnKilled,
		WarnRepeated, WarnRemoved:
		return true
	}
	return false
}

// warnings collects the warnings of one file, one entry per kind.
type warnings struct {
	file string
	list []Warning
}

func (w *warnings) add(kind WarningKind, line int, format string, args ...any) {
	for i := range w.list {
		if w.list[i].Kind == kind {
			w.list[i].Count++
			return
		}
	}
	w.list = append(w.list, Warning{Kind: kind, File: w.file, Line: line, Count: 1, Msg: fmt.Sprintf(format, args...)})
}
