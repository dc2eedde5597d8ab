package report

import (
	"cmp"
	"fmt"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// SiteText is what there is to say of a site in words.
type SiteText struct {
	// Title and Where are the site as the table names it: function and file:line, or the group that was asked for.
	Title, Where string
	// Function, Module, File and Line are the frame to blame. Function is module+offset where there is no name.
	Function, Module, File string
	Line                   int
	// Callers are the callers that the site's call paths share, nearest first, in one line.
	Callers string
	// Advice is what to look at next; "" where the stack does not tell.
	Advice string
	// Unnamed says why the frame to blame has no name and what would give it one; "" if it has one.
	Unnamed string
	// Now is the last visible value among the judged snapshots, in bytes.
	Now int64
}

// Describe puts a site into words.
func (g *Growth) Describe(s *growth.Site) SiteText {
	v, first := g.viewer(), s.Members[0]
	blame := v.blame(first)
	t := SiteText{
		Function: blame.Function, Module: blame.Module, File: blame.File, Line: blame.Line,
		Callers: v.callPath(s.Members), Advice: adviceFor(g.Symbols, v.stack(first)), Unnamed: v.missingName(first), Now: g.now(s),
	}
	t.Title, t.Where = v.title(first)
	return t
}

// Span is the time from the first to the last snapshot, in words; "" where times are not known.
func (g *Growth) Span() string {
	if !g.Series.Clock.Source.IsTime() || len(g.Series.Heads) < 2 {
		return ""
	}
	return "in " + duration(g.Series.Clock.Span())
}

// Summary is the line under the verdict: how many snapshots, how much, how fast.
func (g *Growth) Summary() string { return g.summary() }

// Limit says when the memory limit will be reached; "" where none was given.
func (g *Growth) Limit() string { return g.limitLine() }

// Notes are what a reader should know beside the table.
func (g *Growth) Notes() []string { return g.notes() }

// RateUnit is what rates are given per ("hour", "GiB allocated", "snapshot"), and the factor from a slope to it.
func (g *Growth) RateUnit() (name string, factor float64) { return g.rateUnit() }

// Warnings are the warnings of the series in plain words, those of one kind together.
func (g *Growth) Warnings() []string {
	out := []string{}
	for _, w := range GroupWarnings(AllWarnings(g.Series)) {
		out = append(out, clean(w.Text()))
	}
	return out
}

// Clean makes text from hostile input safe to look at: control and direction characters are shown as their escapes.
func Clean(s string) string { return clean(s) }

// Clip cleans a name and shortens it in the middle to a width in characters.
func Clip(s string, width int) string { return clip(s, width) }

// Signed shows a number of bytes with a plus before growth.
func Signed(n int64) string { return signed(float64(n)) }

// Duration shows seconds: 46s, 12m30s, 3h05m.
func Duration(seconds float64) string { return duration(seconds) }

// SeriesName is what a series is called in a heading: the prefix of its files, and the process where names tell it.
func SeriesName(s *series.Series) string {
	name := clean(cmp.Or(s.Process.Prefix, s.Dir()))
	if s.Process.PID != 0 {
		name += fmt.Sprintf(", process %d", s.Process.PID)
	}
	return name
}
