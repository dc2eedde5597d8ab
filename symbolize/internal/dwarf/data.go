package dwarf

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/interval"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/values"
)

// Data is the debug information of one file. It is not safe for concurrent use. [Data.Lookup] uses
// several goroutines itself.
type Data struct {
	sec    values.File
	alt    *Data // dwz's supplementary file, or nil
	split  func(dwoName, compDir string, id uint64) *Data
	repeat bool // see Options.RepeatDir
	// variables is Options.Variables.
	variables bool
	// localEntries is the number of entries that Locals has read.
	localEntries int
	part         part
	parts        *[numParts]*Data // of the same file
	types        types
	units        []*unit
	abbrevs      map[abbrevKey]*encoding.Table
	names        nameMemo
	workers      int
	guard        func(func() error) error
	index        unitIndex
	budget       budget
	// unranged are the units whose root entries do not list the addresses that they hold.
	unranged []*unit
	// Faults are the errors of the units that could not be used.
	Faults []error
}

// Options provide the other files of the debug information, and limit the work.
type Options struct {
	// Alt is the supplementary file that DW_FORM_GNU_ref_alt and similar forms refer to.
	Alt *Data
	// Split returns the file with the split unit of a skeleton unit, or nil.
	Split func(dwoName, compDir string, id uint64) *Data
	// RepeatDir joins a relative compilation directory to directory 0 of the line table, although
	// the latter repeats it (DWARF 5 section 6.2.4). llvm-symbolizer and addr2line print such
	// paths: ./stdlib/./stdlib/abort.c.
	RepeatDir bool
	// Variables prepares for [Data.Variables]. Lookups of functions take longer then.
	Variables bool
	// Workers is the number of units that are searched concurrently; 0 means 1.
	Workers int
	// Guard, if not nil, calls the function of each additional goroutine that reads the sections.
	Guard func(func() error) error
}

// New reads the unit headers. Units up to the first malformed header are used; errors are in
// Data.Faults.
func New(sec Sections, o Options) *Data {
	d := newPart(sec, o, inInfo)
	d.addParts(o)
	return d
}

func newPart(sec Sections, o Options, p part) *Data {
	d := &Data{
		sec: values.File{Sections: sec}, alt: o.Alt, split: o.Split, repeat: o.RepeatDir, workers: o.Workers, guard: o.Guard,
		abbrevs: map[abbrevKey]*encoding.Table{}, variables: o.Variables, part: p,
	}
	d.parts = &[numParts]*Data{}
	d.parts[p] = d
	if o.Alt != nil {
		d.sec.AltStr = o.Alt.sec.Str
	}
	d.renewBudget()
	d.budget.abbrevs.Store(int64(limit(len(sec.Abbrev))))
	if err := d.parseUnits(); err != nil {
		d.Faults = append(d.Faults, err)
	}
	if err := d.readAranges(); err != nil {
		d.Faults = append(d.Faults, err)
	}
	if err := d.sec.Fault(); err != nil {
		d.Faults = append(d.Faults, err)
	}
	var ranged []*unit
	for _, u := range d.units {
		switch {
		case !u.isCode():
		case u.hasRanges:
			ranged = append(ranged, u)
		default:
			d.unranged = append(d.unranged, u)
		}
	}
	d.index = newUnitIndex(ranged)
	return d
}

// unitAt returns the unit that holds an offset of .debug_info, or nil.
func (d *Data) unitAt(off uint64) *unit {
	i, ok := slices.BinarySearchFunc(d.units, off, func(u *unit, off uint64) int { return cmp.Compare(u.off, off) })
	if !ok {
		i--
	}
	if i < 0 || off >= d.units[i].end {
		return nil
	}
	return d.units[i]
}

// unitIndex finds the unit that holds an address.
type unitIndex struct {
	units []*unit // by position in index
	index interval.Index
}

type unitRange struct {
	interval.Range
	unit *unit
}

// newUnitIndex returns an index of units by their ranges. Where ranges overlap, the one that starts
// last wins.
func newUnitIndex(units []*unit) unitIndex {
	var all []unitRange
	for _, u := range units {
		for _, r := range u.ranges {
			all = append(all, unitRange{r, u})
		}
	}
	slices.SortStableFunc(all, func(a, b unitRange) int { return cmp.Compare(a.Lo, b.Lo) })
	x := unitIndex{units: make([]*unit, len(all))}
	ranges := make([]interval.Range, len(all))
	for i, r := range all {
		x.units[i], ranges[i] = r.unit, r.Range
	}
	x.index = interval.New(ranges)
	return x
}

// find returns the unit that holds an address, or nil.
func (x *unitIndex) find(a uint64) *unit {
	i, ok := x.index.Find(a)
	if !ok {
		return nil
	}
	return x.units[i]
}
