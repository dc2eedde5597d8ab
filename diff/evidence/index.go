package evidence

import (
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Index finds the records of a function. It is not safe for concurrent use.
type Index struct {
	Reports []*Report
	names   identity.Names
	// records are by the last part of the function's name.
	records map[string][]*Record
}

// NewIndex attributes each record of some reports to a function, as rules do; nil means the default
// ones.
func NewIndex(reports []*Report, rules *class.Rules) *Index {
	x := &Index{Reports: reports, records: map[string][]*Record{}}
	for _, report := range reports {
		for i := range report.Records {
			r := &report.Records[i]
			r.Blame = blame(r.Frames, rules)
			if f := r.function(); f != nil {
				key := lastPart(x.name(f.Function))
				x.records[key] = append(x.records[key], r)
			}
		}
	}
	return x
}

// blame returns the index of the frame that the memory is attributed to, -1 for none.
func blame(frames []Frame, rules *class.Rules) int {
	s := symbolize.Symbols{}
	var stack []symbolize.LocationID
	var first []int // index of the first frame by position on the stack
	modules := map[string]symbolize.ModuleID{}
	for i, f := range frames {
		if i == 0 || f.Address != frames[i-1].Address { // inlined functions have the address of their caller
			s.Locations = append(s.Locations, symbolize.Location{Module: moduleID(&s, modules, f.Module)})
			stack, first = append(stack, symbolize.LocationID(len(stack))), append(first, i)
		}
		if f.Function != "" {
			l := &s.Locations[len(s.Locations)-1]
			l.Frames = append(l.Frames, symbolize.Frame{Function: f.Function, File: f.File, Line: f.Line})
		}
	}
	ref, ok := class.NewBlamer(&s, rules).Blame(stack)
	if !ok {
		return -1
	}
	return first[ref.Position] + max(ref.Frame, 0)
}

// moduleID returns the module with a path, and adds it to s if it is new.
func moduleID(s *symbolize.Symbols, known map[string]symbolize.ModuleID, path string) symbolize.ModuleID {
	if path == "" {
		return symbolize.NoModule
	}
	id, ok := known[path]
	if !ok {
		id = symbolize.ModuleID(len(s.Modules))
		known[path] = id
		s.Modules = append(s.Modules, symbolize.Module{Path: path})
	}
	return id
}

// name is a function's name without what differs between builds and tools.
func (x *Index) name(function string) string {
	return identity.Untemplated(x.names.Normalize(function))
}

// lastPart is a name without its namespaces and classes.
func lastPart(name string) string { return name[strings.LastIndexByte(name, 0x3a)+1:] }

// At returns the records of the functions of some frames, the largest first. A nil Index has none.
func (x *Index) At(frames ...baseline.Frame) (found []*Record) {
	if x == nil {
		return nil
	}
	for i := range frames {
		f := &frames[i]
		name := x.name(f.Function)
		for _, r := range x.records[lastPart(name)] {
			if x.same(f, name, r.function()) && !slices.Contains(found, r) {
				found = append(found, r)
			}
		}
	}
	slices.SortStableFunc(found, compareRecords)
	return found
}

// same reports whether a frame is in the function of a record: in the same file and with the same
// name. The name of an inlined function may lack its namespaces; then the line must be the same,
// too.
func (x *Index) same(f *baseline.Frame, name string, g *Frame) bool {
	file, other := baseName(f.File), baseName(g.File)
	if file != "" && other != "" && file != other {
		return false
	}
	theirs := x.name(g.Function)
	if name == theirs {
		return true
	}
	unqualified := !strings.Contains(name, "::") || !strings.Contains(theirs, "::")
	return unqualified && file != "" && file == other && f.Line > 0 && f.Line == g.Line
}
