package dwarf

import "sync/atomic"

// budget bounds the work that crafted sections can cause by being read again and
// again: a thousand entries may share one range list, a thousand units one line
// program or overlapping abbreviation tables. Compilers share hardly any of it, so a small multiple
// of a section's size is plenty.
type budget struct{ ranges, lines, abbrevs, names, frames atomic.Int64 }

const (
	// budgetTimes is how often a section may be read during one lookup.
	budgetTimes = 8
	// budgetFloor is for small sections.
	budgetFloor = 1 << 16
	// namesFloor is for names, which many entries share in all programs. (A large one of C++ needs a sixth of its .debug_str.)
	namesFloor = 1 << 26
	// framesFloor and framesTimes are for the frames at all addresses of a lookup: real code has some 20 at an address, and
	// calls inlined into each other thousands deep are made by hand.
	framesFloor = 1 << 20
	framesTimes = 64
	// spendAtOnce is how many steps are paid for together: goroutines share the budget.
	spendAtOnce = 1 << 10
)

func (d *Data) renewBudget() {
	d.budget.ranges.Store(int64(budgetFloor + budgetTimes*(len(d.sec.Ranges)+len(d.sec.RngLists))))
	d.budget.names.Store(int64(namesFloor + budgetTimes*(len(d.sec.Info)+len(d.sec.Str)+len(d.sec.LineStr))))
	d.budget.lines.Store(int64(budgetFloor + budgetTimes*len(d.sec.Line)))
}

// spend takes from a part of the budget; false if nothing is left.
func spend(left *atomic.Int64, n int) bool { return left.Add(-int64(n)) >= 0 }
