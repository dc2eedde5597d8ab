package report

import (
	"fmt"
	"path"
	"strings"

	"github.com/heaplapse/heaplapse/diff/sites"
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

func (v View) viewer(s *symbolize.Symbols) *viewer {
	return &viewer{s, class.NewBlamer(s, v.Rules), v.GroupBy}
}

// viewer describes sites of one series in words. It is not safe for concurrent use.
type viewer struct {
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	by      sites.GroupBy
}

// title names a row: the function, or the file or module that its stacks share, with the function that has most.
func (v *viewer) title(site symbolize.SiteID) (title, where string) {
	function, where := v.describe(site)
	stack := v.stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok || v.by != sites.ByFile && v.by != sites.ByModule {
		return clip(function, 90), where
	}
	l := &v.symbols.Locations[stack[ref.Position]]
	group := "(no file)"
	if m := v.symbols.Module(l); m != nil {
		group = clean(m.Name())
	}
	if v.by == sites.ByFile && ref.Frame >= 0 && l.Frames[ref.Frame].File != "" {
		group = clean(path.Base(l.Frames[ref.Frame].File))
	}
	return fmt.Sprintf("%s, most of it %s", group, clip(function, 60)), where
}

func (v *viewer) stack(site symbolize.SiteID) []symbolize.LocationID {
	return v.symbols.Stack(v.symbols.SiteStack(site))
}

// describe names the frame that a site is put down to, and its place.
func (v *viewer) describe(site symbolize.SiteID) (function, where string) {
	stack := v.stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok {
		return "(no stack)", ""
	}
	l := &v.symbols.Locations[stack[ref.Position]]
	if !l.Named() {
		return v.unnamed(stack, ref.Position), ""
	}
	return name(v.symbols, l, ref.Frame), place(v.symbols, l, ref.Frame)
}

// unnamed describes a place without a function by what is certain: where it is, and
// who of its module calls it; else by the nearest symbol.
func (v *viewer) unnamed(stack []symbolize.LocationID, position int) string {
	l := &v.symbols.Locations[stack[position]]
	if by := v.calledBy(stack, position); by != "" {
		return fmt.Sprintf("%s (called by %s)", v.symbols.Label(l), by)
	}
	if l.Near == "" {
		if from := v.calledFrom(stack, position); from != "" {
			return fmt.Sprintf("%s (called from %s)", v.symbols.Label(l), from)
		}
	}
	return name(v.symbols, l, -1)
}

// calledFrom is the nearest function above a place in a stack that has a name, with its module.
func (v *viewer) calledFrom(stack []symbolize.LocationID, position int) string {
	for _, id := range stack[position+1:] {
		if up := &v.symbols.Locations[id]; up.Named() {
			if m := v.symbols.Module(up); m != nil {
				return up.Frames[0].Function + " in " + m.Name()
			}
			return up.Frames[0].Function
		}
	}
	return ""
}

// calledBy is the nearest function above a place in a stack that is of the same module and has a name.
func (v *viewer) calledBy(stack []symbolize.LocationID, position int) string {
	module := v.symbols.Locations[stack[position]].Module
	for _, id := range stack[position+1:] {
		up := &v.symbols.Locations[id]
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
func (v *viewer) blame(site symbolize.SiteID) blameJSON {
	stack := v.stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok {
		return blameJSON{}
	}
	l := &v.symbols.Locations[stack[ref.Position]]
	var out blameJSON
	if m := v.symbols.Module(l); m != nil {
		out.Module = m.Path
	}
	if !l.Named() {
		out.Function, out.Near, out.Remedy = v.symbols.Label(l), near(l), remedy(v.symbols, l)
		out.CalledBy = v.calledBy(stack, ref.Position)
		return out
	}
	f := l.Frames[max(ref.Frame, 0)]
	out.Function, out.File, out.Line = f.Function, f.File, f.Line
	return out
}

// missingName says why the frame to blame has no name, and what would give it one; "" if it has one.
func (v *viewer) missingName(site symbolize.SiteID) string {
	stack := v.stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok {
		return ""
	}
	if l := &v.symbols.Locations[stack[ref.Position]]; !l.Named() {
		return fmt.Sprintf("unnamed: %s; %s", l.Reason.Explain(), remedy(v.symbols, l))
	}
	return ""
}

// maxCallers is the number of callers shown.
const maxCallers = 4

// callPath is the callers that all stacks of a row have in common, nearest first; where they have none, those of the
// first stack, which is the largest.
func (v *viewer) callPath(sites []symbolize.SiteID) string {
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
	for _, c := range common[:min(maxCallers, len(common))] {
		out = append(out, strings.TrimSpace(clip(c.name, 60)+" "+c.place))
	}
	line := strings.Join(out, " ← ")
	if line != "" {
		line = "← " + line
	}
	return strings.TrimSpace(line + note)
}

type caller struct{ name, place string }

// callers are the frames above the one to blame. A function that calls itself is one.
func (v *viewer) callers(site symbolize.SiteID) []caller {
	stack := v.stack(site)
	ref, ok := v.blamer.Blame(stack)
	if !ok {
		return nil
	}
	var out []caller
	last := ""
	for i := ref.Position; i < len(stack); i++ {
		l := &v.symbols.Locations[stack[i]]
		if !l.Named() {
			if i > ref.Position {
				out, last = append(out, caller{v.symbols.Label(l), ""}), ""
			}
			continue
		}
		from := 0
		if i == ref.Position {
			from, last = ref.Frame+1, l.Frames[ref.Frame].Function
		}
		for k := from; k < len(l.Frames); k++ {
			if f := l.Frames[k].Function; f != last {
				out, last = append(out, caller{name(v.symbols, l, k), place(v.symbols, l, k)}), f
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
