// Package group puts allocation sites into groups: by the frame that they are attributed to
// ([Keys], [Functions]), and those that a suppression names ([Suppressor]).
package group

import (
	"cmp"
	"fmt"
	"path"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Keys computes the key of the group that a site belongs to. It is not safe for concurrent use.
type Keys struct {
	symbols   *symbolize.Symbols
	blamer    *class.Blamer
	by        sites.GroupBy
	functions *Functions
	known     map[frameKey]string
}

type frameKey struct {
	location symbolize.LocationID
	frame    int
}

// NewKeys returns the keys of a grouping; "" takes [sites.ByFunction].
func NewKeys(s *symbolize.Symbols, blamer *class.Blamer, by sites.GroupBy) *Keys {
	return &Keys{
		symbols: s, blamer: blamer, by: cmp.Or(by, sites.ByFunction),
		functions: NewFunctions(s), known: map[frameKey]string{},
	}
}

// Of returns the key of a site's group. It is the same in every build and process, unless the
// grouping is by stack, or a line of a script has moved: scripts are grouped by line, because one
// function of a script often does many things.
func (k *Keys) Of(site symbolize.SiteID) string {
	if k.by == sites.ByStack {
		return fmt.Sprint(site)
	}
	stack := k.symbols.Stack(k.symbols.SiteStack(site))
	ref, ok := k.blamer.Blame(stack)
	if !ok {
		return ""
	}
	frame := frameKey{stack[ref.Position], ref.Frame}
	key, ok := k.known[frame]
	if !ok {
		key = k.describe(&k.symbols.Locations[frame.location], ref.Frame)
		k.known[frame] = key
	}
	if k.blamer.Mapped(stack) {
		return "mmap\x00" + key // another kind of memory than what the same function allocates
	}
	return key
}

// describe returns the key of a frame of a location; frame is -1 for a location without a name.
func (k *Keys) describe(l *symbolize.Location, frame int) string {
	module := ""
	if m := k.symbols.Module(l); m != nil {
		module = m.Name() // directories differ between machines and builds
	}
	switch {
	case l.Script():
		return k.describeLine(&l.Frames[0])
	case k.by == sites.ByModule:
		return module
	case k.by == sites.ByFile && (frame < 0 || l.Frames[frame].File == ""):
		return module
	case k.by == sites.ByFile:
		return path.Base(l.Frames[frame].File)
	case frame < 0 && module != "":
		return fmt.Sprintf("%s+0x%x", module, l.Offset)
	case frame < 0:
		return k.symbols.Label(l)
	}
	return k.functions.Key(l, frame)
}

// describeLine returns the key of a line of a script. Its module is its file.
func (k *Keys) describeLine(f *symbolize.Frame) string {
	file := symbolize.FileName(f.File)
	if k.by == sites.ByModule || k.by == sites.ByFile {
		return file
	}
	return fmt.Sprintf("%s\x00%s\x00%d", f.Function, file, f.Line)
}

// Functions computes the keys of functions. It is not safe for concurrent use.
type Functions struct {
	symbols *symbolize.Symbols
	names   identity.Names
}

// NewFunctions returns the keys of the functions of a program.
func NewFunctions(s *symbolize.Symbols) *Functions {
	return &Functions{symbols: s}
}

// Key returns the key of the function of a location's frame. It is the same in every build and
// process.
func (f *Functions) Key(l *symbolize.Location, frame int) string {
	module := ""
	if m := f.symbols.Module(l); m != nil {
		module = m.Name()
	}
	function := &l.Frames[frame]
	return module + "\x00" + f.names.Normalize(function.Function) + "\x00" + path.Base(function.File)
}

// Index numbers keys in order of first appearance. The zero value is empty.
type Index struct{ numbers map[string]int }

// Number returns the number of a key, and whether it is new.
func (x *Index) Number(key string) (n int, added bool) {
	if n, ok := x.numbers[key]; ok {
		return n, false
	}
	if x.numbers == nil {
		x.numbers = map[string]int{}
	}
	n = len(x.numbers)
	x.numbers[key] = n
	return n, true
}
