package sites

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Hidden marks a value that a truncated snapshot does not show.
const Hidden = math.MinInt64

// Column is the values of a site by snapshot, estimates where the snapshots are samples.
type Column struct {
	// from is the snapshot of the first values. Columns of sites begin at snapshot 0. Those of
	// stacks begin where the stack first appears: a process that restarts often has many stacks,
	// each of which few snapshots have.
	from                  int
	Bytes, Objects, Alloc []int64
}

// Collector collects the columns of a series while it is read: pass its Visit in series.Options.
// The zero value is ready to use.
type Collector struct {
	stacks []Column // by StackID; absent values are hidden until the snapshots' completeness is known
}

// Visit adds a snapshot.
func (c *Collector) Visit(s *series.Snapshot) error {
	for _, row := range s.Samples {
		for int(row.Stack) >= len(c.stacks) {
			c.stacks = append(c.stacks, Column{})
		}
		c.stacks[row.Stack].add(s.Index, s.Estimate(row))
	}
	return nil
}

// InUse returns the bytes in use on a stack in one snapshot, an estimate; 0 where the snapshot does
// not show the stack.
func (c *Collector) InUse(id heapfile.StackID, snapshot int) int64 {
	if int(id) >= len(c.stacks) {
		return 0
	}
	col := &c.stacks[id]
	if i := snapshot - col.from; i >= 0 && i < len(col.Bytes) && col.Bytes[i] != Hidden {
		return col.Bytes[i]
	}
	return 0
}

// Columns are the columns of the sites of a series.
type Columns struct {
	heads []*series.Head
	sites []Column // by SiteID
}

// Len returns the number of sites.
func (c *Columns) Len() int { return len(c.sites) }

// Sum returns the column of some sites together, which the caller must not change.
func (c *Columns) Sum(ids []symbolize.SiteID) Column {
	if len(ids) == 1 {
		return c.sites[ids[0]]
	}
	members := make([]Column, len(ids))
	for i, id := range ids {
		members[i] = c.sites[id]
	}
	return sum(members, c.heads)
}

// Columns returns the columns of the sites. It sums the stacks that are the same site, and decides what absent values
// mean: 0 in a complete snapshot, Hidden in a truncated one.
func (c *Collector) Columns(series *series.Series, symbols *symbolize.Symbols) *Columns {
	n := len(series.Heads)
	out := make([]Column, symbols.Sites())
	stacks := make([]int, len(out))
	for id := range c.stacks {
		site := symbols.Site(heapfile.StackID(id))
		stacks[site]++
		switch {
		case stacks[site] == 1 && c.stacks[id].from == 0: // most sites have one stack, whose column is not copied
			out[site] = c.stacks[id]
			continue
		case stacks[site] == 2:
			out[site] = out[site].clone()
		}
		out[site].include(c.stacks[id], n)
	}
	for i := range out {
		out[i].pad(n)
		out[i].fill(series.Heads)
	}
	return &Columns{series.Heads, out}
}

// sum adds the columns of a group. A value is hidden if it is hidden for all members. If some
// members are visible, the hidden bytes of the others are fewer than those of the smallest visible
// row. Cumulative bytes have no such bound, but they never fall within a process image: where a
// member is hidden, they are interpolated between the snapshots that show it.
func sum(members []Column, heads []*series.Head) Column {
	var out Column
	out.pad(len(heads))
	for _, m := range members {
		out.include(m, len(heads))
	}
	for _, m := range members {
		for i, a := range interpolated(m.Alloc, heads) {
			if m.Alloc[i] == Hidden && out.Alloc[i] != Hidden {
				out.Alloc[i] += a
			}
		}
	}
	return out
}

// interpolated returns cumulative values, with the hidden ones estimated from the visible ones of
// the same process image: none at its start, evenly more from one to the next, none after the last.
func interpolated(alloc []int64, heads []*series.Head) []int64 {
	if !slices.Contains(alloc, Hidden) {
		return alloc
	}
	out := slices.Clone(alloc)
	from, before := 0, int64(0) // the last known value
	for i := range out {
		if i > 0 && heads[i].Image != heads[i-1].Image {
			from, before = i, 0
		}
		if out[i] == Hidden {
			out[i] = before
			continue
		}
		for k := from + 1; k < i; k++ {
			if alloc[k] == Hidden {
				out[k] = before + int64(float64(out[i]-before)*float64(k-from)/float64(i-from))
			}
		}
		from, before = i, out[i]
	}
	return out
}

