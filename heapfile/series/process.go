package series

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/printable"
)

// Process is a process that wrote snapshots.
type Process struct {
	// Prefix is the part of the names that its files share; "" for files without numbers.
	Prefix string
	PID    int // 0 if it is unknown
	Files  int
	// PeakInuse is the largest in-use total of its headers, in bytes, raw. It is known only if
	// there are several processes.
	PeakInuse int64
	// Command, Exe, Link and End are known only from a manifest. Link is the symbolic link to Exe
	// by which the program was run, or "".
	Command []string
	Exe     string
	Link    string
	End     *manifest.End

	// Goroutines is set if the snapshots count goroutines. It is known only if there are several
	// processes.
	Goroutines bool

	program     string // name of the program, if the names of the files do not tell processes apart
	parent      int    // 0 if it is unknown
	files       []sourceFile
	laterGrowth int64 // of the heap in the later half of the snapshots, in bytes, raw; known as PeakInuse is
}

// Title returns String and the command line, if that is known: 4711 (python3 train.py).
func (p Process) Title() string {
	if len(p.Command) == 0 {
		return p.String()
	}
	return fmt.Sprintf("%s (%s)", p, p.CommandLine())
}

// maxCommandLine is the maximum length of a command line, in characters.
const maxCommandLine = 120

// CommandLine returns the command on one line, shortened.
func (p Process) CommandLine() string {
	line := []rune(strings.Map(func(r rune) rune {
		if !printable.Rune(r) {
			return ' ' // python3 -c may have several lines
		}
		return r
	}, strings.Join(p.Command, " ")))
	if len(line) > maxCommandLine {
		return string(line[:maxCommandLine-1]) + "…"
	}
	return string(line)
}

// Name returns the process number, or the last element of the prefix if that is unknown.
func (p Process) Name() string {
	if p.PID == 0 && p.Prefix != "" {
		return filepath.Base(p.Prefix)
	}
	return p.String()
}

// String returns the process number, or the prefix if that is unknown.
func (p Process) String() string {
	if p.PID != 0 {
		return fmt.Sprint(p.PID)
	}
	return cmp.Or(p.Prefix, p.program, "files without numbers")
}

// programOf returns the name of the process that wrote a file, and what distinguishes it from
// others. Both are "" if the file does not say.
func programOf(s *heapfile.Summary) (name, id string) {
	if s == nil {
		return "", ""
	}
	if s.Program != "" {
		name = path.Base(s.Program)
	}
	id = cmp.Or(s.BuildID, s.Program)
	if s.Format == heapfile.FormatGoroutines {
		name, id = strings.TrimSpace(name+" goroutines"), "goroutines of "+id
	}
	return name, id
}

// processes groups files by process and sorts each group by number. Files without a number are
// sorted by the time that they contain. Those without a time stay in the order in which they were
// given; those of a directory are sorted by name.
func (d *discovery) processes(known manifests, check func(more int64) error) []Process {
	var out []Process
	index := map[string]int{}
	files := dropDuplicates(d.files)
	summarize(files, check)
	slices.SortStableFunc(files, func(a, b sourceFile) int {
		return cmp.Or(cmp.Compare(a.Name.Seq, b.Name.Seq), a.recorded().Compare(b.recorded()))
	})
	known.owners(files)
	for _, f := range files {
		key := processKey(f)
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			p := Process{PID: f.Name.PID}
			if f.prefixed() {
				p.Prefix = f.Name.Prefix
			} else {
				p.program, _ = programOf(f.summary)
				if p.program != "" && slices.ContainsFunc(out, func(q Process) bool { return q.program == p.program }) {
					p.program += " " + f.summary.BuildID // another build
				}
			}
			out = append(out, p)
		}
		out[i].files = append(out[i].files, f)
		out[i].Files++
	}
	for i := range out {
		known.of(out[i].files[0]).describe(&out[i])
	}
	return out
}

// prefixed reports whether the prefix of the name says which process wrote the file: the name has a
// number, or it has a time and the content does not say which program wrote it.
func (f *sourceFile) prefixed() bool {
	return f.Name.Seq >= 0 || !f.Name.Time.IsZero() && f.summary != nil && !f.summary.Format.Profile()
}

func processKey(f sourceFile) string {
	switch n := f.Name; {
	case f.prefixed():
		return fmt.Sprintf("%s\x00%d", n.Prefix, n.PID)
	case n.PID != 0:
		return fmt.Sprintf("\x00%d", n.PID)
	}
	_, id := programOf(f.summary)
	return id
}

// summarize reads the summaries of the files whose names do not say which process wrote them. A
// file that cannot be read has none.
func summarize(files []sourceFile, check func(more int64) error) {
	var unnumbered []*sourceFile
	for i := range files {
		if f := &files[i]; f.Name.Seq < 0 && f.Name.PID == 0 {
			unnumbered = append(unnumbered, f)
		}
	}
	if len(unnumbered) < 2 {
		return
	}
	for _, f := range unnumbered {
		_ = f.summarize(check) // reading the series reports the error
	}
}

// summarize reads the summary of the file, unless it is known.
func (f *sourceFile) summarize(check func(more int64) error) error {
	if f.summary != nil {
		return nil
	}
	s, err := heapfile.ReadSummary(f.FS, f.Entry, f.Path, check)
	if err == nil {
		f.summary = &s
	}
	return err
}

// recorded returns the time in the summary or else in the name, or the zero time.
func (f *sourceFile) recorded() time.Time {
	if f.summary == nil || f.summary.Recorded.IsZero() {
		return f.Name.Time
	}
	return f.summary.Recorded
}
