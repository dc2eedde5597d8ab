package growth

import (
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
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
func (g *Report) Describe(s *growth.Site) SiteText {
	v, first := g.viewer(), s.Members[0]
	blame := v.Blame(first)
	t := SiteText{
		Function: blame.Function, Module: blame.Module, File: blame.File, Line: blame.Line,
		Callers: v.CallPath(s.Members), Advice: siteview.AdviceFor(g.Symbols, v.Stack(first)), Unnamed: v.MissingName(first), Now: g.now(s),
	}
	t.Title, t.Where = v.Title(first)
	return t
}

// Span is the time from the first to the last snapshot, in words; "" where times are not known.
func (g *Report) Span() string {
	if !g.Series.Clock.Source.IsTime() || len(g.Series.Heads) < 2 {
		return ""
	}
	return "in " + units.Duration(g.Series.Clock.Span())
}

// Summary is the line under the verdict: how many snapshots, how much, how fast.
func (g *Report) Summary() string { return g.summary() }

// Limit says when the memory limit will be reached; "" where none was given.
func (g *Report) Limit() string { return g.limitLine() }

// Notes are what a reader should know beside the table.
func (g *Report) Notes() []string { return g.notes() }

// RateUnit is what rates are given per ("hour", "GiB allocated", "snapshot"), and the factor from a slope to it.
func (g *Report) RateUnit() (name string, factor float64) { return g.rateUnit() }

// Warnings are the warnings of the series in plain words, those of one kind together.
func (g *Report) Warnings() []string {
	out := []string{}
	for _, w := range text.GroupWarnings(text.AllWarnings(g.Series)) {
		out = append(out, text.Clean(w.Text()))
	}
	return out
}
