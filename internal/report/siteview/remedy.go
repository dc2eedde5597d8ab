package siteview

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

// remedy says what would give an unnamed address its name.
func Remedy(s *symbolize.Symbols, l *symbolize.Location) string {
	return text.Clip(remedyText(s, l), longestRemedy)
}

func remedyText(s *symbolize.Symbols, l *symbolize.Location) string {
	m := s.Module(l)
	if m == nil {
		return remedyOutside(l.Reason)
	}
	switch l.Reason {
	case symbolize.ReasonMissing:
		return fmt.Sprintf("%s was not found here: copy it from the machine that ran the process and pass --sysroot (or --binary for the program)", m.Path)
	case symbolize.ReasonStale:
		return fmt.Sprintf("%s is not the build that ran: pass the right one with --sysroot or --binary", m.Path)
	case symbolize.ReasonNoSegment:
		return fmt.Sprintf("%s may be another file than the one that was mapped: pass the right one with --sysroot or --binary", m.Path)
	case symbolize.ReasonUnreadable, symbolize.ReasonMalformed:
		return fmt.Sprintf("%s cannot be used: %v", m.Path, m.Err)
	case symbolize.ReasonNoSymbols, symbolize.ReasonNoFunction:
		return fmt.Sprintf("install the debug symbols of %s (Debian: apt install the -dbgsym package of `%s`) or pass --debug-dir", m.Name(), packageQuery(m.Path))
	}
	return l.Reason.Explain()
}

func remedyOutside(r symbolize.Reason) string {
	switch r {
	case symbolize.ReasonAnonymous, symbolize.ReasonNoPerfEntry:
		return "generated code: run Node with --perf-basic-prof --interpreted-frames-native-stack, or Python 3.12+ with -X perf, and pass --perf-map"
	case symbolize.ReasonNull:
		return "the unwinder failed: try TCMALLOC_STACKTRACE_METHOD=libunwind"
	}
	return "no mapping holds the address: a library that was loaded and unloaded between two snapshots, or a broken stack"
}

// packageQuery is the command that asks Debian for the package of a file. Libraries are mapped from /usr/lib, where /lib leads
// to, while the packages of Debian 12 and before have many of them, libc.so.6 for one, in /lib.
func packageQuery(path string) string {
	return "dpkg -S '*" + strings.ReplaceAll(strings.TrimPrefix(path, "/usr"), "'", `'\''`) + "'"
}
