package siteview

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Options are what tables of sites have in common.
type Options struct {
	// Top is the number of rows in text; 0 shows 20.
	Top int
	// Rules decide which frame a site is attributed to; nil means the default rules.
	Rules *class.Rules
	// GroupBy is what a row is.
	GroupBy sites.GroupBy
	text.Style
}

// Describer describes the sites of a series. It is not safe for concurrent use.
type Describer struct {
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	by      sites.GroupBy
	ranks   map[symbolize.LocationID]ranks // of advice
	names   map[string]string              // of files, see TellApart
}

// NewDescriber returns a Describer of the sites of s.
func NewDescriber(s *symbolize.Symbols, o Options) *Describer {
	return &Describer{
		symbols: s, blamer: class.NewBlamer(s, o.Rules), by: o.GroupBy,
		ranks: map[symbolize.LocationID]ranks{},
	}
}

// TellApart makes the Describer show more of the paths of source files than their last elements where rows of several
// files, or callers, would look the same. rows are the first sites of the rows.
func (d *Describer) TellApart(rows []symbolize.SiteID) {
	var files []string
	for _, site := range rows {
		stack := d.stack(site)
		if ref, ok := d.blamer.Blame(stack); ok && ref.Frame >= 0 {
			files = append(files, d.symbols.Locations[stack[ref.Position]].Frames[ref.Frame].File)
			files = append(files, d.filesOfCallers(stack[ref.Position+1:])...)
		}
	}
	d.names = text.DistinctFiles(files)
}

// filesOfCallers are the files of the callers that a line may have, and of some more.
func (d *Describer) filesOfCallers(stack []symbolize.LocationID) (files []string) {
	for _, id := range stack {
		l := &d.symbols.Locations[id]
		for k, c := range d.blamer.Classes(id) {
			if k < len(l.Frames) && l.Frames[k].File != "" && (c == class.Application || c == class.Library) {
				files = append(files, l.Frames[k].File)
			}
		}
		if len(files) > 2*maxCallers {
			break
		}
	}
	return files
}

// where is the place of a frame.
func (d *Describer) where(f *symbolize.Frame) string { return whereIn(d.names, f) }

// View describes a row: sites are its call paths, the largest one first. There is at least one.
func (d *Describer) View(row []symbolize.SiteID) View {
	stack := d.stack(row[0])
	v := View{Name: noStack}
	if ref, ok := d.blamer.Blame(stack); ok {
		v = d.blamed(stack, ref)
		d.addScript(&v, stack, ref.Position)
		d.addOwn(&v, row, ref)
	}
	if d.blamer.Mapped(stack) {
		v.Where = strings.TrimSpace(v.Where + " (mmap)")
	}
	v.Keys = d.keys(stack)
	v.CallPaths = len(row)
	v.advice = func(resized bool) string { return d.adviceOn(stack, resized) }
	v.callers = func() ([]Caller, bool) { return d.sharedCallers(row) }
	v.lines = func() []int { return d.lines(row) }
	return v
}

// lines are the lines on which the call paths of a row pass its function, in no order. A line of another file,
// of an inlined function of the same name, does not count.
func (d *Describer) lines(row []symbolize.SiteID) (out []int) {
	var first *symbolize.Frame
	for _, site := range row {
		stack := d.stack(site)
		ref, ok := d.blamer.Blame(stack)
		if !ok {
			continue
		}
		f := d.frame(&d.symbols.Locations[stack[ref.Position]], max(ref.Frame, 0))
		if first == nil {
			first = f
		}
		if f.Line > 0 && f.Function == first.Function && f.File == first.File && !slices.Contains(out, f.Line) {
			out = append(out, f.Line)
		}
	}
	return out
}

// keys are those of a stack.
func (d *Describer) keys(stack []symbolize.LocationID) identity.Keys {
	ref, ok := d.blamer.Blame(stack)
	if !ok {
		return identity.KeysOf(nil, -1)
	}
	return identity.KeysOf(d.symbols.Frames(stack[ref.Position:]...), max(ref.Frame, 0))
}

// Cause describes a function through which the call paths of a row grow. ref refers to it on the
// stack of the first one. The lines at which it calls others differ, so its place is only its file.
func (d *Describer) Cause(row []symbolize.SiteID, ref class.FrameRef) View {
	stack := d.stack(row[0])
	l := &d.symbols.Locations[stack[ref.Position]]
	frame := d.frame(l, max(ref.Frame, 0))
	frame.Line = 0
	v := viewOf(frame)
	v.Where = d.where(frame)
	v.Blame.Module = d.module(l)
	v.advice = func(resized bool) string { return d.adviceOn(stack, resized) }
	v.callers = func() ([]Caller, bool) { return nil, true }
	return v
}

// Frames are those of a row's largest call path.
func (d *Describer) Frames(row []symbolize.SiteID) []FrameJSON {
	out := []FrameJSON{}
	for _, id := range d.stack(row[0]) {
		out = append(out, locationFrames(d.symbols, &d.symbols.Locations[id])...)
	}
	return out
}

