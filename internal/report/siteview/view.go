package siteview

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// View is an allocation site as reports show it. Use [Describer.View] or [OfRun].
type View struct {
	// Name is the function that the site is attributed to. A function without a name is described
	// by its module and offset and by the nearest caller that has one; a site without a stack is
	// "(no stack)".
	Name string
	// Where is the function's file and line, or its module where the line is not known, the line of
	// a script that called it, and whether its memory is mapped; it may be empty.
	Where string
	// Group is the source file or the module of the row, if rows are files or modules, else empty.
	Group string
	// Blame is the same function for programs.
	Blame Blame
	// Keys identify the site on other hosts.
	Keys identity.Keys
	// CallPaths is the number of call paths of the row.
	CallPaths int
	// Own is the innermost caller of the user's own code, if the function is of a library; else
	// nil. Entry is the function of the library that it called, unless that is the site's function
	// or has no name.
	Own, Entry *Caller
	// Unnamed is why the function has no name; empty if it has a name. Blame.Remedy is how to get
	// it.
	Unnamed string

	// Both are expensive, and most tables do not need them.
	advice      func(resized bool) string
	callers     func() (callers []Caller, shared bool)
	ownIsShared func() bool // by all call paths
	lines       func() []int

	names map[string]string // of files; others are shown by their last elements
}

// Blame is the frame that a site is attributed to, in JSON.
type Blame struct {
	Function string `json:"function"`
	Module   string `json:"module"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	// Near is the nearest symbol to a frame without a name, and Remedy is how to get its name.
	Near   string `json:"near,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// CalledBy is the nearest caller in the same module that has a name.
	CalledBy string `json:"called_by,omitempty"`
	// Script is the line of a script that called a native function.
	Script *Line `json:"script,omitempty"`
	// Own is the line of the user's own code that called a function of a library.
	Own *Line `json:"own,omitempty"`
}

// Line is a line of a script or of code, in JSON.
type Line struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// Caller is a function on the way to a site, and the place of its call.
type Caller struct{ Name, Where string }

// Longest names in a line of text, in characters.
const (
	maxTitle   = 90
	maxCaller  = 60
	maxGrouped = 60
)

// Title names the row: the function, or the group and the function that allocates most of it.
func (v View) Title() string {
	if v.Group == "" {
		return v.Clipped(maxTitle)
	}
	return fmt.Sprintf("%s, most of it %s", v.Group, v.Clipped(maxGrouped))
}

// Clipped is the name shortened to a width in characters.
func (v View) Clipped(width int) string { return text.ClipName(v.Name, width) }

// Heading is the title and the place.
func (v View) Heading() string { return strings.TrimSpace(v.Title() + " " + v.Where) }

// Headline is the heading of a row that stands alone: the line of the user's own code comes first,
// if the function is of a library.
func (v View) Headline() string {
	if v.Own == nil {
		return v.Heading()
	}
	at := v.Where
	if library, _, ok := strings.Cut(at, ".so"); ok {
		at = library
	}
	if at != "" {
		at = " (" + at + ")"
	}
	return v.Own.String() + " → " + v.Title() + at
}

// Advice is what to look at next; it may be empty. resized reports whether the site was seen to
// grow more than once, as a container does to which elements are added.
func (v View) Advice(resized bool) string { return v.advice(resized) }

// Callers are the functions that call the site's function, nearest first. A function that calls
// itself is listed once. Shared reports whether all call paths have these callers; if not, they are
// those of the largest call path.
func (v View) Callers() (callers []Caller, shared bool) { return v.callers() }

// paths is the number of call paths, if there are several.
func (v View) paths(shared bool, on string) string {
	if on != "" {
		on = ", " + on
	}
	switch {
	case v.CallPaths > 1 && shared:
		return fmt.Sprintf("  (%d call paths%s)", v.CallPaths, on)
	case v.CallPaths > 1:
		return fmt.Sprintf("  (the largest of %d call paths%s)", v.CallPaths, on)
	}
	return ""
}

