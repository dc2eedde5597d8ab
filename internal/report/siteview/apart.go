package siteview

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Apart returns what tells stacks apart that are attributed to the same line of the same function: the functions
// through which each requests the memory, or else its callers, without those that all have; or else the address of the
// call. There are at least two stacks.
func (d *Describer) Apart(stacks []symbolize.SiteID) []string {
	below, above := make([][]string, len(stacks)), make([][]string, len(stacks))
	for i, site := range stacks {
		below[i], above[i] = d.around(site)
	}
	out, count := make([]string, len(stacks)), map[string]int{}
	through, from := distinct(below, " → "), distinct(above, " ← ")
	for i := range out {
		switch {
		case !alike(through):
			out[i] = "through " + cmp.Or(through[i], "no other function")
		case !alike(from):
			out[i] = "← … ← " + cmp.Or(from[i], "no other caller")
		}
		count[out[i]]++
	}
	for i, site := range stacks {
		ref, ok := d.blamer.Blame(d.stack(site))
		if !ok || count[out[i]] == 1 {
			continue
		}
		if call := &d.symbols.Locations[d.stack(site)[ref.Position]]; !call.MadeUp() && !call.Script() {
			out[i] = strings.TrimSpace(out[i] + " at " + d.symbols.Label(call))
		}
	}
	return out
}

// alike reports whether all texts are the same.
func alike(list []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return s != list[0] })
}

// around are the functions of a stack below the one that it is attributed to, and those above it with their lines,
// each from there on.
func (d *Describer) around(site symbolize.SiteID) (below, above []string) {
	stack := d.stack(site)
	ref, ok := d.blamer.Blame(stack)
	if !ok {
		return nil, nil
	}
	for i, id := range stack {
		l := &d.symbols.Locations[id]
		for k := range max(1, len(l.Frames)) {
			f := d.frame(l, k)
			name := text.ClipName(FunctionName(f), maxCaller)
			switch {
			case i < ref.Position || i == ref.Position && k < ref.Frame:
				below = append(below, name)
			case i > ref.Position || k > ref.Frame:
				above = append(above, strings.TrimSpace(name+" "+d.where(f)))
			}
		}
	}
	slices.Reverse(below)
	return below, above
}

// distinct joins the elements of each list that are needed to tell it from the others, without those that all lists
// begin with. At most three are kept, because names are long.
func distinct(lists [][]string, arrow string) []string {
	shared := len(lists[0])
	needed := make([]int, len(lists))
	for i := range lists {
		for k := range lists {
			if n := text.Common(lists[i], lists[k]); !slices.Equal(lists[i], lists[k]) {
				shared, needed[i] = min(shared, n), max(needed[i], n+1)
			}
		}
	}
	out := make([]string, len(lists))
	for i, list := range lists {
		part := list[shared:max(shared, min(needed[i], len(list)))]
		if len(part) > 3 {
			part = []string{part[0], "…", part[len(part)-1]}
		}
		out[i] = strings.Join(part, arrow)
	}
	return out
}
