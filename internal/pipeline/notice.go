package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Notice is a problem of the input that does not prevent a result.
type Notice struct {
	Kind     NoticeKind
	Severity Severity
	// Subject is the file or the kind of warning that the notice is about. Two notices with the
	// same Kind and Subject are about the same problem, although their numbers may differ.
	Subject string
	// Text describes the problem. It is empty if the kind is sufficient.
	Text string
	// Doubtful reports whether data is missing or suspect: the result may be wrong because of it.
	Doubtful bool
	// Modules are the paths of modules that were not found.
	Modules []string
	// Unnamed is the memory of functions that have no names.
	Unnamed *class.Unnamed
}

// Severity is the effect of a notice on the exit status.
type Severity uint8

// Severities.
const (
	Warning       Severity = iota // no effect
	StrictWarning                 // a failure because the user asked for strictness
	Failure                       // a file that the user named cannot be used
)

// NoticeKind is what a notice is about.
type NoticeKind uint8

// Kinds of notices.
const (
	UnusableFile       NoticeKind = iota // a file is not a usable snapshot or baseline
	SeriesWarning                        // a warning about snapshots
	OtherProcesses                       // the snapshots are of several processes, and one was chosen
	SymbolWarning                        // a perf map or a server could not be used
	UnusableModule                       // a program or library cannot be read
	SuspectModule                        // a program or library is probably another build
	MissingModules                       // programs and libraries were not found
	UnnamedFunctions                     // functions with a part of the memory have no names
	SkippedBaseline                      // a baseline cannot be read, and is left out
	ExpiredSuppression                   // a suppression no longer applies
	NoEvidence                           // a file has no report of leaks
	ExitLeftOut                          // a snapshot of the exit is not read
	UnusedDebugFile                      // a debug file that the user named has no names for the snapshots
	UnusableNames                        // the names that a recorder has kept cannot be read
)

// Key identifies the problem.
func (n Notice) Key() string {
	return fmt.Sprintf("%d %s %s", n.Kind, n.Subject, strings.Join(n.Modules, " "))
}

// tellProblems reports the files that cannot be used. A file that the user named is a failure.
func (p *Pipeline) tellProblems(problems []series.Problem, strict bool) {
	for _, problem := range problems {
		if p.Live && changing(problem.Path) {
			continue
		}
		n := Notice{Kind: UnusableFile, Subject: problem.Path, Text: problem.Error(), Doubtful: true}
		if problem.Named || strict {
			n.Severity = Failure
		}
		p.Tell(n)
	}
}

// last returns the last snapshot that was not taken when the program exited. It reports those that it
// leaves out.
func (p *Pipeline) last(in *Input) int {
	index := sites.Last(in.Series)
	if end := len(in.Heads) - 1; index != end {
		path := in.Heads[end].Path
		p.Tell(Notice{Kind: ExitLeftOut, Subject: path, Text: fmt.Sprintf("%s is read, because the program exited when %s was "+
			"taken, and may have freed memory: name that file to read it", in.Heads[index].Path, filepath.Base(path))})
	}
	return index
}

// changing reports whether a file was written to a moment ago, or is gone.
func changing(path string) bool {
	const unchanged = 10 * time.Second
	info, err := os.Stat(path)
	return err != nil || time.Since(info.ModTime()) < unchanged
}

// once returns the pipeline with a Tell that reports each problem once, although several processes
// may have it.
func (p *Pipeline) once() *Pipeline {
	told, out := map[string]bool{}, *p
	out.Tell = func(n Notice) {
		if !told[n.Key()] {
			told[n.Key()] = true
			p.Tell(n)
		}
	}
	return &out
}

// tellWarnings reports the warnings of a series.
func (p *Pipeline) tellWarnings(s *series.Series, strict bool) {
	p.tellList(AllWarnings(s), strict)
}

// tellWarningsOf reports the warnings of the series of one of several processes.
func (p *Pipeline) tellWarningsOf(s *series.Series, strict bool) {
	all := AllWarnings(s)
	for i := range all {
		if all[i].File == "" {
			all[i].Msg = "process " + s.Process.Name() + ": " + all[i].Msg
		}
	}
	p.tellList(all, strict)
}

