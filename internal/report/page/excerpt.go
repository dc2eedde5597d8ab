package page

import (
	"os"
	"path/filepath"
	"time"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

// addSource adds the lines of source that a site is about: of the function that it is attributed
// to, or of the user's own code that called it. If the file is there, but not below the directory, it remembers that.
func (b *builder) addSource(out *Site, s *growth.Site) {
	if b.o.Sources == nil {
		return
	}
	blame := b.g.Describe(s).Blame
	places := []*siteview.Line{{Function: blame.Function, File: blame.File, Line: blame.Line}, blame.Script, blame.Own}
	for _, p := range places {
		if p == nil {
			continue
		}
		e, ok := b.o.Sources.Around(p.File, p.Line)
		if !ok {
			continue
		}
		out.Source = &Source{
			Function: text.Clip(p.Function, maxName), File: text.Clip(p.File, maxName), Line: p.Line,
			First: e.First, Lines: e.Lines, Changed: b.isLater(e.Modified),
		}
		return
	}
	for _, p := range places {
		if p != nil && out.elsewhere == "" && filepath.IsAbs(p.File) {
			if info, err := os.Stat(p.File); err == nil && info.Mode().IsRegular() {
				out.elsewhere = p.File
			}
		}
	}
}

// isLater reports whether a time is after the last snapshot.
func (b *builder) isLater(t time.Time) bool {
	c := b.g.Series.Clock
	return c.Source.IsTime() && t.After(c.Times[len(c.Times)-1])
}
