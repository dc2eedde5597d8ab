package series

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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
	// Command, Exe, Link and End are known only from a manifest. Link is the symbolic link to Exe by
	// which the program was run, or "".
	Command []string
	Exe     string
	Link    string
	End     *manifest.End

	parent int // 0 if it is unknown
	files  []sourceFile
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
	return cmp.Or(p.Prefix, "files without numbers")
}

// processes groups files by process and sorts each group by number. Files without a number stay in
// the order in which they were given; those of a directory are sorted by name.
func (d *discovery) processes(known manifests) []Process {
	var out []Process
	index := map[string]int{}
	files := dropDuplicates(d.files)
	slices.SortStableFunc(files, func(a, b sourceFile) int { return cmp.Compare(a.name.Seq, b.name.Seq) })
	known.owners(files)
	for _, f := range files {
		key := processKey(f.name)
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			p := Process{PID: f.name.PID}
			if f.name.Seq >= 0 {
				p.Prefix = f.name.Prefix
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

func processKey(n FileName) string {
	switch {
	case n.Seq >= 0:
		return fmt.Sprintf("%s\x00%d", n.Prefix, n.PID)
	case n.PID != 0:
		return fmt.Sprintf("\x00%d", n.PID)
	}
	return ""
}