// tellList reports warnings. Unless Verbose is set, those of one kind are one notice.
func (p *Pipeline) tellList(all []heapfile.Warning, strict bool) {
	if p.Live {
		all = slices.DeleteFunc(all, func(w heapfile.Warning) bool { return w.Kind == heapfile.WarnUnfinished })
	}
	severity := Warning
	if strict && slices.ContainsFunc(all, func(w heapfile.Warning) bool { return !w.Harmless() }) {
		severity = StrictWarning
	}
	if p.Verbose {
		for _, w := range all {
			p.Tell(Notice{
				Kind: noticeOf(w.Kind), Severity: severity, Subject: w.Kind.String() + " " + w.File, Text: w.Error(),
				Doubtful: !w.Harmless(),
			})
		}
		return
	}
	for _, g := range GroupWarnings(all) {
		p.Tell(Notice{
			Kind: noticeOf(g.Kind), Severity: severity, Subject: g.Kind.String(), Text: g.Text(), Doubtful: !g.First.Harmless(),
		})
	}
}

func noticeOf(k heapfile.WarningKind) NoticeKind {
	if k == heapfile.WarnManyProcesses {
		return OtherProcesses
	}
	return SeriesWarning
}

// tellSymbols reports the files that could not be used to name addresses.
func (p *Pipeline) tellSymbols(symbols *symbolize.Symbols) {
	for _, w := range symbols.Warnings {
		p.Tell(Notice{Kind: SymbolWarning, Subject: w.Error(), Text: w.Error()})
	}
	missing := Notice{Kind: MissingModules}
	for i := range symbols.Modules {
		m := &symbols.Modules[i]
		switch {
		case m.Reason == symbolize.ReasonMissing:
			missing.Modules = append(missing.Modules, m.Path)
		case m.Err != nil:
			p.Tell(Notice{Kind: UnusableModule, Subject: m.Path, Text: m.Err.Error()})
		case m.Suspect():
			p.Tell(Notice{Kind: SuspectModule, Subject: m.Path, Doubtful: true, Text: fmt.Sprintf(
				"%s: only %d of %d return addresses follow a call: this may not be the build that ran",
				m.File,
				m.CallsFound,
				m.CallsChecked,
			)})
		}
	}
	if missing.Modules != nil {
		p.Tell(missing)
	}
}

// tellDebugFiles reports the debug files that the user named and that do not belong to a series.
func (p *Pipeline) tellDebugFiles(symbols *symbolize.Symbols, named []string) {
	for _, path := range named {
		if why := unusedDebugFile(symbols, path); why != "" {
			p.Tell(Notice{
				Kind: UnusedDebugFile, Subject: path, Text: path + ": " + why,
			})
		}
	}
}

// unusedByBoth returns a pipeline for the two sides of a comparison: a debug file that one of them
// does not use is reported only if the other one does not use it either.
func (p *Pipeline) unusedByBoth() *Pipeline {
	unused, out := map[string]bool{}, *p
	out.Tell = func(n Notice) {
		if n.Kind == UnusedDebugFile && !unused[n.Subject] {
			unused[n.Subject] = true
			return
		}
		p.Tell(n)
	}
	return &out
}

// unusedDebugFile returns why a debug file is not used; empty for a directory, or if it is used.
func unusedDebugFile(symbols *symbolize.Symbols, path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case err != nil || info.IsDir():
		return ""
	}
	if slices.ContainsFunc(symbols.Modules, func(m symbolize.Module) bool { return m.Debug == path || m.File == path }) {
		return ""
	}
	id, err := symbolize.BuildID(path)
	switch {
	case err != nil:
		return "not used: it is no ELF file"
	case id == "":
		return "not used: it has no build ID, and no program or library names it with its checksum in .gnu_debuglink"
	}
	for i := range symbols.Modules {
		if m := &symbols.Modules[i]; m.BuildID == id {
			return "not used: it has no more names than " + m.Path
		}
	}
	return fmt.Sprintf("not used: it has the build ID %s, which no program or library of the snapshots has", id)
}

// tellExpired reports the suppressions that no longer apply.
func (p *Pipeline) tellExpired(l *suppress.List) {
	if l == nil {
		return
	}
	for _, e := range l.Expired {
		p.Tell(Notice{Kind: ExpiredSuppression, Subject: fmt.Sprintf("%s:%d", l.Name, e.Line), Text: fmt.Sprintf(
			"%s:%d: leak:%s expired on %s and no longer applies", l.Name, e.Line, e.Pattern, e.Until.Format(time.DateOnly))})
	}
}
