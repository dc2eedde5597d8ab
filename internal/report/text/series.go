package text

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/units"
)

// SeriesName names a series in a heading: the prefix of its files and, if known, the process.
func SeriesName(s *series.Series) string {
	name := Clean(cmp.Or(s.Process.Prefix, s.Dir()))
	if s.Process.PID != 0 {
		name += fmt.Sprintf(", process %d", s.Process.PID)
	}
	return name
}

// AllWarnings are the warnings of a series and then those of its snapshots, with advice.
func AllWarnings(s *series.Series, f option.Flags) []heapfile.Warning {
	out := append([]heapfile.Warning{}, s.Warnings...)
	for _, h := range s.Heads {
		out = append(out, h.Warnings...)
	}
	for i := range out {
		if out[i].Kind == heapfile.WarnManyProcesses {
			out[i].Msg += f.If(option.Process, " (%s chooses another; heaplapse growth judges all)")
		}
	}
	return out
}

// WarningGroup is the warnings of one kind in files, or one warning of the series as a whole.
type WarningGroup struct {
	Kind  heapfile.WarningKind
	First heapfile.Warning
	Files int
}

// Text is the first warning and the number of other files that have one of this kind.
func (g WarningGroup) Text() string {
	if g.Files > 1 {
		return fmt.Sprintf("%s; and %s", g.First.Error(), units.Count(g.Files-1, "more file"))
	}
	return g.First.Error()
}

// GroupWarnings groups the warnings of files by kind, in order of first appearance. Those of the
// series as a whole say different things, and stay separate.
func GroupWarnings(list []heapfile.Warning) []WarningGroup {
	var out []WarningGroup
	for _, w := range list {
		i := slices.IndexFunc(out, func(g WarningGroup) bool {
			return g.Kind == w.Kind && g.First.File != "" && w.File != ""
		})
		if i < 0 {
			out = append(out, WarningGroup{Kind: w.Kind, First: w})
			i = len(out) - 1
		}
		out[i].Files++
	}
	return out
}

// OtherMethod tells that two runs were recorded in different ways, and what to do.
func OtherMethod(base, method, current, other string) string {
	sees := map[string]string{
		manifest.MethodRecord: "record, from the start of the program",
		manifest.MethodAttach: "attach, without what was allocated before",
	}
	return fmt.Sprintf("%s by %s; %s by %s: record both the same way", base, sees[method], current, sees[other])
}
