package symbolize

import (
	"regexp"

	"github.com/heaplapse/heaplapse/heapfile"
)

// Filter selects stacks by their functions, files and modules. A nil Filter keeps all.
type Filter struct {
	s             *Symbols
	focus, ignore *regexp.Regexp
	matches       map[LocationID]match
}

type match struct{ focus, ignore bool }

// NewFilter returns a Filter that keeps stacks with a frame that matches focus and without a frame
// that matches ignore. Either may be nil. A Filter is not safe for concurrent use.
func NewFilter(s *Symbols, focus, ignore *regexp.Regexp) *Filter {
	if focus == nil && ignore == nil {
		return nil
	}
	return &Filter{s: s, focus: focus, ignore: ignore, matches: map[LocationID]match{}}
}

// Keep reports whether the filter keeps a stack.
func (f *Filter) Keep(id heapfile.StackID) bool {
	if f == nil {
		return true
	}
	focused := f.focus == nil
	for _, l := range f.s.Stack(id) {
		m := f.match(l)
		if m.ignore {
			return false
		}
		focused = focused || m.focus
	}
	return focused
}

func (f *Filter) match(id LocationID) match {
	if m, ok := f.matches[id]; ok {
		return m
	}
	var m match
	for _, t := range f.s.Names(&f.s.Locations[id]) {
		m.focus = m.focus || (f.focus != nil && f.focus.MatchString(t))
		m.ignore = m.ignore || (f.ignore != nil && f.ignore.MatchString(t))
	}
	f.matches[id] = m
	return m
}
