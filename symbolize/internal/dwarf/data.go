package dwarf

import (
	"cmp"
	"slices"
)

// Data is the debug information of one file. It is not safe for concurrent use.
type Data struct {
	sec     Sections
	alt     *Data // dwz's supplementary file, or nil
	split   func(dwoName, compDir string, id uint64) *Data
	units   []*unit
	abbrevs map[abbrevKey]*abbrevTable
	names   map[uint64]funcName // by offset in .debug_info
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
}

// New reads the unit headers. Faulty units are reported in Data.Faults; what precedes
// the first broken header is used.
func New(sec Sections, o Options) *Data {
	d := &Data{sec: sec, alt: o.Alt, split: o.Split, abbrevs: map[abbrevKey]*abbrevTable{}, names: map[uint64]funcName{}}
	d.renewBudget()
	d.budget.abbrevs = budgetFloor + budgetTimes*len(sec.Abbrev)
	if err := d.parseUnits(); err != nil {
		d.Faults = append(d.Faults, err)
	}
	if d.budget.ranges < 0 {
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

// rangeIndex finds the units that hold an address.
type rangeIndex struct {
	ranges []unitRange
	reach  []uint64 // highest end of the ranges up to each one
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

func (x *rangeIndex) sort() {
	slices.SortStableFunc(x.ranges, func(a, b unitRange) int { return cmp.Compare(a.lo, b.lo) })
	x.reach = make([]uint64, len(x.ranges))
	var reach uint64
	for i, r := range x.ranges {
		reach = max(reach, r.hi)
		x.reach[i] = reach
	}
}

// maxCandidates bounds the units tried for one address in crafted files.
const maxCandidates = 16

// find returns the units that hold an address, the one that starts closest first.
func (x *rangeIndex) find(a uint64) []*unit {
	end, _ := slices.BinarySearchFunc(x.ranges, a, func(r unitRange, a uint64) int {
		if r.lo <= a {
			return -1
		}
		return 1
	})
	var out []*unit
	for i := end - 1; i >= 0 && x.reach[i] > a && len(out) < maxCandidates; i-- {
		if x.ranges[i].hi > a && !slices.Contains(out, x.ranges[i].unit) {
			out = append(out, x.ranges[i].unit)
		}
	}
	return out
}