// add adds counts to the values of a snapshot.
func (c *Column) add(index int, e heapfile.Counts) {
	if c.Bytes == nil {
		c.from = index
	}
	c.Bytes = addAt(c.Bytes, index-c.from, e.InuseBytes)
	c.Objects = addAt(c.Objects, index-c.from, e.InuseObjects)
	c.Alloc = addAt(c.Alloc, index-c.from, e.AllocBytes)
}

func addAt(v []int64, index int, x int64) []int64 {
	for len(v) <= index {
		v = append(v, Hidden)
	}
	if v[index] == Hidden {
		v[index] = 0
	}
	v[index] += x
	return v
}

func (c Column) clone() Column {
	return Column{c.from, slices.Clone(c.Bytes), slices.Clone(c.Objects), slices.Clone(c.Alloc)}
}

// include adds another column's visible values to a column from snapshot 0.
func (c *Column) include(o Column, n int) {
	c.pad(n)
	for i := range o.Bytes {
		if o.Bytes[i] != Hidden {
			c.add(o.from+i, heapfile.Counts{InuseBytes: o.Bytes[i], InuseObjects: o.Objects[i], AllocBytes: o.Alloc[i]})
		}
	}
}

// pad makes a column from snapshot 0 as long as the series.
func (c *Column) pad(n int) {
	for _, v := range []*[]int64{&c.Bytes, &c.Objects, &c.Alloc} {
		for len(*v) < n {
			*v = append(*v, Hidden)
		}
	}
}

// fill sets hidden values to 0 where the snapshot is complete, and estimates cumulative bytes where
// only those in use are known to be 0. Afterwards no cumulative bytes are hidden where those in use
// are known.
func (c *Column) fill(heads []*series.Head) {
	for i, h := range heads {
		bound := h.Completeness.AbsentMax
		if c.Bytes[i] != Hidden {
			continue
		}
		if bound.InuseBytes == 0 {
			c.Bytes[i], c.Objects[i] = 0, 0
		}
		if bound.AllocBytes == 0 {
			c.Alloc[i] = 0
		}
	}
	c.estimate(heads)
}

// estimate sets the hidden cumulative bytes of the snapshots that show the bytes in use. What a
// site has freed never falls within a process image. It is taken to rise evenly between the
// snapshots that show the site. Before the first of them it is as high as there, or as the snapshot
// allows: when the recording began, the process may have run for long.
func (c *Column) estimate(heads []*series.Head) {
	if !slices.Contains(c.Alloc, Hidden) {
		return
	}
	freed := make([]int64, len(c.Alloc))
	for i, a := range c.Alloc {
		if freed[i] = Hidden; a != Hidden && c.Bytes[i] != Hidden {
			freed[i] = a - c.Bytes[i]
		}
	}
	setLeading(freed, heads)
	least := int64(0)
	for i, f := range interpolated(freed, heads) {
		if i > 0 && heads[i].Image != heads[i-1].Image {
			least = 0
		}
		if c.Alloc[i] == Hidden && c.Bytes[i] != Hidden {
			c.Alloc[i] = max(least, c.Bytes[i]+f)
		}
		if c.Alloc[i] != Hidden {
			least = c.Alloc[i]
		}
	}
}

// setLeading sets the hidden values before the first known one of each process image to that one,
// or to the bound of the snapshot if that is less.
func setLeading(freed []int64, heads []*series.Head) {
	for first := 0; first < len(freed); {
		known, end := -1, first
		for ; end < len(freed) && heads[end].Image == heads[first].Image; end++ {
			if known < 0 && freed[end] != Hidden {
				known = end
			}
		}
		for i := first; i < known; i++ {
			freed[i] = min(freed[known], heads[i].Completeness.AbsentMax.AllocBytes)
		}
		first = end
	}
}
