package pipeline

import (
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/units"
)

// AllWarnings returns the warnings of a series and then those of its snapshots.
func AllWarnings(s *series.Series) []heapfile.Warning {
	out := append([]heapfile.Warning{}, s.Warnings...)
	for _, h := range s.Heads {
		out = append(out, h.Warnings...)
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
