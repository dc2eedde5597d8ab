package heapfile

import "fmt"

// SyntaxError is a place in a file that does not hold what it should. It
// prints as file:line: message.
type SyntaxError struct {
	File string
	Line int // 1-based; 0 when the whole file is meant
	Msg  string
	Err  error // the cause, or nil
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

// FormatError refuses a file that is no heap snapshot. Kind names what it is
// ("an ELF file", "empty"), Hint what to do instead.
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

// WarningKind classifies what was tolerated, or what a reader should know
// before believing the numbers.
type WarningKind uint8

// Of single files first, then of series.
const (
	WarnMalformedRow     WarningKind = iota // a row that is not a row was passed over
	WarnMalformedMapping                    // a mappings line was passed over
	WarnWriter                              // a %warn line of the writer
	WarnNegative                            // a negative count
	WarnZeroObjects                         // no objects but bytes
	WarnHeaderMismatch                      // header and sum of rows differ
	WarnTruncated                           // the writer cut the file (gperftools ≤2.15: at 1 MiB)
	WarnUnfinished                          // the file ends before its mappings
	WarnNoMappings                          // the mappings section is empty
	WarnEmptyStack                          // rows without any address
	WarnDepthLimit                          // stacks cut at the writer's depth limit
	WarnLongLine                            // a line beyond the cap was cut
	WarnRestart                             // the process restarted within the series
	WarnLeftover                            // an earlier run's files lie behind those of a later one
	WarnFork                                // forked processes overwrote one another's files
	WarnMissing                             // numbers are missing from the series
	WarnHighWater                           // dumps are triggered by record highs
	WarnMixed                               // periods, formats or versions differ within the series
	WarnManyProcesses                       // other processes' snapshots were left out
	WarnClock                               // times are not known
	WarnManifest                            // the recorder's manifest could not be used
	WarnKilled                              // the process was killed by a signal
	WarnRecording                           // the recording did not end well, for want of disk space for one
)

var warningNames = [...]string{
	"malformed-row", "malformed-mapping", "writer-warning", "negative-count", "zero-objects",
	"header-mismatch", "cut", "partial", "no-mappings", "empty-stack", "depth-limit", "long-line",
	"restart", "leftover", "fork", "missing-number", "high-water", "mixed", "many-processes",
	"clock", "sidecar", "killed", "recording",
}

// String is the stable name used in JSON, e.g. "malformed-row".
func (k WarningKind) String() string {
	if int(k) < len(warningNames) {
		return warningNames[k]
	}
	return "unknown"
}

// Warning is one kind of oddity in one file or series: where it was first seen
// and how often. It prints as file:line: message.
type Warning struct {
	Kind  WarningKind
	File  string // "" for the series as a whole
	Line  int    // of the first occurrence; 0 when the whole file is meant
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

// Harmless says that the warning is a fact about the input that costs no
// data: `--strict` does not turn it into an error.
func (w Warning) Harmless() bool {
	switch w.Kind {
	case WarnDepthLimit, WarnHighWater, WarnManyProcesses, WarnClock, WarnEmptyStack, WarnKilled:
		return true
	}
	return false
}

// warnings collects the warnings of one file, one entry a kind.
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
