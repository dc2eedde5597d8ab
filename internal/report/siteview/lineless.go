package siteview

import (
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Lineless names the user's own programs and libraries that have no line numbers, and tells how to get them, if the
// code that one of some rows shows first of the user is in them. It is empty if there are none. rows are the first
// sites of the rows.
func (d *Describer) Lineless(rows []symbolize.SiteID) string {
	var modules []symbolize.ModuleID
	for _, site := range rows {
		stack := d.stack(site)
		ref, ok := d.blamer.Blame(stack)
		if !ok {
			continue
		}
		own := slices.IndexFunc(stack[ref.Position:], func(id symbolize.LocationID) bool { return len(d.ownFrames(id)) > 0 })
		if own < 0 {
			continue
		}
		module := d.symbols.Locations[stack[ref.Position+own]].Module
		if !slices.Contains(modules, module) && !d.hasLines(module) {
			modules = append(modules, module)
		}
	}
	if len(modules) == 0 {
		return ""
	}
	have, it, its := "has", "it", "its debug file"
	if len(modules) > 1 {
		have, it, its = "have", "them", "their debug files"
	}
	return fmt.Sprintf("%s %s no line numbers: build %s with debug information (-g), or pass %s with %s",
		moduleList(d.symbols, modules), have, it, its, option.DebugDir)
}

// ownFrames are the named frames of a location that are the user's own code.
func (d *Describer) ownFrames(id symbolize.LocationID) (own []*symbolize.Frame) {
	l := &d.symbols.Locations[id]
	m := d.symbols.Module(l)
	if m == nil || isPackaged(m.Path) {
		return nil
	}
	classes := d.blamer.Classes(id)
	for k := range l.Frames {
		if classes[k] == class.Application {
			own = append(own, &l.Frames[k])
		}
	}
	return own
}

// hasLines reports whether a line of the user's own code in a module is known.
func (d *Describer) hasLines(module symbolize.ModuleID) bool {
	for i := range d.symbols.Locations {
		id := symbolize.LocationID(i)
		if d.symbols.Locations[i].Module == module &&
			slices.ContainsFunc(d.ownFrames(id), func(f *symbolize.Frame) bool { return f.Line > 0 }) {
			return true
		}
	}
	return false
}
