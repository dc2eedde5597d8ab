package siteview

import (
	"fmt"
	"path"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Options are what tables of sites have in common.
type Options struct {
	// Top is the number of rows in text; 0 shows 20.
	Top int
	// Rules decide which frame a site is attributed to; nil for the default ones.
	Rules *class.Rules
	// GroupBy is what a row is.
	GroupBy sites.GroupBy
}

// Describer describes the sites of a series. It is not safe for concurrent use.
type Describer struct {
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	by      sites.GroupBy
}

// NewDescriber returns a Describer of the sites of s.
func NewDescriber(s *symbolize.Symbols, o Options) *Describer {
	return &Describer{s, class.NewBlamer(s, o.Rules), o.GroupBy}
}

// View describes a row: sites are its call paths, the largest one first. There is at least one.
func (d *Describer) View(row []symbolize.SiteID) View {
	stack := d.stack(row[0])
	ref, ok := d.blamer.Blame(stack)
	frames, blame := d.frames(stack, ref, ok)
	v := viewOf(frames, blame)
	v.CallPaths = len(row)
	if ok {
		d.describe(&v, stack, ref)
	}
	v.shareCallers(row[1:], d.callers)
	return v
}

// shareCallers leaves the callers that the other call paths of the row have, too. If they share
// none, the callers stay those of the largest call path.
func (v *View) shareCallers(others []symbolize.SiteID, callers func(symbolize.SiteID) []Caller) {
	common := v.Callers
	for _, site := range others {
		common = common[:commonCallers(common, callers(site))]
	}
	if v.Shared = len(others) == 0 || len(common) > 0; v.Shared {
		v.Callers = common
	}
}

// Frames are those of a row's largest call path.
func (d *Describer) Frames(row []symbolize.SiteID) []Frame {
	out := []Frame{}
	for _, id := range d.stack(row[0]) {
		out = append(out, locationFrames(d.symbols, &d.symbols.Locations[id])...)
	}
	return out
}

func (d *Describer) stack(site symbolize.SiteID) []symbolize.LocationID {
	return d.symbols.Stack(d.symbols.SiteStack(site))
}

// frames are a stack's functions by name, leaf first, and the index of the one at ref, -1 if ok is
// false.
func (d *Describer) frames(stack []symbolize.LocationID, ref class.FrameRef, ok bool) (frames []baseline.Frame, blame int) {
	blame = -1
	for i, id := range stack {
		l := &d.symbols.Locations[id]
		if ok && i == ref.Position {
			blame = len(frames) + max(ref.Frame, 0)
		}
		module := ""
		if m := d.symbols.Module(l); m != nil {
			module = m.Path
		}
		for _, f := range l.Frames {
			frames = append(frames, baseline.Frame{Function: f.Function, Module: module, File: f.File, Line: f.Line})
		}
		if !l.Named() {
			frames = append(frames, baseline.Frame{Function: d.symbols.Label(l), Module: module})
		}
	}
	return frames, blame
}

// callers are those of one call path.
func (d *Describer) callers(site symbolize.SiteID) []Caller {
	stack := d.stack(site)
	ref, ok := d.blamer.Blame(stack)
	return callersOf(d.frames(stack, ref, ok))
}

// describe adds the group and, for a place without a name, what the symbols have about it.
func (d *Describer) describe(v *View, stack []symbolize.LocationID, ref class.FrameRef) {
	l := &d.symbols.Locations[stack[ref.Position]]
	v.Group = d.group(l, ref.Frame)
	if l.Named() {
		return
	}
	v.Name = d.unnamed(stack, ref.Position)
	v.Blame.Near, v.Blame.Remedy = Near(l), remedy(d.symbols, l)
	v.Blame.CalledBy = d.calledBy(stack, ref.Position)
	v.Unnamed = fmt.Sprintf("unnamed: %s; %s", l.Reason.Explain(), v.Blame.Remedy)
}

// group is the file or the module of a row's function; empty if rows are neither.
func (d *Describer) group(l *symbolize.Location, frame int) string {
	if d.by != sites.ByFile && d.by != sites.ByModule {
		return ""
	}
	if d.by == sites.ByFile && frame >= 0 && l.Frames[frame].File != "" {
		return text.Clean(path.Base(l.Frames[frame].File))
	}
	if m := d.symbols.Module(l); m != nil {
		return text.Clean(m.Name())
	}
	return "(no file)"
}

// unnamed describes a place without a name by its module and offset and by the nearest caller that
// has a name, or the nearest symbol.
func (d *Describer) unnamed(stack []symbolize.LocationID, position int) string {
	l := &d.symbols.Locations[stack[position]]
	if by := d.calledBy(stack, position); by != "" {
		return fmt.Sprintf("%s (called by %s)", d.symbols.Label(l), by)
	}
	if l.Near == "" {
		if from := d.calledFrom(stack, position); from != "" {
			return fmt.Sprintf("%s (called from %s)", d.symbols.Label(l), from)
		}
	}
	return FrameName(d.symbols, l, -1)
}

// calledBy is the nearest caller with a name, if no other module is in between; else it is empty.
func (d *Describer) calledBy(stack []symbolize.LocationID, position int) string {
	module := d.symbols.Locations[stack[position]].Module
	for _, id := range stack[position+1:] {
		up := &d.symbols.Locations[id]
		if up.Module != module {
			break
		}
		if up.Named() {
			return up.Frames[0].Function
		}
	}
	return ""
}

// calledFrom is the nearest caller with a name, and its module; empty if no caller has a name.
func (d *Describer) calledFrom(stack []symbolize.LocationID, position int) string {
	for _, id := range stack[position+1:] {
		if up := &d.symbols.Locations[id]; up.Named() {
			if m := d.symbols.Module(up); m != nil {
				return up.Frames[0].Function + " in " + m.Name()
			}
			return up.Frames[0].Function
		}
	}
	return ""
}
