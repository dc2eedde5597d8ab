package series

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// Process is one process that wrote snapshots, as far as file names tell.
type Process struct {
	// Prefix is the part of the names that its files share, "" for files
	// without numbers.
	Prefix string
	PID    int // 0 where names do not tell
	Files  int
	// PeakInuse is the largest in-use total of its headers, in bytes (estimated
	// for sampled formats is larger); it is computed only where there is a choice.
	PeakInuse int64
	// Command and Exe are what it ran, End how it ended, where a recorder noted that.
	Command []string
	Exe     string
	End     *manifest.End

	parent int // 0 where it was not recorded
	files  []sourceFile
}

// Title is String with the command line, where that is known: 4711 (python3 train.py).
func (p Process) Title() string {
	if len(p.Command) == 0 {
		return p.String()
	}
	return fmt.Sprintf("%s (%s)", p, p.CommandLine())
}

// maxCommandLine is the longest command line that is shown, in characters.
const maxCommandLine = 120

// CommandLine is what the process ran, on one line and shortened.
func (p Process) CommandLine() string {
	line := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' ' // the lines of python3 -c for one
		}
		return r
	}, strings.Join(p.Command, " ")))
	if len(line) > maxCommandLine {
		return string(line[:maxCommandLine-1]) + "…"
	}
	return string(line)
}

// String is how --process names it: 4711, or the prefix where there is no number.
func (p Process) String() string {
	if p.PID != 0 {
		return fmt.Sprint(p.PID)
	}
	return cmp.Or(p.Prefix, "files without numbers")
}

// processes groups files by process and puts each group in order: by number,
// files without a number in the order in which they were given (a directory's by name).
func (d *discovery) processes(known sidecars) []Process {
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
