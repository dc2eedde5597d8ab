package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Persistence is what came between a first and a second snapshot of one process and was still there in a
// third: what a request or a job left behind after it ended (gperftools#1375).
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
	// Stayed is min(second, third) − first, site by site, in bytes and objects: what came and is not gone again, as far as
	// sums can tell, for another allocation of the same site may have taken the place of one that was freed.
	Stayed, StayedObjects int64
	// Certain is the part of Stayed, in bytes, that must be the same objects: even if all that the site freed
	// after the second snapshot had been these. -1 where that cannot be known: without cumulative counts, in samples, and
	// where a snapshot is cut.
	Certain int64
	// AtMost: Stayed is a bound, for the first snapshot is cut and may hide some of it.
	AtMost bool
	// Sites belong to the row, the one with most that stayed first.
	Sites []symbolize.SiteID
}

// ErrNotOneProcess says that the three snapshots cannot be compared object by object.
var ErrNotOneProcess = errors.New("they are not of one process image")

// Persist compares three snapshots, of one series, in order.
func Persist(moments [3]*Side, o Options) (*Persistence, error) {
	for i, m := range moments[1:] {
		if m.Series != moments[0].Series || m.Head.Image != moments[0].Head.Image {
			return nil, fmt.Errorf("%s and %s: %w", moments[0].Head.Path, m.Head.Path, ErrNotOneProcess)
		}
		if m.Head.Index <= moments[i].Head.Index {
			return nil, fmt.Errorf("%s is not later than %s", m.Head.Path, moments[i].Head.Path)
		}
	}
	p := &Persistence{Moments: moments}
	grouper := sites.NewGrouper(moments[0].Symbols, class.NewBlamer(moments[0].Symbols, o.Rules), o.GroupBy)
	index := map[string]int{}
	stayed := map[symbolize.SiteID]int64{}
	for _, site := range moments[1].sites {
		row, ok := persisted(moments, site)
		if !ok {
			continue
		}
		stayed[site] = row.Stayed
		key := grouper.Key(site)
		i, known := index[key]
		if !known {
			i = len(p.Rows)
			index[key] = i
			p.Rows = append(p.Rows, PersistRow{})
		}
		p.Rows[i].include(row)
	}
	p.rank(stayed)
	return p, nil
}

// persisted is what one site left behind; false if nothing.
func persisted(moments [3]*Side, site symbolize.SiteID) (PersistRow, bool) {
	r := PersistRow{Sites: []symbolize.SiteID{site}, Certain: -1}
	certain := true
	for i, m := range moments {
		r.At[i] = m.Counts(site)
		certain = certain && m.exact()
	}
	r.Stayed = min(r.At[1].InuseBytes, r.At[2].InuseBytes) - r.At[0].InuseBytes
	r.StayedObjects = max(0, min(r.At[1].InuseObjects, r.At[2].InuseObjects)-r.At[0].InuseObjects)
	_, seen := moments[0].index[site]
	r.AtMost = !seen && moments[0].Head.Completeness.AbsentMax.InuseBytes > 0
	if certain {
		freed := (r.At[2].AllocBytes - r.At[2].InuseBytes) - (r.At[1].AllocBytes - r.At[1].InuseBytes)
		r.Certain = max(0, min(r.Stayed, r.At[1].InuseBytes-r.At[0].InuseBytes-max(0, freed)))
	}
	return r, r.Stayed > 0
}

// exact says that a snapshot shows all that was allocated, object by object.
func (s *Side) exact() bool {
	return s.Head.HasAlloc && !s.Head.IsEstimate() && s.Head.Completeness.AbsentMax == heapfile.Counts{}
}

func (r *PersistRow) include(o PersistRow) {
	for i := range r.At {
		r.At[i] = r.At[i].Add(o.At[i])
	}
	r.Stayed += o.Stayed
	r.StayedObjects += o.StayedObjects
	r.AtMost = r.AtMost || o.AtMost
	if o.Certain < 0 {
		r.Certain = -1
	} else {
		r.Certain += o.Certain
	}
	r.Sites = append(r.Sites, o.Sites...)
}

func (p *Persistence) rank(stayed map[symbolize.SiteID]int64) {
	for i := range p.Rows {
		r := &p.Rows[i]
		p.Stayed += r.Stayed
		p.Certain += max(0, r.Certain)
		slices.SortStableFunc(r.Sites, func(a, b symbolize.SiteID) int { return cmp.Compare(stayed[b], stayed[a]) })
	}
	slices.SortStableFunc(p.Rows, func(a, b PersistRow) int { return cmp.Compare(b.Stayed, a.Stayed) })
}
