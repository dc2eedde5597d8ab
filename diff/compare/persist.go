package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/group"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Persistence is what was allocated between a first and a second snapshot of one process and is
// still in use in a third: what a request or a job did not free after it ended (gperftools#1375).
type Persistence struct {
	// Moments are the three snapshots.
	Moments [3]*Side
	// Rows are ranked by the bytes that stayed, most first.
	Rows []PersistRow
	// Stayed and Certain are the sums over the rows.
	Stayed, Certain int64
}

// PersistRow is one group of sites.
type PersistRow struct {
	// At are the counts in the three snapshots.
	At [3]heapfile.Counts
	// Stayed is min(second, third) − first, site by site, in bytes and objects. It is what came and
	// stayed, as far as sums show it: other allocations of the site may have replaced some that
	// were freed.
	Stayed, StayedObjects int64
	// Certain is the part of Stayed, in bytes, that must be the same objects, even if all that the
	// site freed after the second snapshot had been among these. It is -1 if it is unknown: without
	// cumulative counts, in samples, and where a snapshot is truncated.
	Certain int64
	// AtMost reports whether Stayed is an upper bound, because the first snapshot is truncated and
	// may hide some of it.
	AtMost bool
	// Sites belong to the row, the one with most bytes that stayed first.
	Sites []symbolize.SiteID
}

// ErrNotOneProcess is returned for snapshots that cannot be compared object by object.
var ErrNotOneProcess = errors.New("they are not of one process image")

// Persist compares three snapshots of one process, in order.
func Persist(moments [3]*Side, o Options) (*Persistence, error) {
	if err := checkOrder(moments); err != nil {
		return nil, err
	}
	p := &Persistence{Moments: moments}
	symbols := moments[0].Symbols
	keys := group.NewKeys(symbols, class.NewBlamer(symbols, o.Rules), o.GroupBy)
	var index group.Index
	stayed := map[symbolize.SiteID]int64{}
	for _, site := range moments[1].sites {
		row, ok := persisted(moments, site)
		if !ok {
			continue
		}
		stayed[site] = row.Stayed
		i, added := index.Number(keys.Of(site))
		if added {
			p.Rows = append(p.Rows, row)
		} else {
			p.Rows[i] = p.Rows[i].add(row)
		}
	}
	p.sum()
	p.rank(stayed)
	return p, nil
}

// checkOrder returns an error unless the snapshots are of one process, each later than the one
// before.
func checkOrder(moments [3]*Side) error {
	for i, m := range moments[1:] {
		if m.Series != moments[0].Series || m.Head.Image != moments[0].Head.Image {
			return fmt.Errorf("%s and %s: %w", moments[0].Head.Path, m.Head.Path, ErrNotOneProcess)
		}
		if m.Head.Index <= moments[i].Head.Index {
			return fmt.Errorf("%s is not later than %s", m.Head.Path, moments[i].Head.Path)
		}
	}
	return nil
}

// persisted returns the memory of one site that stayed, and false if none did.
func persisted(moments [3]*Side, site symbolize.SiteID) (PersistRow, bool) {
	r := PersistRow{Sites: []symbolize.SiteID{site}, Certain: -1}
	exact := true
	for i, m := range moments {
		r.At[i] = m.Counts(site)
		exact = exact && m.exact()
	}
	before, during, after := r.At[0], r.At[1], r.At[2]
	r.Stayed = min(during.InuseBytes, after.InuseBytes) - before.InuseBytes
	r.StayedObjects = max(0, min(during.InuseObjects, after.InuseObjects)-before.InuseObjects)
	_, seen := moments[0].index[site]
	r.AtMost = !seen && moments[0].Head.Completeness.AbsentMax.InuseBytes > 0
	if exact {
		freed := (after.AllocBytes - after.InuseBytes) - (during.AllocBytes - during.InuseBytes)
		r.Certain = max(0, min(r.Stayed, during.InuseBytes-before.InuseBytes-max(0, freed)))
	}
	return r, r.Stayed > 0
}

// add returns the sum of two rows. Certain is unknown if it is unknown in either row.
func (r PersistRow) add(o PersistRow) PersistRow {
	for i := range r.At {
		r.At[i] = r.At[i].Add(o.At[i])
	}
	r.Stayed += o.Stayed
	r.StayedObjects += o.StayedObjects
	r.AtMost = r.AtMost || o.AtMost
	if r.Certain < 0 || o.Certain < 0 {
		r.Certain = -1
	} else {
		r.Certain += o.Certain
	}
	r.Sites = append(r.Sites, o.Sites...)
	return r
}

// sum adds up the rows.
func (p *Persistence) sum() {
	for i := range p.Rows {
		p.Stayed += p.Rows[i].Stayed
		p.Certain += max(0, p.Rows[i].Certain)
	}
}

// rank orders the rows, and their sites, by the bytes that stayed.
func (p *Persistence) rank(stayed map[symbolize.SiteID]int64) {
	for i := range p.Rows {
		slices.SortStableFunc(p.Rows[i].Sites, func(a, b symbolize.SiteID) int { return cmp.Compare(stayed[b], stayed[a]) })
	}
	slices.SortStableFunc(p.Rows, func(a, b PersistRow) int { return cmp.Compare(b.Stayed, a.Stayed) })
}
