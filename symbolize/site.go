package symbolize

import (
	"encoding/binary"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// SiteID identifies an allocation site: a stack of places in files instead of addresses, which is
// the same after a restart of the process. Sites are numbered in the order of their first stack.
type SiteID uint32

// siteTable maps stacks to sites.
type siteTable struct {
	of    []SiteID           // by StackID
	first []heapfile.StackID // by SiteID
}

// Sites returns the number of sites.
func (s *Symbols) Sites() int { return len(s.sites.first) }

// Site returns the site of a stack.
func (s *Symbols) Site(id heapfile.StackID) SiteID { return s.sites.of[id] }

// SiteStack returns the first stack of a site.
func (s *Symbols) SiteStack(id SiteID) heapfile.StackID { return s.sites.first[id] }

// placeKey identifies a location in all process images.
type placeKey struct {
	module ModuleID
	offset uint64 // in the module, or the address if there is no module
	space  series.Space
	name   string // of generated code, which has no module
}

func newSiteTable(s *Symbols) siteTable {
	places := map[placeKey]uint32{}
	numbers := make([][]uint32, len(s.Locations))
	for i := range s.Locations {
		for _, key := range keysOf(&s.Locations[i]) {
			n, ok := places[key]
			if !ok {
				n = uint32(len(places))
				places[key] = n
			}
			numbers[i] = append(numbers[i], n)
		}
	}
	t := siteTable{of: make([]SiteID, len(s.ends))}
	known := map[string]SiteID{}
	var key []byte
	for id := range s.ends {
		key = key[:0]
		for _, l := range s.Stack(heapfile.StackID(id)) {
			for _, n := range numbers[l] {
				key = binary.LittleEndian.AppendUint32(key, n)
			}
		}
		site, ok := known[string(key)]
		if !ok {
			site = SiteID(len(t.first))
			known[string(key)] = site
			t.first = append(t.first, heapfile.StackID(id))
		}
		t.of[id] = site
	}
	return t
}

// keysOf returns the place of a location. Generated code has one for each function, so that a stack is the same whether
// a function was compiled into its caller or not.
func keysOf(l *Location) (keys []placeKey) {
	switch {
	case l.MadeUp():
		return []placeKey{{module: NoModule, offset: uint64(l.Address)}}
	case l.Module != NoModule:
		return []placeKey{{module: l.Module, offset: l.Offset}}
	case l.Source == SourcePerfMap || l.Source == SourceJITDump || l.Source == SourceFrames:
		for _, f := range l.Frames {
			keys = append(keys, placeKey{module: NoModule, name: f.Function + "\x00" + f.File, offset: uint64(f.Line)})
		}
		return keys
	}
	return []placeKey{{module: NoModule, offset: uint64(l.Address), space: l.Space}}
}