// Places are those of the lines of the function that the row's call paths pass, as they are shown, and with the whole
// path of the file.
func (v View) Places() (out []string) {
	if v.lines == nil {
		return nil
	}
	for _, line := range slices.Sorted(slices.Values(v.lines())) {
		at := symbolize.Frame{File: v.Blame.File, Line: line}
		out = append(out, whereIn(v.names, &at), text.PositionIn(at.File, line))
	}
	return out
}

// OnLines names the lines of the function that its call paths pass, if there are several: any of them
// may be the one to change.
func (v View) OnLines() string {
	const most = 4
	if v.lines == nil {
		return ""
	}
	list := slices.Sorted(slices.Values(v.lines()))
	if len(list) < 2 {
		return ""
	}
	if len(list) > most {
		return fmt.Sprintf("on %d lines", len(list))
	}
	words := make([]string, len(list))
	for i, line := range list {
		words[i] = strconv.Itoa(line)
	}
	return "on lines " + text.And(words...)
}

// maxCallers is the number of callers in a call path in one line.
const maxCallers = 4

// CallPath is the nearest callers in one line of a width in characters, with the middle of their
// names left out if that is necessary. It has as many callers as fit, but at least one: then the line may be longer. A
// width of 0 has no limit.
func (v View) CallPath(width int) string {
	callers, shared := v.Callers()
	callers, own := v.nearest(callers)
	end := own + v.paths(shared, v.OnLines())
	if width > 0 && len(callers) > 0 && text.Width(callLine(callers[:1], nameWidths[len(nameWidths)-1])+end) > width {
		end = own + v.paths(shared, "")
	}
	for n := len(callers); n > 0; n-- {
		for _, longest := range nameWidths {
			line := callLine(callers[:n], longest) + end
			if width <= 0 || text.Width(line) <= width {
				return line
			}
		}
	}
	if len(callers) == 0 {
		return strings.TrimSpace(end)
	}
	return callLine(callers[:1], nameWidths[len(nameWidths)-1]) + end
}

// nearest returns as many callers as a line has, and the text for the user's own one if it is
// farther away, with the function of the library that it called.
func (v View) nearest(callers []Caller) (near []Caller, own string) {
	most := min(maxCallers, len(callers))
	if v.Own == nil {
		return callers[:most], ""
	}
	at := slices.Index(callers, *v.Own)
	switch {
	case at >= 0 && at <= maxCallers:
		return callers[:max(at+1, most)], ""
	case at < 0 && !v.ownIsShared():
		return callers[:most], ""
	}
	own = " ← … "
	if v.Entry != nil {
		own += "← " + v.Entry.String() + " "
	}
	return callers[:min(maxCallers-2, most)], own + "← " + v.Own.String()
}

// nameWidths are the lengths to which names of callers are shortened until their line fits.
var nameWidths = []int{maxCaller, 40, 28}

// callLine is a list of callers in one line.
func callLine(callers []Caller, longest int) string {
	var parts []string
	for _, c := range callers {
		parts = append(parts, "← "+strings.TrimSpace(text.ClipName(c.Name, longest)+" "+c.Where))
	}
	return strings.Join(parts, " ")
}

// String is the caller's name and place.
func (c Caller) String() string {
	return strings.TrimSpace(text.ClipName(c.Name, maxCaller) + " " + c.Where)
}

// viewOf describes the frame that a site is attributed to.
func viewOf(f *symbolize.Frame) View {
	return View{
		Name: FunctionName(f), Where: where(f),
		Blame: Blame{Function: f.Function, Module: f.Module, File: f.File, Line: f.Line},
	}
}

// SmallSites describes the sum of sites that are too small to be judged one by one.
func SmallSites(callPaths int) View {
	return View{
		Name: "the sum of the small sites", CallPaths: callPaths,
		advice: func(bool) string { return "" }, callers: func() ([]Caller, bool) { return nil, true },
	}
}

// noStack is the name of a site without a stack.
const noStack = "(no stack)"

