package group

import (
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Suppressor finds the sites that a list of suppressions names. It is not safe for concurrent use.
type Suppressor struct {
	symbols *symbolize.Symbols
	list    *suppress.List
	known   map[symbolize.LocationID]*suppress.Entry
}

// NewSuppressor returns a Suppressor. A nil list suppresses nothing.
func NewSuppressor(s *symbolize.Symbols, list *suppress.List) *Suppressor {
	return &Suppressor{s, list, map[symbolize.LocationID]*suppress.Entry{}}
}

// Entry returns the suppression of a site: that of the frame nearest to the leaf, or nil.
func (s *Suppressor) Entry(site symbolize.SiteID) *suppress.Entry {
	if s.list == nil {
		return nil
	}
	for _, id := range s.symbols.Stack(s.symbols.SiteStack(site)) {
		e, ok := s.known[id]
		if !ok {
			e = s.list.Find(s.symbols.Names(&s.symbols.Locations[id])) // the names that LeakSanitizer matches
			s.known[id] = e
		}
		if e != nil {
			return e
		}
	}
	return nil
}
