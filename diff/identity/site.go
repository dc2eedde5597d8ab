package identity

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Site is what of an allocation site is still there in another process or build.
type Site struct {
	// Place is the stack as places in files, "" where one of them is of a file without a build ID.
	Place string
	// Offsets is Place where files without a build ID are involved that seem to be the same on both
	// sides; "" if there are others.
	Offsets string
	// Frames are the functions, leaf first, without those of allocators; normalised.
	// Repetitions by recursion are one.
	Frames []string
	// Blame is the index in Frames of the function that the allocation is put down to, -1 if there
	// is none.
	Blame int
}

// Namer makes Sites of the stacks of one series. It is not safe for concurrent use.
type Namer struct {
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	names   map[symbolize.LocationID][]string
	places  map[symbolize.LocationID]place
	// Same are the files that both sides have, from [SameFiles]: what has no name there is told by
	// its offset. nil for none.
	Same map[symbolize.ModuleID]bool
	// SameProcess says that both sides are of one process image, where files without a build ID are
	// the same, too.
	SameProcess bool
}

// NewNamer makes a Namer.
func NewNamer(s *symbolize.Symbols, blamer *class.Blamer) *Namer {
	return &Namer{
		symbols: s, blamer: blamer,
		names: map[symbolize.LocationID][]string{}, places: map[symbolize.LocationID]place{},
	}
}

// Site describes a stack.
func (n *Namer) Site(id heapfile.StackID) Site {
	stack := n.symbols.Stack(id)
	out := Site{Blame: -1}
	out.Place, out.Offsets = n.join(stack)
	ref, blamed := n.blamer.Blame(stack)
	for i, l := range stack {
		classes := n.blamer.Classes(l)
		for k, name := range n.frames(l) {
			toBlame := blamed && i == ref.Position && k == max(ref.Frame, 0)
			if c := classes[k]; !toBlame && (c == class.Allocator || c == class.Profiler) {
				continue
			}
			if last := len(out.Frames) - 1; last < 0 || out.Frames[last] != name {
				out.Frames = append(out.Frames, name)
			}
			if toBlame {
				out.Blame = len(out.Frames) - 1
			}
		}
	}
	if !slices.ContainsFunc(out.Frames, func(f string) bool { return f != nowhere }) {
		out.Frames, out.Blame = nil, -1 // nothing is known of it outside its process
	}
	return out
}

// nowhere is the name of an address outside any file.
const nowhere = "?"

// frames are the normalised names at a location. What has no function is called by its module.
func (n *Namer) frames(id symbolize.LocationID) []string {
	if names, ok := n.names[id]; ok {
		return names
	}
	l := &n.symbols.Locations[id]
	var names []string
	for _, f := range l.Frames {
		names = append(names, Normalize(f.Function))
	}
	if len(names) == 0 {
		names = []string{n.unnamed(l)}
	}
	n.names[id] = names
	return names
}

func (n *Namer) unnamed(l *symbolize.Location) string {
	m := n.symbols.Module(l)
	switch {
	case m == nil:
		return nowhere
	case n.Same[l.Module]:
		return fmt.Sprintf("%s+%x", m.Name(), l.Offset)
	}
	return m.Name() + "+?"
}

// place is where an address is, in a form that another process shares.
type place struct {
	text string // "" where it has no such form
	sure bool   // by build ID, or by name
}

// join joins the places of a stack: those that are sure, and all.
func (n *Namer) join(stack []symbolize.LocationID) (sure, all string) {
	var b strings.Builder
	certain := true
	for _, id := range stack {
		p, ok := n.places[id]
		if !ok {
			p = n.locate(&n.symbols.Locations[id])
			n.places[id] = p
		}
		if p.text == "" {
			return "", ""
		}
		certain = certain && p.sure
		b.WriteString(p.text)
	}
	if certain {
		return b.String(), ""
	}
	return "", b.String()
}

// locate is a location's file and offset, or its name if it was generated.
func (n *Namer) locate(l *symbolize.Location) place {
	m := n.symbols.Module(l)
	switch {
	case m != nil && m.BuildID != "":
		return place{fmt.Sprintf("%s+%x\x00", m.BuildID, l.Offset), true}
	case m != nil && (n.SameProcess || n.Same[l.Module]):
		return place{fmt.Sprintf("%s+%x\x00", hex.EncodeToString([]byte(m.Path)), l.Offset), n.SameProcess}
	case m != nil:
		return place{}
	case l.Named():
		return place{"jit " + Normalize(l.Frames[0].Function) + "\x00", true}
	case n.SameProcess || l.Address == 0:
		return place{fmt.Sprintf("%x\x00", uint64(l.Address)), true}
	}
	return place{}
}
