package siteview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Unnamed is the memory in use of one snapshot that is attributed to functions without a name, by
// reason. It shows how much memory the missing files would name.
type Unnamed struct {
	// Total is the bytes in use on all stacks that were counted. It is less than the heap if the
	// snapshot is truncated.
	Total int64
	// Bytes is the part of Total that is attributed to functions without a name.
	Bytes int64
	Rows  []UnnamedRow

	symbols *symbolize.Symbols
	blamer  *class.Blamer
	modules map[unnamedKey]int64
}

// UnnamedRow is the memory that has no name for one reason.
type UnnamedRow struct {
	Reason symbolize.Reason
	Bytes  int64
	// Modules has the modules with that reason, in descending order of bytes.
	Modules []symbolize.ModuleID
}

type unnamedKey struct {
	reason symbolize.Reason
	module symbolize.ModuleID
}

// NewUnnamed returns an empty count. Add counts a stack; Done completes the count.
func NewUnnamed(s *symbolize.Symbols, rules *class.Rules) *Unnamed {
	return &Unnamed{symbols: s, blamer: class.NewBlamer(s, rules), modules: map[unnamedKey]int64{}}
}

// Add counts the bytes in use on a stack.
func (u *Unnamed) Add(id heapfile.StackID, bytes int64) {
	if bytes == 0 {
		return
	}
	u.Total += bytes
	stack := u.symbols.Stack(id)
	ref, ok := u.blamer.Blame(stack)
	if !ok {
		return
	}
	if l := &u.symbols.Locations[stack[ref.Position]]; !l.Named() {
		u.Bytes += bytes
		u.modules[unnamedKey{l.Reason, l.Module}] += bytes
	}
}

// Done sorts the rows in descending order of bytes, and returns u.
func (u *Unnamed) Done() *Unnamed {
	keys := make([]unnamedKey, 0, len(u.modules))
	for k := range u.modules {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b unnamedKey) int {
		return cmp.Or(cmp.Compare(u.modules[b], u.modules[a]), cmp.Compare(a.reason, b.reason),
			cmp.Compare(a.module, b.module))
	})
	for _, k := range keys {
		i := slices.IndexFunc(u.Rows, func(r UnnamedRow) bool { return r.Reason == k.reason })
		if i < 0 {
			i = len(u.Rows)
			u.Rows = append(u.Rows, UnnamedRow{Reason: k.reason})
		}
		u.Rows[i].Bytes += u.modules[k]
		if k.module != symbolize.NoModule {
			u.Rows[i].Modules = append(u.Rows[i].Modules, k.module)
		}
	}
	slices.SortStableFunc(u.Rows, func(a, b UnnamedRow) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return u
}

// shownModules is the number of modules that a row lists.
const shownModules = 2

// Text writes the summary, with the flags that help, unless [Unnamed.Negligible].
func (u *Unnamed) Text(p *text.Printer, f option.Flags) {
	if u.Negligible() {
		return
	}
	p.Linef("")
	p.Linef("unnamed: %s", u.sum())
	for _, r := range u.Rows {
		if r.Bytes*100 >= u.Total {
			p.Linef("%10s  %s", units.Bytes(r.Bytes), u.reason(r, f))
		}
	}
}

// Sentence returns the summary in one line, with the largest row. It is empty if
// [Unnamed.Negligible].
func (u *Unnamed) Sentence(f option.Flags) string {
	if u.Negligible() {
		return ""
	}
	return u.sum() + ": " + u.reason(u.Rows[0], f)
}

// Negligible reports whether less than a hundredth of the memory has no name, or nothing was
// counted. u may be nil.
func (u *Unnamed) Negligible() bool { return u == nil || u.Bytes*100 < u.Total || u.Bytes <= 0 }

func (u *Unnamed) sum() string {
	return fmt.Sprintf("functions without a name allocated %s of the %s on recorded stacks",
		units.Bytes(u.Bytes), units.Bytes(u.Total))
}

// reason returns why the memory of a row has no name, and the remedy.
func (u *Unnamed) reason(r UnnamedRow, f option.Flags) string {
	line := r.Reason.Explain()
	switch {
	case len(r.Modules) == 0:
	case r.Reason == symbolize.ReasonMissing && len(r.Modules) == 1:
		line = u.list(r.Modules) + " was not found"
	case r.Reason == symbolize.ReasonMissing:
		line = u.list(r.Modules) + " were not found"
	default:
		line += " in " + u.list(r.Modules)
	}
	if how := remedyForAll(u.symbols, r, f); how != "" {
		line += ": " + how
	}
	return line
}

// list names modules: `libffi.so.8 and 3 more files`.
func (u *Unnamed) list(modules []symbolize.ModuleID) string {
	var names []string
	for _, id := range modules[:min(shownModules, len(modules))] {
		names = append(names, text.Message(u.symbols.Modules[id].Title()))
	}
	if n := len(modules) - len(names); n > 0 {
		return strings.Join(names, ", ") + " and " + units.Count(n, "more file")
	}
	return strings.Join(names, " and ")
}

// UnnamedJSON is an UnnamedRow in JSON.
type UnnamedJSON struct {
	Reason  string   `json:"reason"`
	Bytes   int64    `json:"inuse_bytes"`
	Modules []string `json:"modules"`
}

// JSON returns the rows; u may be nil.
func (u *Unnamed) JSON() []UnnamedJSON {
	out := []UnnamedJSON{}
	if u == nil {
		return out
	}
	for _, r := range u.Rows {
		j := UnnamedJSON{Reason: r.Reason.String(), Bytes: r.Bytes, Modules: []string{}}
		for _, id := range r.Modules {
			j.Modules = append(j.Modules, u.symbols.Modules[id].Path)
		}
		out = append(out, j)
	}
	return out
}