// FunctionName is a frame's function, or what is known instead.
func FunctionName(f *symbolize.Frame) string {
	switch {
	case f.Function != "":
		return f.Function
	case f.Module != "":
		return "somewhere in " + path.Base(f.Module)
	}
	return "(no name)"
}

// maxWhere is the longest place, in characters.
const maxWhere = 60

// where is a frame's file and line, else its module, unless its name is module+offset.
func where(f *symbolize.Frame) string {
	if p := text.Position(f.File, f.Line); p != "" && !isUnit(f) {
		return text.Clip(p, maxWhere)
	}
	if f.Module != "" && !identity.IsUnnamed(f) {
		return text.Clip(path.Base(f.Module), maxWhere)
	}
	return ""
}

// whereIn is where of a frame whose file has one of some names, if it has one.
func whereIn(names map[string]string, f *symbolize.Frame) string {
	if name := names[f.File]; name != "" {
		return text.Clip(text.PositionIn(name, f.Line), maxWhere)
	}
	return where(f)
}

// isUnit reports whether the file of a frame is none: in the symbols of Rust programs it is the
// unit of compilation, such as shop.8ab2b92876b0a06f-cgu.2.
func isUnit(f *symbolize.Frame) bool { return f.Line == 0 && strings.Contains(f.File, "-cgu.") }

// callersOf are the callers of the frame at index blame, as those of a Describer.
func callersOf(frames []symbolize.Frame, blame int) (callers []Caller) {
	if blame < 0 {
		return nil
	}
	list := callerList{last: frames[blame].Function, limit: len(frames)}
	script, own := identity.IsScript(&frames[blame]), ClassOf(&frames[blame])
	for i := blame + 1; i < len(frames); i++ {
		if f := &frames[i]; identity.IsScript(f) || !passedOver(script, own, ClassOf(f)) {
			list.add(f)
		}
	}
	return list.callers
}

// ClassOf is the class of a frame by the default rules.
func ClassOf(f *symbolize.Frame) class.Class {
	function := f.Function
	if identity.IsUnnamed(f) {
		function = ""
	}
	names := class.Names{Function: function, File: f.File, Module: f.Module, Script: identity.IsScript(f)}
	return class.DefaultRules().Class(names)
}

// callerList collects the callers of a function, nearest first, up to a limit.
type callerList struct {
	callers []Caller
	last    string // the function before
	limit   int
	names   map[string]string // of files; others are shown by their last elements
}

// add adds a frame unless the function called itself. It reports whether the list takes more.
func (c *callerList) add(f *symbolize.Frame) bool {
	if f.Function != c.last || c.last == "" {
		c.callers = append(c.callers, Caller{FunctionName(f), whereIn(c.names, f)})
	}
	c.last = f.Function
	return len(c.callers) < c.limit
}

// OfRun describes a site of a summarized run. A row of more than one call path has those of other
// sites, too. A nil site has no stack.
func OfRun(s *baseline.Site, callPaths int) View {
	v, blame := View{Name: noStack}, -1
	var frames []symbolize.Frame
	if s != nil {
		frames = s.Frames
		if s.Blame >= 0 && s.Blame < len(frames) {
			blame = s.Blame
			v = viewOf(&frames[blame])
		}
	}
	v.Keys = identity.KeysOf(frames, blame)
	v.CallPaths = callPaths
	v.advice = func(resized bool) string {
		return adviceOnFrames(frames, resized)
	}
	v.callers = func() ([]Caller, bool) { return callersOf(frames, blame), callPaths <= 1 }
	return v
}

// adviceOnFrames returns the advice on the stack of a summarized run; empty if there is none.
func adviceOnFrames(frames []symbolize.Frame, resized bool) string {
	all := noRanks
	lines := slices.ContainsFunc(frames, func(f symbolize.Frame) bool { return identity.IsScript(&f) })
	for i := range frames {
		if !identity.IsScript(&frames[i]) {
			all.include(ranksOf(frames[i].Module, frames[i].Function))
		}
	}
	return textOf(all.first(!lines, resized), lines)
}
