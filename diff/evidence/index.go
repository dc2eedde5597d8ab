package evidence

import (
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Index finds the records of a function. It is not safe for concurrent use.
type Index struct {
	Reports []*Report
	keep    func(*Report) bool // nil keeps all
	names   identity.Names
	// records are by the last part of the function's name.
	records map[string][]named
}

// named is a record and the name of its function.
type named struct {
	*Record
	name string
}

// NewIndex attributes each record of some reports to a function, as rules do; nil means the default
// ones.
func NewIndex(reports []*Report, rules *class.Rules) *Index {
	x := &Index{Reports: reports, records: map[string][]named{}}
	for _, report := range reports {
		a := newAttribution(rules)
		for i := range report.Records {
			r := &report.Records[i]
			r.Blame = a.blame(r.Frames)
			if f := r.function(); f != nil {
				name := x.name(f.Function)
				x.records[lastPart(name)] = append(x.records[lastPart(name)], named{r, name})
			}
		}
	}
	return x
}

// Only returns an index that finds records of some reports only.
func (x *Index) Only(keep func(*Report) bool) *Index {
	some := *x
	some.keep = keep
	return &some
}

// attribution attributes the records of a report.
type attribution struct {
	symbols symbolize.Symbols
	modules map[string]symbolize.ModuleID
	blamer  *class.Blamer // of symbols; it remembers the classes of functions
}

func newAttribution(rules *class.Rules) *attribution {
	a := &attribution{modules: map[string]symbolize.ModuleID{}}
	a.blamer = class.NewBlamer(&a.symbols, rules)
	return a
}

// blame returns the index of the frame that memory is attributed to, -1 for none.
func (a *attribution) blame(frames []ReportFrame) int {
	var stack []symbolize.LocationID
	var first []int // index of the first frame by position on the stack
	for i, f := range frames {
		if i == 0 || f.Address != frames[i-1].Address { // inlined functions have the address of their caller
			stack, first = append(stack, a.location(f.Module)), append(first, i)
		}
		if f.Function != "" {
			l := &a.symbols.Locations[stack[len(stack)-1]]
			l.Frames = append(l.Frames, symbolize.Frame{Function: f.Function, File: f.File, Line: f.Line})
		}
	}
	ref, ok := a.blamer.Blame(stack)
	if !ok {
		return -1
	}
	return first[ref.Position] + max(ref.Frame, 0)
}

// location adds a location in a module.
func (a *attribution) location(module string) symbolize.LocationID {
	id := symbolize.NoModule
	if module != "" {
		var known bool
		if id, known = a.modules[module]; !known {
			id = symbolize.ModuleID(len(a.symbols.Modules))
			a.modules[module] = id
			a.symbols.Modules = append(a.symbols.Modules, symbolize.Module{Path: module})
		}
	}
	a.symbols.Locations = append(a.symbols.Locations, symbolize.Location{Module: id})
	return symbolize.LocationID(len(a.symbols.Locations) - 1)
}

// name is a function's name without what differs between builds and tools.
func (x *Index) name(function string) string {
	return identity.Untemplated(x.names.Normalize(function))
}

// lastPart is a name without its namespaces and classes.
func lastPart(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// At returns the records of the functions of some frames, the largest first. A nil Index has none.
func (x *Index) At(frames ...symbolize.Frame) (found []*Record) {
	if x == nil {
		return nil
	}
	seen := map[*Record]bool{}
	for i := range frames {
		f := &frames[i]
		name := x.name(f.Function)
		for _, r := range x.records[lastPart(name)] {
			if !seen[r.Record] && r.same(f, name) && (x.keep == nil || x.keep(r.Report)) {
				seen[r.Record] = true
				found = append(found, r.Record)
			}
		}
	}
	slices.SortStableFunc(found, compareRecords)
	return found
}

// same reports whether a frame is in the function of a record: in the same file and with the same
// name. The name of an inlined function may lack its namespaces; then the line must be the same,
// too.
func (r named) same(f *symbolize.Frame, name string) bool {
	g := r.function()
	file, other := baseName(f.File), baseName(g.File)
	if file != "" && other != "" && file != other {
		return false
	}
	if name == r.name {
		return true
	}
	unqualified := !strings.Contains(name, "::") || !strings.Contains(r.name, "::")
	return unqualified && file != "" && file == other && f.Line > 0 && f.Line == g.Line
}
