package sites

import (
	"fmt"
	"path"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// GroupBy decides which stacks are one row.
type GroupBy string

// Groupings. All but the first are by the frame to blame.
const (
	ByStack    GroupBy = "stack"
	ByFunction GroupBy = "function"
	ByFile     GroupBy = "file"
	ByModule   GroupBy = "module"
)

// GroupBys are all groupings.
var GroupBys = []GroupBy{ByFunction, ByStack, ByFile, ByModule}

// Grouper gives sites the key of their group. It is not safe for concurrent use.
type Grouper struct {
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	by      GroupBy
	keys    map[frameKey]string
}

type frameKey struct {
	location symbolize.LocationID
	frame    int
}

func NewGrouper(s *symbolize.Symbols, blamer *class.Blamer, by GroupBy) *Grouper {
	if by == "" {
		by = ByFunction
	}
	return &Grouper{symbols: s, blamer: blamer, by: by, keys: map[frameKey]string{}}
}

// Key is the same for sites of one group, in every build and process.
func (g *Grouper) Key(site symbolize.SiteID) string {
	if g.by == ByStack {
		return fmt.Sprint(site)
	}
	stack := g.symbols.Stack(g.symbols.SiteStack(site))
	ref, ok := g.blamer.Blame(stack)
	if !ok {
		return ""
	}
	k := frameKey{stack[ref.Position], ref.Frame}
	if key, ok := g.keys[k]; ok {
		return key
	}
	key := g.describe(&g.symbols.Locations[k.location], ref.Frame)
	g.keys[k] = key
	return key
}

func (g *Grouper) describe(l *symbolize.Location, frame int) string {
	module := ""
	if m := g.symbols.Module(l); m != nil {
		module = m.Name() // directories differ between machines and builds
	}
	if g.by == ByModule {
		return module
	}
	if g.by == ByFile {
		if frame < 0 || l.Frames[frame].File == "" {
			return module
		}
		return path.Base(l.Frames[frame].File)
	}
	if frame < 0 {
		return g.symbols.Label(l)
	}
	f := l.Frames[frame]
	return module + "\x00" + identity.Normalize(f.Function) + "\x00" + path.Base(f.File)
}
