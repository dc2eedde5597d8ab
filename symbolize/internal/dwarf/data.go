package dwarf

import (
	"cmp"
	"slices"
)

// Data is the debug information of one file. It is not safe for concurrent use, but [Data.Lookup] is concurrent within.
type Data struct {
	sec     Sections
	alt     *Data // dwz's supplementary file, or nil
	split   func(dwoName, compDir string, id uint64) *Data
	repeat  bool // see Options.RepeatDir
	units   []*unit
	abbrevs map[abbrevKey]*abbrevTable
	names   nameMemo
	workers int
	guard   func(func() error) error
	index   rangeIndex
	budget  budget
	// unranged are units whose root entry does not say which addresses they hold.
	unranged []*unit
	// Faults are the units that could not be used, and why.
	Faults []error
}

// Options are the files that complete one file's debug information.
type Options struct {
	// Alt is the supplementary file that DW_FORM_GNU_ref_alt and the like refer to.
	Alt *Data
	// Split finds the split unit of a skeleton unit, or returns nil.
	Split func(dwoName, compDir string, id uint64) *Data
	// RepeatDir joins a relative compilation directory to the line table's directory 0, although the latter repeats
	// it (DWARF 5 section 6.2.4): ./stdlib/./stdlib/abort.c, as llvm-symbolizer and both addr2lines print it.
	RepeatDir bool
	// Workers is the number of units that are looked through at once; 0 is one.
	Workers int
	// Guard runs the work of each further goroutine that reads the sections; nil calls it.
	Guard func(func() error) error
}

// New reads the unit headers. Faulty units are reported in Data.Faults; what precedes
// the first broken header is used.
func New(sec Sections, o Options) *Data {
	d := &Data{sec: sec, alt: o.Alt, split: o.Split, repeat: o.RepeatDir, workers: o.Workers, guard: o.Guard, abbrevs: map[abbrevKey]*abbrevTable{}}
	d.renewBudget()
	d.budget.abbrevs.Store(int64(budgetFloor + budgetTimes*len(sec.Abbrev)))
	if err := d.parseUnits(); err != nil {
		d.Faults = append(d.Faults, err)
	}
	if err := d.readAranges(); err != nil {
		d.Faults = append(d.Faults, err)
	}
	if d.budget.ranges.Load() < 0 {
		d.Faults = append(d.Faults, errSharedRanges)
	}
	for _, u := range d.units {
		switch {
		case !u.isCode():
		case u.hasRanges:
			d.index.add(u)
		default:
			d.unranged = append(d.unranged, u)
		}
	}
	d.index.sort()
	return d
}

// unitAt finds the unit that holds an offset of .debug_info.
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

// rangeIndex finds the unit that holds an address.
type rangeIndex struct {
	ranges []unitRange // sorted by start
	// highest is a binary tree over the ranges as a flat array: node i has the children 2i
	// and 2i+1, the leaf of ranges[k] is node leaves+k, and each node is the highest end below it.
	// With it the last range that reaches an address is found in log n steps, however
	// far back it starts.
	highest []uint64
	leaves  int // a power of two
}

type unitRange struct {
	addrRange
	unit *unit
}

func (x *rangeIndex) add(u *unit) {
	for _, r := range u.ranges {
		x.ranges = append(x.ranges, unitRange{r, u})
	}
}

// sort makes the index ready, after the last add.
func (x *rangeIndex) sort() {
	slices.SortStableFunc(x.ranges, func(a, b unitRange) int { return cmp.Compare(a.lo, b.lo) })
	for x.leaves = 1; x.leaves < len(x.ranges); {
		x.leaves *= 2
	}
	x.highest = make([]uint64, 2*x.leaves)
	for i, r := range x.ranges {
		x.highest[x.leaves+i] = r.hi
	}
	for i := x.leaves - 1; i > 0; i-- {
		x.highest[i] = max(x.highest[2*i], x.highest[2*i+1])
	}
}

// find returns the unit that holds an address, nil for none. Of several it is the one whose range
// starts closest.
func (x *rangeIndex) find(a uint64) *unit {
	end, _ := slices.BinarySearchFunc(x.ranges, a, func(r unitRange, a uint64) int {
		if r.lo <= a {
			return -1
		}
		return 1
	})
	if end == 0 {
		return nil
	}
	if i := x.lastAbove(end-1, a); i >= 0 {
		return x.ranges[i].unit
	}
	return nil
}

// lastAbove is the last range up to an index that ends above an address, -1 for none.
func (x *rangeIndex) lastAbove(i int, a uint64) int {
	node := x.leaves + i
	for x.highest[node] <= a {
		for node%2 == 0 { // a left child: all before it lies below an ancestor's left sibling
			node /= 2
		}
		if node == 1 {
			return -1
		}
		node--
	}
	for node < x.leaves {
		if node *= 2; x.highest[node+1] > a {
			node++
		}
	}
	return node - x.leaves
}
