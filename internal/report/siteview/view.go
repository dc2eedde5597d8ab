package siteview

import (
	"fmt"
	"path"
	"strings"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// View is what the tables of sites have in common.
type View struct {
	// Top limits the rows in text; 0 shows 20.
	Top int
	// Rules decided which frame is to blame; nil for the default ones.
	Rules *class.Rules
	// GroupBy is what the rows are.
	GroupBy sites.GroupBy
}

func (v View) Sites(s *symbolize.Symbols) *Sites {
	return &Sites{s, class.NewBlamer(s, v.Rules), v.GroupBy}
}

// viewer describes sites of one series in words. It is not safe for concurrent use.
type Sites struct {
	Symbols *symbolize.Symbols
	blamer  *class.Blamer
	by      sites.GroupBy
}

// title names a row: the function, or the file or module that its stacks share, with the function that has most.
func (v *Sites) Title(site symbolize.SiteID) (title, where string) {
	function, where := v.describe(site)
	stack := v.Stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok || v.by != sites.ByFile && v.by != sites.ByModule {
		return text.Clip(function, 90), where
	}
	l := &v.Symbols.Locations[stack[ref.Position]]
	group := "(no file)"
	if m := v.Symbols.Module(l); m != nil {
		group = text.Clean(m.Name())
	}
	if v.by == sites.ByFile && ref.Frame >= 0 && l.Frames[ref.Frame].File != "" {
		group = text.Clean(path.Base(l.Frames[ref.Frame].File))
	}
	return fmt.Sprintf("%s, most of it %s", group, text.Clip(function, 60)), where
}

func (v *Sites) Stack(site symbolize.SiteID) []symbolize.LocationID {
	return v.Symbols.Stack(v.Symbols.SiteStack(site))
}

// describe names the frame that a site is put down to, and its place.
func (v *Sites) describe(site symbolize.SiteID) (function, where string) {
	stack := v.Stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok {
		return "(no stack)", ""
	}
	l := &v.Symbols.Locations[stack[ref.Position]]
	if !l.Named() {
		return v.unnamed(stack, ref.Position), ""
	}
	return Name(v.Symbols, l, ref.Frame), place(v.Symbols, l, ref.Frame)
}

// unnamed describes a place without a function by what is certain: where it is, and
// who of its module calls it; else by the nearest symbol.
func (v *Sites) unnamed(stack []symbolize.LocationID, position int) string {
	l := &v.Symbols.Locations[stack[position]]
	if by := v.calledBy(stack, position); by != "" {
		return fmt.Sprintf("%s (called by %s)", v.Symbols.Label(l), by)
	}
	if l.Near == "" {
		if from := v.calledFrom(stack, position); from != "" {
			return fmt.Sprintf("%s (called from %s)", v.Symbols.Label(l), from)
		}
	}
	return Name(v.Symbols, l, -1)
}

// calledFrom is the nearest function above a place in a stack that has a name, with its module.
func (v *Sites) calledFrom(stack []symbolize.LocationID, position int) string {
	for _, id := range stack[position+1:] {
		if up := &v.Symbols.Locations[id]; up.Named() {
			if m := v.Symbols.Module(up); m != nil {
				return up.Frames[0].Function + " in " + m.Name()
			}
			return up.Frames[0].Function
		}
	}
	return ""
}

// calledBy is the nearest function above a place in a stack that is of the same module and has a name.
func (v *Sites) calledBy(stack []symbolize.LocationID, position int) string {
	module := v.Symbols.Locations[stack[position]].Module
	for _, id := range stack[position+1:] {
		up := &v.Symbols.Locations[id]
		if up.Module != module {
			break
		}
		if up.Named() {
			return up.Frames[0].Function
		}
	}
	return ""
}

// blame is the frame that a site is put down to, for JSON.
func (v *Sites) Blame(site symbolize.SiteID) Blame {
	stack := v.Stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok {
		return Blame{}
	}
	l := &v.Symbols.Locations[stack[ref.Position]]
	var out Blame
	if m := v.Symbols.Module(l); m != nil {
		out.Module = m.Path
	}
	if !l.Named() {
		out.Function, out.Near, out.Remedy = v.Symbols.Label(l), Near(l), Remedy(v.Symbols, l)
		out.CalledBy = v.calledBy(stack, ref.Position)
		return out
	}
	f := l.Frames[max(ref.Frame, 0)]
	out.Function, out.File, out.Line = f.Function, f.File, f.Line
	return out
}

// missingName says why the frame to blame has no name, and what would give it one; "" if it has one.
func (v *Sites) MissingName(site symbolize.SiteID) string {
	stack := v.Stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok {
		return ""
	}
	if l := &v.Symbols.Locations[stack[ref.Position]]; !l.Named() {
		return fmt.Sprintf("unnamed: %s; %s", l.Reason.Explain(), Remedy(v.Symbols, l))
	}
	return ""
}

// maxCallers is the number of callers shown.
const MaxCallers = 4

// callPath is the callers that all stacks of a row have in common, nearest first; where they have none, those of the
// first stack, which is the largest.
func (v *Sites) CallPath(sites []symbolize.SiteID) string {
	if len(sites) == 0 {
		return ""
	}
	first := v.callers(sites[0])
	common := first
	for _, s := range sites[1:] {
		common = common[:commonPrefix(common, v.callers(s))]
	}
	note := ""
	if n := len(sites); n > 1 {
		note = fmt.Sprintf("  (%d call paths)", n)
		if len(common) == 0 {
			common, note = first, fmt.Sprintf("  (the largest of %d call paths)", n)
		}
	}
	var out []string
	for _, c := range common[:min(MaxCallers, len(common))] {
		out = append(out, strings.TrimSpace(text.Clip(c.name, 60)+" "+c.place))
	}
	line := strings.Join(out, " ← ")
	if line != "" {
		line = "← " + line
	}
	return strings.TrimSpace(line + note)
}

type caller struct{ name, place string }

// callers are the frames above the one to blame. A function that calls itself is one.
func (v *Sites) callers(site symbolize.SiteID) []caller {
	stack := v.Stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok {
		return nil
	}
	var out []caller
	last := ""
	for i := ref.Position; i < len(stack); i++ {
		l := &v.Symbols.Locations[stack[i]]
		if !l.Named() {
			if i > ref.Position {
				out, last = append(out, caller{v.Symbols.Label(l), ""}), ""
			}
			continue
		}
		from := 0
		if i == ref.Position {
			from, last = ref.Frame+1, l.Frames[ref.Frame].Function
		}
		for k := from; k < len(l.Frames); k++ {
			if f := l.Frames[k].Function; f != last {
				out, last = append(out, caller{Name(v.Symbols, l, k), place(v.Symbols, l, k)}), f
			}
		}
	}
	return out
}

func commonPrefix(a, b []caller) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

type Blame struct {
	Function string `json:"function"`
	Module   string `json:"module"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	// Near and Remedy are for places without a function.
	Near   string `json:"near,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// CalledBy is the nearest caller in the same module that has a name.
	CalledBy string `json:"called_by,omitempty"`
}
