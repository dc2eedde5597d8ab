package dwarf

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/lines"
)

// Answer is a function at an address. Of several at an address, the innermost comes first, and each
// but the last is inlined into the next.
type Answer struct {
	Name    string // DW_AT_name: unqualified
	Linkage string // DW_AT_linkage_name: mangled, or "" if there is none
	File    string
	Line    int
	Column  int
	// StartLine is the line of the function's declaration.
	StartLine int
	Inlined   bool

	// home and off locate the entry that has the name, for QualifiedName.
	home *unit
	off  uint64
}

// Lookup calls found for each of the sorted, unique addresses with a known function or line, in no
// particular order. With several workers, it calls found from several goroutines at once. A frame
// without a function has only a position. The frames are valid until found returns.
//
// The error is the first one that may have caused a missing answer. The other answers are
// correct.
func (d *Data) Lookup(addrs []uint64, found func(addr uint64, frames []Answer)) error {
	d.renewBudget()
	d.budget.frames.Store(int64(framesFloor + framesTimes*len(addrs)))
	left, fault := d.lookupRanged(addrs, found)
	for _, u := range d.unranged {
		if len(left) == 0 {
			break
		}
		answered, err := u.lookup(left, false, found)
		if fault == nil {
			fault = err
		}
		left = slices.DeleteFunc(left, func(a uint64) bool { return answered[a] })
	}
	if fault == nil && len(d.Faults) > 0 {
		fault = d.Faults[0]
	}
	return fault
}

// lookupRanged looks up the addresses in the ranges of units. It returns the other addresses.
func (d *Data) lookupRanged(addrs []uint64, found func(uint64, []Answer)) (left []uint64, fault error) {
	wanted := map[*unit][]uint64{}
	var order []*unit
	for _, a := range addrs {
		u := d.index.find(a)
		if u == nil {
			left = append(left, a)
			continue
		}
		if wanted[u] == nil {
			order = append(order, u)
		}
		wanted[u] = append(wanted[u], a)
	}
	return left, d.each(order, func(u *unit) error {
		_, err := u.lookup(wanted[u], true, found)
		return err
	})
}

// each calls f for each unit, concurrently if there are several workers. It returns the first error
// in the order of the units. Skeleton units are not searched concurrently, because several of them
// may share the file with their split units.
func (d *Data) each(units []*unit, f func(*unit) error) error {
	errs := make([]error, len(units))
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(units)); i = next.Add(1) - 1 {
			errs[i] = f(units[i])
		}
	}
	var wg sync.WaitGroup
	var faults []error
	if d.split == nil || !slices.ContainsFunc(units, func(u *unit) bool { return u.dwoName != "" }) {
		faults = make([]error, max(0, min(d.workers, len(units))-1))
	}
	for i := range faults {
		wg.Go(func() { faults[i] = d.guarded(work) })
	}
	work()
	wg.Wait()
	return cmp.Or(slices.Concat(errs, faults)...)
}

// guarded calls work within Options.Guard.
func (d *Data) guarded(work func()) error {
	if d.guard == nil {
		work()
		return nil
	}
	return d.guard(func() error {
		work()
		return nil
	})
}

// lookup calls found for the sorted addresses that the unit holds, and returns them. owned means
// that the ranges of the unit hold all the addresses, so that an address with only a line is in the
// unit.
func (u *unit) lookup(addrs []uint64, owned bool, found func(uint64, []Answer)) (map[uint64]bool, error) {
	code := u.splitUnit()
	functions, fault := code.functions(addrs)
	var table *lines.Table
	rows := make([]lines.Row, len(addrs))
	if u.hasLine {
		var err error
		if table, err = u.lineTable(); err == nil {
			rows, err = table.Rows(addrs)
		}
		if fault == nil {
			fault = err
		}
	}
	answered := map[uint64]bool{}
	var buf []Answer
	for i, a := range addrs {
		fn, chain := functions.at(i)
		if fn == nil && (!owned || !rows[i].OK) {
			continue
		}
		answered[a] = true
		if !spend(&u.data.budget.frames, len(chain)) {
			chain, fault = nil, cmp.Or(fault, errManyFrames)
		}
		buf = frames(buf[:0], fn, chain, rows[i], table)
		found(a, buf)
	}
	return answered, fault
}

// errManyFrames is the error if the budget for frames is used up.
var errManyFrames = formatError(".debug_info", 0, "calls are inlined into each other too deep, at too many addresses")

// splitUnit returns the unit with the entries: for a skeleton unit, the split unit in its .dwo
// file, if the file is found (DWARF 5 section 3.1.2).
func (u *unit) splitUnit() *unit {
	if u.dwoName == "" || u.data.split == nil {
		return u
	}
	split := u.data.split(u.dwoName, u.compDir, u.dwoID)
	if split == nil {
		return u
	}
	for _, s := range split.units {
		if s.dwoID == u.dwoID && s.isCode() {
			s.Join(&u.Unit)
			s.data.renewBudget()
			return s
		}
	}
	return u
}

// frames appends the frames at an address, innermost first. The innermost frame has the position in
// the line table, a caller has the position of its call.
func frames(out []Answer, fn *function, chain []*inline, r lines.Row, table *lines.Table) []Answer {
	pos := position(table, r)
	if fn == nil {
		return append(out, pos)
	}
	for _, in := range chain {
		out = append(out, pos.named(in.name, true))
		pos = position(table, lines.Row{File: in.callFile, Line: in.callLine, Column: in.callColumn, OK: true})
	}
	return append(out, pos.named(fn.name, false))
}

func position(table *lines.Table, r lines.Row) Answer {
	if table == nil || !r.OK {
		return Answer{}
	}
	return Answer{File: table.FileName(r.File), Line: clampInt(r.Line), Column: clampInt(r.Column)}
}

func (f Answer) named(n funcName, inlined bool) Answer {
	f.Name, f.Linkage, f.StartLine, f.Inlined = n.name, n.linkage, clampInt(n.line), inlined
	f.home, f.off = n.home, n.off
	return f
}

func clampInt(v uint64) int { return int(min(v, 1<<31-1)) }
