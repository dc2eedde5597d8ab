package siteview

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/internal/lazyregexp"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// maxRemedy is the longest remedy, in characters: it quotes names of files, which come from the
// input.
const maxRemedy = 400

// remedy returns how to get the name of an unnamed address.
func remedy(s *symbolize.Symbols, l *symbolize.Location) string {
	return text.Clip(remedyText(s, l), maxRemedy)
}

func remedyText(s *symbolize.Symbols, l *symbolize.Location) string {
	m := s.Module(l)
	if m == nil {
		return remedyOutside(l.Reason)
	}
	return remedyIn(m, l.Reason)
}

// ProgramRemedy is how to get the names of a program whose file cannot be used; empty if it can.
func ProgramRemedy(m *symbolize.Module) string {
	if m == nil || m.Reason == symbolize.ReasonNone {
		return ""
	}
	return text.Clip(remedyIn(m, m.Reason), maxRemedy)
}

// remedyIn returns how to get the names of a module.
func remedyIn(m *symbolize.Module, reason symbolize.Reason) string {
	switch reason {
	case symbolize.ReasonMissing:
		return fmt.Sprintf(
			"%s was not found here: copy it from the machine that ran the process and pass %s (or %s for the program)",
			m.Path, option.Sysroot, option.Binary,
		)
	case symbolize.ReasonStale:
		return fmt.Sprintf("%s is not the build that ran: pass the right one with %s or %s", m.Path, option.Sysroot, option.Binary)
	case symbolize.ReasonNoSegment:
		return fmt.Sprintf("%s may not be the file that was mapped: pass that one with %s or %s", m.Path, option.Sysroot, option.Binary)
	case symbolize.ReasonUnreadable, symbolize.ReasonMalformed:
		return fmt.Sprintf("%s cannot be used: %v", m.Path, m.Err)
	case symbolize.ReasonNoSymbols, symbolize.ReasonNoFunction:
		switch {
		case isPackaged(m.Path):
			return fmt.Sprintf(
				"install the debug symbols of %s (Debian: apt install the -dbgsym package of `%s`) or pass %s",
				m.Title(), packageQuery(m.Path), option.DebugDir,
			)
		case m.BuildID == "":
			return fmt.Sprintf("pass the unstripped %s with %s", m.Title(), option.Binary)
		}
		return fmt.Sprintf("pass the unstripped %s or its debug file with %s", m.Title(), option.DebugDir)
	}
	return reason.Explain()
}

// isPackaged reports whether packages of a distribution install files at a path. Files in other directories are the
// user's own.
func isPackaged(path string) bool { return packagedPath().MatchString(path) }

var packagedPath = lazyregexp.New(`^/(usr/)?(bin|sbin|lib|lib32|lib64|libx32|libexec)/`)

// remedyOutside is the remedy for an address outside all modules.
func remedyOutside(r symbolize.Reason) string {
	switch r {
	case symbolize.ReasonAnonymous, symbolize.ReasonNoPerfEntry:
		return "generated code: run Node with --perf-basic-prof --interpreted-frames-native-stack, or Python 3.12+ with -X perf, and pass " + option.PerfMap
	case symbolize.ReasonNull:
		return "the unwinder failed: with tcmalloc, try TCMALLOC_STACKTRACE_METHOD=libunwind"
	}
	return "a library was loaded and unloaded between two snapshots, or the stack is broken"
}

// remedyForAll returns how to get the names of the addresses of a row; it may be empty.
func remedyForAll(s *symbolize.Symbols, r class.UnnamedRow) string {
	if len(r.Modules) == 0 {
		return remedyOutside(r.Reason)
	}
	first := &s.Modules[r.Modules[0]]
	hasID := first.BuildID != ""
	switch r.Reason {
	case symbolize.ReasonMissing:
		it := "it"
		if len(r.Modules) > 1 {
			it = "them"
		}
		return fmt.Sprintf("copy %s from the machine that ran the process and pass %s DIR (%s FILE for the program)",
			it, option.Sysroot, option.Binary) +
			onlyIf(hasID, ", or "+option.Debuginfod+" URL")
	case symbolize.ReasonStale:
		return fmt.Sprintf("pass the builds that ran with %s DIR or %s FILE", option.Sysroot, option.Binary) +
			onlyIf(hasID, fmt.Sprintf(", or %s DIR or %s URL, which find them by build ID",
				option.DebugDir, option.Debuginfod))
	case symbolize.ReasonNoSegment:
		return fmt.Sprintf("pass the files that were mapped with %s DIR or %s FILE", option.Sysroot, option.Binary)
	case symbolize.ReasonNoSymbols, symbolize.ReasonNoFunction:
		return remedyForStripped(s, r.Modules)
	}
	if first.Err != nil {
		return text.Message(first.Err.Error())
	}
	return ""
}

// remedyForStripped returns how to get the names of stripped files: of the largest one that is the user's own, and of
// the largest one that a package of the distribution may have.
func remedyForStripped(s *symbolize.Symbols, modules []symbolize.ModuleID) string {
	remedies := map[bool]string{}
	for _, id := range modules {
		m := &s.Modules[id]
		packaged := isPackaged(m.Path)
		switch {
		case remedies[packaged] != "":
		case packaged:
			remedies[packaged] = installSymbols(m)
		default:
			remedies[packaged] = keepUnstripped(m)
		}
	}
	return text.Join("; ", remedies[false], remedies[true])
}

// keepUnstripped is the remedy for a program or library of the user.
func keepUnstripped(m *symbolize.Module) string {
	name := text.Message(m.Title())
	if m.BuildID == "" {
		return fmt.Sprintf("%s has no build ID: if it is the program, pass the unstripped file with %s FILE; "+
			"else link it with -Wl,--build-id and record again", name, option.Binary)
	}
	return fmt.Sprintf("pass the unstripped %s, or what objcopy --only-keep-debug makes of it, with %s FILE (build ID %s)",
		name, option.DebugDir, text.Message(m.BuildID))
}

// installSymbols is the remedy for a file of a distribution, or for the user's own one in its place.
func installSymbols(m *symbolize.Module) string {
	how := fmt.Sprintf("install debug symbols (Debian: the -dbgsym package of `%s`) or pass ",
		text.Message(packageQuery(m.Path)))
	if strings.Contains(m.Path, "bin/") {
		how += "the unstripped file, if it is your own, with " + option.DebugDir + " FILE"
	} else {
		how += option.DebugDir + " DIR"
	}
	if m.BuildID == "" {
		return how
	}
	return how + fmt.Sprintf(" or %s URL (build ID %s)", option.Debuginfod, text.Message(m.BuildID))
}

// onlyIf returns s if the condition holds, else the empty string.
func onlyIf(condition bool, s string) string {
	if condition {
		return s
	}
	return ""
}

// packageQuery is the command that finds the Debian package of a file. It leaves out a leading
// /usr: libraries are mapped from /usr/lib, because /lib is a link to it, but packages up to Debian
// 12 list many of them, such as libc.so.6, in /lib.
func packageQuery(path string) string {
	return "dpkg -S '*" + strings.ReplaceAll(strings.TrimPrefix(path, "/usr"), "'", `'\''`) + "'"
}
