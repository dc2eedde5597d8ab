package processes

import (
	"cmp"
	"fmt"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Key identifies a site in all processes of a program. The zero value identifies none.
type Key struct {
	// Program is that of the process, as [ProgramOf] returns it.
	Program string
	// Site is the function, and Stack the whole stack if rows are stacks.
	Site, Stack identity.Key
	// Line is that of a script, whose rows are lines.
	Line int
	// Group is the file or the module, if rows are such.
	Group string

	heap bool // not a site, but the whole heap
}

// ProgramOf tells the programs of a recording apart.
func ProgramOf(p *series.Process) string { return cmp.Or(p.Exe, p.Prefix) }

// heapOf is the key of the heap of a program as a whole.
func heapOf(p *series.Process) Key { return Key{Program: ProgramOf(p), heap: true} }

// Keys returns the keys of the sites of a process. It is not safe for concurrent use.
type Keys struct {
	program string
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	by      sites.GroupBy
}

// NewKeys returns the keys of the sites of a series, whose rows are functions, files, modules or
// stacks.
func NewKeys(s *series.Series, symbols *symbolize.Symbols, rules *class.Rules, by sites.GroupBy) *Keys {
	return &Keys{ProgramOf(&s.Process), symbols, class.NewBlamer(symbols, rules), by}
}

// Of returns the key of a site; the zero value if the site has no stack, or for a nil k.
func (k *Keys) Of(s *growth.Site) Key {
	if k == nil {
		return Key{}
	}
	stack := k.symbols.Stack(k.symbols.SiteStack(s.Members[0]))
	ref, ok := k.blamer.Blame(stack)
	if !ok {
		return Key{}
	}
	l := &k.symbols.Locations[stack[ref.Position]]
	if group := k.by.Group(k.symbols, l, ref.Frame); group != "" {
		return Key{Program: k.program, Group: group}
	}
	frames := k.symbols.Frames(stack[ref.Position:]...)
	blamed := max(ref.Frame, 0)
	site := identity.KeysOf(frames, blamed)
	key := Key{Program: k.program, Site: site.Site}
	switch {
	case k.by == sites.ByStack:
		key.Stack = k.stack(stack)
	case site.Kind == identity.KeyScript:
		key.Line = frames[blamed].Line
	}
	return key
}

// stack returns the key of a stack with its lines. It leaves out addresses, which differ between
// processes, unless nothing else is known.
func (k *Keys) stack(stack []symbolize.LocationID) identity.Key {
	var out []string
	for _, id := range stack {
		l, offset := &k.symbols.Locations[id], uint64(0)
		if l.Module != symbolize.NoModule && !l.MadeUp() {
			offset = l.Offset
		}
		for _, f := range k.symbols.Frames(id) {
			out = append(out, fmt.Sprintf("%s %#x %s %s %d", f.Module, offset, f.Function, f.File, f.Line))
		}
	}
	return identity.StackKey(out)
}
