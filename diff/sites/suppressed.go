package sites

import (
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/symbolize"
)

// suppressor finds the sites that a list of suppressions names. It is not safe for concurrent use.
type suppressor struct {
	symbols *symbolize.Symbols
	list    *suppress.List
	known   map[symbolize.LocationID]*suppress.Entry
}

func NewSuppressor(s *symbolize.Symbols, list *suppress.List) *suppressor {
	return &suppressor{s, list, map[symbolize.LocationID]*suppress.Entry{}}
}

// Entry is the suppression of a site, nil for none.
func (s *suppressor) Entry(site symbolize.SiteID) *suppress.Entry {
	if s.list == nil {
		return nil
	}
	for _, id := range s.symbols.Stack(s.symbols.SiteStack(site)) {
		e, ok := s.known[id]
		if !ok {
			e = s.list.Find(s.symbols.Names(&s.symbols.Locations[id])) // what LeakSanitizer matches, too
			s.known[id] = e
		}
		if e != nil {
			return e
		}
	}
	return nil
}
