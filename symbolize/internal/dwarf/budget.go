package dwarf

import "sync/atomic"

// budget limits the work that crafted sections can cause. Thousands of entries may refer to one
// range list, and thousands of units to one line program or to overlapping abbreviation tables.
// Compilers rarely share them, so a small multiple of the section's size is enough for real files.
type budget struct{ lines, abbrevs, names, frames, types atomic.Int64 }

const (
	// budgetTimes is the number of times that one lookup may read a section.
	budgetTimes = 8
	// budgetFloor is the minimum budget, for small sections.
	budgetFloor = 1 << 16
	// namesFloor is the minimum budget for names. Entries of all programs share names. A large C++
	// program reads a sixth of its .debug_str.
	namesFloor = 1 << 26
	// typesFloor is the minimum number of entries that are read for types.
	typesFloor = 1 << 20
	// framesFloor and framesTimes limit the frames at all addresses of a lookup. Real code has
	// about 20 frames at an address; only crafted input has thousands.
	framesFloor = 1 << 20
	framesTimes = 64
)

// limit returns the budget for a section of a size.
func limit(size int) int { return budgetFloor + budgetTimes*size }

func (d *Data) renewBudget() {
	d.sec.Renew(limit)
	d.budget.names.Store(int64(namesFloor + budgetTimes*(len(d.sec.Info)+len(d.sec.Str)+len(d.sec.LineStr))))
	d.budget.types.Store(int64(typesFloor + budgetTimes*len(d.sec.Info)))
	d.budget.lines.Store(int64(limit(len(d.sec.Line))))
}

// spend subtracts n from a part of the budget. It reports whether the budget allowed for n.
func spend(left *atomic.Int64, n int) bool { return left.Add(-int64(n)) >= 0 }
