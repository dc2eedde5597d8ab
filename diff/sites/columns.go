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
	Bytes, Objects, Alloc []int64
}

// Collector collects the columns of a series while it is read: pass its Visit in series.Options.
// The zero value is ready to use.
type Collector struct {
	stacks []rows // by StackID
}

// Visit adds a snapshot.
func (c *Collector) Visit(s *series.Snapshot) error {
	for i := range s.Samples {
		row := &s.Samples[i]
		for int(row.Stack) >= len(c.stacks) {
			c.stacks = append(c.stacks, rows{})
		}
		c.stacks[row.Stack].add(s.Index, s.Estimate(*row))
	}
	return nil
}

// InUse returns the bytes in use on a stack in one snapshot, an estimate; 0 where the snapshot does
// not show the stack.
func (c *Collector) InUse(id heapfile.StackID, snapshot int) int64 {
	if int(id) >= len(c.stacks) {
		return 0
	}
	return c.stacks[id].inUse(snapshot)
}

// Columns are the columns of the sites of a series. They are made when they are asked for: all of
// them take many times the memory of the differences from snapshot to snapshot. The methods are
// safe for concurrent use.
type Columns struct {
	heads  []*series.Head
	stacks []rows // by StackID
	// of are the stacks of the sites, in order, and ends where those of each site end.
	of   []heapfile.StackID
	ends []int
}

// Columns returns the columns of the sites. Those of stacks that are the same site are summed. A
// value that is absent is 0 in a complete snapshot, and [Hidden] in a truncated one. The collector
// must not be used to visit snapshots afterwards.
func (c *Collector) Columns(series *series.Series, symbols *symbolize.Symbols) *Columns {
	out := &Columns{series.Heads, c.stacks, make([]heapfile.StackID, len(c.stacks)), make([]int, symbols.Sites())}
	next := make([]int, symbols.Sites()+1)
	for id := range c.stacks {
		next[symbols.Site(heapfile.StackID(id))+1]++
	}
	for i := range out.ends {
		next[i+1] += next[i]
		out.ends[i] = next[i+1]
	}
	for id := range c.stacks {
		site := symbols.Site(heapfile.StackID(id))
		out.of[next[site]] = heapfile.StackID(id)
		next[site]++
	}
	return out
}

// Len returns the number of sites.
func (c *Columns) Len() int { return len(c.ends) }

// Sum returns the column of some sites together. A value is hidden if it is hidden for all of them.
// If some are visible, the hidden bytes of the others are fewer than those of the smallest visible
// row. Cumulative bytes have no such bound, but they never fall within a process image: where a
// site is hidden, they are interpolated between the snapshots that show it.
func (c *Columns) Sum(ids []symbolize.SiteID) Column {
	out := newColumn(len(c.heads))
	if len(ids) == 1 {
		c.read(ids[0], &out)
		return out
	}
	member := newColumn(len(c.heads))
	var partial [][]int64 // cumulative bytes, some of which are hidden
	for _, id := range ids {
		c.read(id, &member)
		out.include(&member)
		if slices.Contains(member.Alloc, Hidden) {
			partial = append(partial, slices.Clone(member.Alloc))
		}
	}
	out.interpolate(partial, c.heads)
	return out
}

// read sets a column to that of a site.
func (c *Columns) read(id symbolize.SiteID, column *Column) {
	begin := 0
	if id > 0 {
		begin = c.ends[id-1]
	}
	column.hide()
	for _, stack := range c.of[begin:c.ends[id]] {
		c.stacks[stack].addTo(column)
	}
	column.fill(c.heads)
}

// newColumn returns the column of a site that no snapshot shows.
func newColumn(n int) Column {
	c := Column{make([]int64, n), make([]int64, n), make([]int64, n)}
	c.hide()
	return c
}

// hide hides all values.
func (c *Column) hide() {
	for _, v := range [...][]int64{c.Bytes, c.Objects, c.Alloc} {
		for i := range v {
			v[i] = Hidden
		}
	}
}

// add adds counts to the values of a snapshot.
func (c *Column) add(i int, bytes, objects, alloc int64) {
	if c.Bytes[i] == Hidden {
		c.Bytes[i], c.Objects[i], c.Alloc[i] = bytes, objects, alloc
		return
	}
	c.Bytes[i] += bytes
	c.Objects[i] += objects
	c.Alloc[i] += alloc
}

// include adds another column's visible values.
func (c *Column) include(o *Column) {
	for i, b := range o.Bytes {
		if b != Hidden {
			c.add(i, b, o.Objects[i], o.Alloc[i])
		}
	}
}

// interpolate adds the hidden cumulative bytes of the members of a sum, where others are visible.
func (c *Column) interpolate(members [][]int64, heads []*series.Head) {
	for _, alloc := range members {
		for i, a := range interpolated(alloc, heads) {
			if alloc[i] == Hidden && c.Alloc[i] != Hidden {
				c.Alloc[i] += a
			}
		}
	}
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