// Caller returns the nearest caller that a test accepts, on the first of a row's call paths that
// has one.
func (d *Describer) Caller(row []symbolize.SiteID, accept func(Caller) bool) (caller Caller, ok bool) {
	for _, site := range row {
		callers := d.callers(site, math.MaxInt)
		if i := slices.IndexFunc(callers, accept); i >= 0 {
			return callers[i], true
		}
	}
	return Caller{}, false
}

func (d *Describer) stack(site symbolize.SiteID) []symbolize.LocationID {
	return d.symbols.Stack(d.symbols.SiteStack(site))
}

// blamed describes the frame at ref.
func (d *Describer) blamed(stack []symbolize.LocationID, ref class.FrameRef) View {
	l := &d.symbols.Locations[stack[ref.Position]]
	f := d.frame(l, max(ref.Frame, 0))
	v := viewOf(f)
	v.Where, v.names = d.where(f), d.names
	v.Blame.Module = d.module(l)
	v.Group = d.group(l, ref.Frame)
	if !l.Named() {
		v.Name = d.unnamed(stack, ref.Position)
		v.Blame.Near, v.Blame.Remedy = Near(l), remedy(d.symbols, l)
		v.Blame.CalledBy, _ = d.calledBy(stack, ref.Position)
		v.Unnamed = "unnamed: " + l.Reason.Explain()
	}
	return v
}

// addScript adds the line of a script that called the native function that a site is attributed to.
func (d *Describer) addScript(v *View, stack []symbolize.LocationID, position int) {
	caller, ok := d.blamer.Script(stack, position)
	if !ok {
		return
	}
	f := d.symbols.Locations[stack[caller]].Frames[0]
	v.Blame.Script = &Line{f.Function, f.File, f.Line}
	v.Where = strings.TrimSpace(fmt.Sprintf("%s (called from %s)", v.Where,
		Caller{f.Function, d.where(&f)}))
}

// addOwn adds the line of the user's own code that called the function of a library, and the
// function of the library that it called.
func (d *Describer) addOwn(v *View, row []symbolize.SiteID, blamed class.FrameRef) {
	stack := d.stack(row[0])
	own, ok := d.blamer.Own(stack, blamed.Position)
	if !ok || own == blamed {
		return
	}
	f := d.frame(&d.symbols.Locations[stack[own.Position]], own.Frame)
	v.Own = &Caller{FunctionName(f), d.where(f)}
	v.Blame.Own = &Line{f.Function, f.File, f.Line}
	if called := own.Position - 1; own.Frame == 0 && called > blamed.Position {
		if l := &d.symbols.Locations[stack[called]]; l.Named() {
			entry := d.frame(l, len(l.Frames)-1)
			v.Entry = &Caller{FunctionName(entry), d.where(entry)}
		}
	}
	v.ownIsShared = func() bool { return d.ownIsShared(row, *v.Blame.Own) }
}

// ownIsShared reports whether a line of the user's own code is on all call paths of a row.
func (d *Describer) ownIsShared(row []symbolize.SiteID, own Line) bool {
	for _, site := range row[1:] {
		stack := d.stack(site)
		ref, ok := d.blamer.Own(stack, 0)
		if !ok {
			return false
		}
		f := d.symbols.Locations[stack[ref.Position]].Frames[ref.Frame]
		if own != (Line{f.Function, f.File, f.Line}) {
			return false
		}
	}
	return true
}

// frame is a frame of a location.
func (d *Describer) frame(l *symbolize.Location, k int) *symbolize.Frame {
	f := d.symbols.Frame(l, k)
	return &f
}

// module is the path of a location's module; it may be empty.
func (d *Describer) module(l *symbolize.Location) string {
	if m := d.symbols.Module(l); m != nil {
		return m.Path
	}
	return ""
}

// adviceOn returns the advice on a stack; empty if there is none.
func (d *Describer) adviceOn(stack []symbolize.LocationID, resized bool) string {
	all := noRanks
	for _, id := range stack {
		all.include(d.ranksOf(id))
	}
	lines := d.blamer.HasLines(stack)
	return textOf(all.first(!lines || d.isDirect(stack), resized), lines)
}

// isDirect reports whether the line of a script that a stack is attributed to requested the memory
// itself, rather than a module that it called.
func (d *Describer) isDirect(stack []symbolize.LocationID) bool {
	ref, ok := d.blamer.Blame(stack)
	if !ok || !d.symbols.Locations[stack[ref.Position]].Script() {
		return false
	}
	return !slices.ContainsFunc(stack[:ref.Position], func(id symbolize.LocationID) bool {
		return slices.Contains(d.blamer.Classes(id), class.Library) || d.symbols.Locations[id].Script()
	})
}

