package dwarf

// budget bounds the work that crafted sections can cause by being read again and
// again: a thousand entries may share one range list, a thousand units one line
// program or overlapping abbreviation tables. Compilers share hardly any of it, so a small multiple
// of a section's size is plenty.
type budget struct{ ranges, lines, abbrevs int }

const (
	// budgetTimes is how often a section may be read during one lookup.
	budgetTimes = 8
	// budgetFloor is for small sections.
	budgetFloor = 1 << 16
)

func (d *Data) renewBudget() {
	d.budget.ranges = budgetFloor + budgetTimes*(len(d.sec.Ranges)+len(d.sec.RngLists))
	d.budget.lines = budgetFloor + budgetTimes*len(d.sec.Line)
}

// spend takes from a part of the budget; false if nothing is left.
func spend(left *int, n int) bool {
	*left -= n
	return *left >= 0
}
