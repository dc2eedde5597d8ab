package siteview

import (
	"fmt"

	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// shownModules is the number of modules that a row lists.
const shownModules = 2

// Unnamed is the memory of functions without a name, in words.
type Unnamed struct{ *class.Unnamed }

// Text writes the summary, with the flags that help, unless [class.Unnamed.Negligible].
func (u Unnamed) Text(p *text.Printer) {
	if u.Negligible() {
		return
	}
	p.Linef("")
	p.Linef("unnamed: %s", u.sum())
	for _, r := range u.Rows {
		if r.Bytes*100 >= u.Total {
			p.Linef("%10s  %s", units.Bytes(r.Bytes), u.reason(r))
		}
	}
}

// Sentence returns the summary in one line, with the largest row. It is empty if
// [class.Unnamed.Negligible].
func (u Unnamed) Sentence() string {
	if u.Negligible() {
		return ""
	}
	return u.sum() + ": " + u.reason(u.Rows[0])
}

func (u Unnamed) sum() string {
	return fmt.Sprintf("functions without a name allocated %s of the %s on recorded stacks",
		units.Bytes(u.Bytes), units.Bytes(u.Total))
}

// reason returns why the memory of a row has no name, and the remedy.
func (u Unnamed) reason(r class.UnnamedRow) string {
	line := r.Reason.Explain()
	switch {
	case len(r.Modules) == 0:
	case r.Reason == symbolize.ReasonMissing && len(r.Modules) == 1:
		line = moduleList(u.Symbols, r.Modules) + " was not found"
	case r.Reason == symbolize.ReasonMissing:
		line = moduleList(u.Symbols, r.Modules) + " were not found"
	default:
		line += " in " + moduleList(u.Symbols, r.Modules)
	}
	if how := remedyForAll(u.Symbols, r); how != "" {
		line += ": " + how
	}
	return line
}

// moduleList names modules: `libffi.so.8 and 3 more files`.
func moduleList(s *symbolize.Symbols, modules []symbolize.ModuleID) string {
	var names []string
	for _, id := range modules[:min(shownModules, len(modules))] {
		names = append(names, text.Message(s.Modules[id].Title()))
	}
	if n := len(modules) - len(names); n > 0 {
		names = append(names, units.Count(n, "more file"))
	}
	return text.And(names...)
}

// UnnamedJSON is a [class.UnnamedRow] in JSON.
type UnnamedJSON struct {
	Reason  string   `json:"reason"`
	Bytes   int64    `json:"inuse_bytes"`
	Modules []string `json:"modules"`
}

// JSON returns the rows.
func (u Unnamed) JSON() []UnnamedJSON {
	out := []UnnamedJSON{}
	if u.Unnamed == nil {
		return out
	}
	for _, r := range u.Rows {
		j := UnnamedJSON{Reason: r.Reason.String(), Bytes: r.Bytes, Modules: []string{}}
		for _, id := range r.Modules {
			j.Modules = append(j.Modules, u.Symbols.Modules[id].Path)
		}
		out = append(out, j)
	}
	return out
}
