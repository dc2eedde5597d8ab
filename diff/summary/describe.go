package summary

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/symbolize"
)

// stackSite describes a site by its call path.
func (s *scope) stackSite(c candidate) baseline.Site {
	id := s.symbols.SiteStack(c.members[0])
	stack := s.symbols.Stack(id)
	site := baseline.Site{Level: s.level(c.column, c.end), Identity: s.namer.Site(id), Blame: -1}
	for i, name := range site.Identity.Frames {
		site.Identity.Frames[i] = valid(name)
	}
	if site.Identity.Place != "" {
		sum := sha256.Sum256([]byte(site.Identity.Place))
		site.Identity.Place = hex.EncodeToString(sum[:12]) // it is only compared
	}
	ref, blamed := s.blamer.Blame(stack)
	for i, l := range stack {
		if blamed && i == ref.Position {
			site.Blame = len(site.Frames) + max(ref.Frame, 0)
		}
		site.Frames = append(site.Frames, s.frames(l)...)
	}
	return site
}

// functionSite describes the small sites of one function, which have nothing but the function in
// common.
func (s *scope) functionSite(c candidate) baseline.Site {
	site := s.stackSite(c)
	if id := &site.Identity; id.Blame >= 0 {
		*id = identity.Site{Frames: id.Frames[id.Blame : id.Blame+1]}
	}
	if site.Blame >= 0 {
		site.Frames, site.Blame = site.Frames[site.Blame:site.Blame+1], 0
	}
	return site
}

// frames are the functions at a location, with what a baseline keeps of them.
func (s *scope) frames(l symbolize.LocationID) (out []symbolize.Frame) {
	for _, f := range s.symbols.Frames(l) {
		out = append(out,
			symbolize.Frame{Function: valid(f.Function), Module: valid(f.Module), File: valid(f.File), Line: f.Line})
	}
	return out
}

// valid is a name as a baseline's file keeps it, so that a run is the same before and after it is
// saved.
func valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