// ranksOf are the lowest ranks of the frames of a location. They are computed once, because stacks
// share most locations. The functions of scripts have no advice.
func (d *Describer) ranksOf(id symbolize.LocationID) ranks {
	out, ok := d.ranks[id]
	if !ok {
		l := &d.symbols.Locations[id]
		out = ranksOf(d.module(l), "")
		out.allocates = len(l.Frames) > 0
		for i := range l.Frames {
			if !l.Script() {
				out.include(ranksOf(d.module(l), l.Frames[i].Function))
			}
		}
		d.ranks[id] = out
	}
	return out
}

// sharedCallers are the callers that all call paths of a row have. If they share none, the callers
// are those of the largest call path.
func (d *Describer) sharedCallers(row []symbolize.SiteID) (callers []Caller, shared bool) {
	largest := d.callers(row[0], math.MaxInt)
	common := largest
	for _, site := range row[1:] {
		if len(common) == 0 {
			break
		}
		common = common[:text.Common(common, d.callers(site, len(common)))]
	}
	if len(common) == 0 && len(largest) > 0 {
		return largest, false
	}
	return common, true
}

// callers are those of one call path, the nearest ones up to a limit. Frames of runtimes are left
// out if the function is not one itself: std::__invoke tells nothing about how a leak is reached.
func (d *Describer) callers(site symbolize.SiteID, limit int) []Caller {
	stack := d.stack(site)
	ref, ok := d.blamer.Blame(stack)
	if !ok {
		return nil
	}
	blamed, first := &d.symbols.Locations[stack[ref.Position]], max(ref.Frame, 0)
	list := callerList{last: d.frame(blamed, first).Function, limit: limit, names: d.names}
	own := d.blamer.Classes(stack[ref.Position])[first]
	first++
	scripted := d.blamer.HasLines(stack)
	for _, id := range stack[ref.Position:] {
		l, classes := &d.symbols.Locations[id], d.blamer.Classes(id)
		for k := first; k < len(classes); k++ {
			if !l.Script() && passedOver(scripted, own, classes[k]) {
				continue
			}
			if !list.add(d.frame(l, k)) {
				return list.callers
			}
		}
		first = 0
	}
	return list.callers
}

// passedOver reports whether a native caller is left out of the callers of a function: one that
// runs a script, or a runtime if the function is none. script reports whether lines of a script are
// on the stack.
func passedOver(script bool, function, caller class.Class) bool {
	if script {
		return caller == class.Runtime || caller == class.Interpreter || caller == class.Library
	}
	return isRuntime(caller) && !isRuntime(function)
}

// isRuntime reports whether a class works for its callers.
func isRuntime(c class.Class) bool {
	return c == class.Runtime || c == class.Allocator || c == class.Profiler
}

// group is the file or the module of a row's function; empty if rows are neither.
func (d *Describer) group(l *symbolize.Location, frame int) string {
	return text.Clean(d.by.Group(d.symbols, l, frame))
}

// unnamed describes a place without a name by its module and offset and by a hint.
func (d *Describer) unnamed(stack []symbolize.LocationID, position int) string {
	l := &d.symbols.Locations[stack[position]]
	hint := ""
	if by, direct := d.calledBy(stack, position); direct {
		hint = "called by " + by
	} else if by != "" {
		hint = "called through " + by
	} else if near := Near(l); near != "" {
		hint = "near " + near
	} else if from := d.calledFrom(stack, position); from != "" {
		hint = "called from " + from
	}
	return hinted(d.symbols.Label(l), hint)
}

// calledBy is the nearest caller with a name, if no other module is in between; else it is empty.
// direct reports whether there is no other caller in between, either. The start-up code of a
// program tells nothing.
func (d *Describer) calledBy(stack []symbolize.LocationID, position int) (function string, direct bool) {
	module := d.symbols.Locations[stack[position]].Module
	for i, id := range stack[position+1:] {
		if d.symbols.Locations[id].Module != module {
			break
		}
		if function = d.telling(id); function != "" {
			return function, i == 0
		}
	}
	return "", false
}

// calledFrom is the function of another module that called into the module of a place, and its
// module; empty if it has no name.
func (d *Describer) calledFrom(stack []symbolize.LocationID, position int) string {
	module := d.symbols.Locations[stack[position]].Module
	for _, id := range stack[position+1:] {
		up := &d.symbols.Locations[id]
		if up.Module == module {
			continue
		}
		function := d.telling(id)
		if m := d.symbols.Module(up); m != nil && function != "" {
			return function + " in " + m.Title()
		}
		return function
	}
	return ""
}

// telling is the function at a location; empty if it has no name, or if all programs of a language
// have it on their stacks, as __libc_start_main and _PyEval_EvalFrameDefault.
func (d *Describer) telling(id symbolize.LocationID) string {
	l := &d.symbols.Locations[id]
	if c := d.blamer.Classes(id)[0]; !l.Named() || isRuntime(c) || c == class.Interpreter {
		return ""
	}
	return l.Frames[0].Function
}
