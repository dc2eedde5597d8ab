package dwarf

import "sync/atomic"

// budget bounds the work that crafted sections can cause by being read again and
// again: a thousand entries may share one range list, a thousand units one line
// program or overlapping abbreviation tables. Compilers share hardly any of it, so a small multiple
// of a section's size is plenty.
type budget struct{ ranges, lines, abbrevs atomic.Int64 }

const (
	// budgetTimes is how often a section may be read during one lookup.
	budgetTimes = 8
	// budgetFloor is for small sections.
	budgetFloor = 1 << 16
	// spendAtOnce is how many steps are paid for together: goroutines share the budget.
	spendAtOnce = 1 << 10
)

func (d *Data) renewBudget() {
	d.budget.ranges.Store(int64(budgetFloor + budgetTimes*(len(d.sec.Ranges)+len(d.sec.RngLists))))
	d.budget.lines.Store(int64(budgetFloor + budgetTimes*len(d.sec.Line)))
}

// spend takes from a part of the budget; false if nothing is left.
func spend(left *atomic.Int64, n int) bool { return left.Add(-int64(n)) >= 0 }
