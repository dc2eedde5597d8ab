// Package ages tells how old the memory of allocation sites is: of what was allocated in each part of a series, how
// much is still in use at the end of that part and of the later ones.
//
// Snapshots tell between which two of the recorder's moments memory was allocated. A moment is that of a snapshot, and
// of a long series only some are kept: what was allocated before and after one that was dropped can no longer be told
// apart. So the parts of a series end at moments that the last snapshot still has. All snapshots after such a moment
// have it, too, and memory never moves from one part to another.
package ages

import (
	"cmp"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Parts is the greatest number of parts into which a series is divided. They have nearly the same duration.
const Parts = 8

// Ages tell when the memory of sites was allocated.
type Ages struct {
	// Ends are the snapshots at which the parts end.
	Ends []int
	at   []map[symbolize.SiteID]Cohorts
	old  map[symbolize.SiteID]halves
	last *births
}

// Cohorts are the bytes that are in use, by the part of the series in which they were allocated. What is older than the
// series belongs to the first part.
type Cohorts []int64

// halves are the bytes that a site has in use at the end: all, and those that were allocated in the first half.
type halves struct{ all, old int64 }

// Options are those of [Read].
type Options struct {
	// First and Last are the first and the last snapshot of the series.
	First, Last int
}

// Read reads when the memory of a series was allocated. The result is nil if the snapshots do not tell it, or have no
// times.
func Read(s *series.Series, symbols *symbolize.Symbols, o Options) (*Ages, error) {
	if !s.Clock.Source.IsTime() || o.Last <= o.First {
		return nil, nil
	}
	r := reader{s, symbols, o}
	last, err := r.last()
	if err != nil || last == nil {
		return nil, err
	}
	a := &Ages{old: last.halves(r.at(Parts / 2)), last: last}
	bounds, ends, err := r.parts(last)
	if err != nil {
		return nil, err
	}
	for _, b := range append(ends, last) {
		a.Ends, a.at = append(a.Ends, b.index), append(a.at, b.cohorts(bounds))
	}
	return a, nil
}

// reader reads the snapshots of a series.
type reader struct {
	*series.Series
	symbols *symbolize.Symbols
	Options
}

// at is the time at which a number of parts of equal duration have passed.
func (r *reader) at(parts int) time.Time {
	first, last := r.Clock.Times[r.First], r.Clock.Times[r.Last]
	return first.Add(last.Sub(first) * time.Duration(parts) / Parts)
}

// patience is the number of snapshots that are read to find the last one that tells when its memory was allocated. The
// recorder skips some if it is busy.
const patience = 8

// last reads the last snapshot that tells when its memory was allocated; nil if none of the last part does.
func (r *reader) last() (*births, error) {
	for i := r.Last; i > max(r.First, r.Last-patience) && !r.Clock.Times[i].Before(r.at(Parts-1)); i-- {
		if b, err := r.read(i); err != nil || b != nil {
			return b, err
		}
	}
	return nil, nil
}

// parts returns the moments at which the parts end, except the last one, and the snapshots of these moments.
func (r *reader) parts(last *births) (bounds []time.Time, ends []*births, err error) {
	near := r.at(1).Sub(r.at(0)) / 2
	for part := 1; part < Parts; part++ {
		moment := nearest(last.moments, r.at(part))
		if n := len(bounds); moment.Sub(r.at(part)).Abs() > near || n > 0 && !moment.After(bounds[n-1]) {
			continue // the moments there were dropped
		}
		b, err := r.of(moment, last.index)
		if err != nil {
			return nil, nil, err
		}
		if b != nil {
			bounds, ends = append(bounds, moment), append(ends, b)
		}
	}
	return bounds, ends, nil
}

// of reads the snapshot of a moment, which is below a limit; nil if there is none. What it tells of its newest memory
// has that moment. Its time is a little earlier or, if it is that of its file, a little later.
func (r *reader) of(moment time.Time, limit int) (*births, error) {
	later := sort.Search(limit-r.First, func(i int) bool { return r.Clock.Times[r.First+i].After(moment) }) + r.First
	for i := max(r.First, later-1); i <= later && i < limit; i++ {
		b, err := r.read(i)
		if err != nil {
			return nil, err
		}
		if b != nil && b.moments[len(b.moments)-1].Equal(moment) {
			return b, nil
		}
	}
	return nil, nil
}

// nearest returns the time that is nearest to a given one.
func nearest(times []time.Time, to time.Time) time.Time {
	return slices.MinFunc(times, func(a, b time.Time) int {
		return cmp.Compare(a.Sub(to).Abs(), b.Sub(to).Abs())
	})
}

// births are what a snapshot tells of when its memory was allocated.
type births struct {
	index   int
	moments []time.Time // before which memory was allocated, in order; at least one
	sites   map[symbolize.SiteID][]heapfile.Birth
}

// read reads a snapshot. It returns nil if it does not tell when its memory was allocated, or not for sure.
func (r *reader) read(index int) (*births, error) {
	snap, err := r.ReadBirths(index)
	if errors.Is(err, series.ErrBirths) {
		return nil, nil
	}
	if err != nil || len(snap.Births) == 0 {
		return nil, err
	}
	out := &births{index: index, moments: snap.Moments(), sites: map[symbolize.SiteID][]heapfile.Birth{}}
	for row, list := range snap.Births {
		site := r.symbols.Site(snap.Samples[row].Stack)
		out.sites[site] = append(out.sites[site], list...)
	}
	return out, nil
}

// cohorts are those of the sites. bounds are the moments at which the parts end, except the last one.
func (b *births) cohorts(bounds []time.Time) map[symbolize.SiteID]Cohorts {
	out := map[symbolize.SiteID]Cohorts{}
	for site, list := range b.sites {
		c := make(Cohorts, len(bounds)+1)
		for _, birth := range list {
			part, _ := slices.BinarySearchFunc(bounds, birth.Before, time.Time.Compare)
			c[part] += birth.Bytes
		}
		out[site] = c
	}
	return out
}

// halves are those of the sites. What was allocated between two moments of which one is in each half is divided
// evenly.
func (b *births) halves(middle time.Time) map[symbolize.SiteID]halves {
	after := map[time.Time]time.Time{}
	for i, moment := range b.moments {
		after[moment] = b.moments[max(0, i-1)]
	}
	out := map[symbolize.SiteID]halves{}
	for site, list := range b.sites {
		var h halves
		for _, birth := range list {
			h.all += birth.Bytes
			h.old += before(middle, after[birth.Before], birth)
		}
		out[site] = h
	}
	return out
}

// before returns the bytes of memory that was allocated evenly since a time which were allocated before another one.
func before(middle, since time.Time, b heapfile.Birth) int64 {
	switch width := b.Before.Sub(since); {
	case !b.Before.After(middle):
		return b.Bytes
	case width <= 0 || !middle.After(since):
		return 0
	default:
		return int64(float64(b.Bytes) * float64(middle.Sub(since)) / float64(width))
	}
}

// Of returns the cohorts of some sites together, at each of Ends.
func (a *Ages) Of(members []symbolize.SiteID) []Cohorts {
	if a == nil {
		return nil
	}
	out := make([]Cohorts, len(a.at))
	for i, sites := range a.at {
		out[i] = make(Cohorts, len(a.at))
		for _, m := range members {
			for part, bytes := range sites[m] {
				out[i][part] += bytes
			}
		}
	}
	return out
}

// Old returns the share of what some sites have in use at the end that was allocated in the first half of the series,
// or false if that is not known.
func (a *Ages) Old(members []symbolize.SiteID) (share float64, ok bool) {
	if a == nil {
		return 0, false
	}
	var sum halves
	for _, m := range members {
		h := a.old[m]
		sum = halves{sum.all + h.all, sum.old + h.old}
	}
	if sum.all == 0 {
		return 0, false
	}
	return float64(sum.old) / float64(sum.all), true
}

// Births returns what some sites have in use at the end, by the moments before which it was allocated, the oldest
// first; nil if that is not known. A moment before which nothing was allocated that is still in use is included.
func (a *Ages) Births(members []symbolize.SiteID) []heapfile.Birth {
	if a == nil {
		return nil
	}
	out := make([]heapfile.Birth, len(a.last.moments))
	for i, moment := range a.last.moments {
		out[i].Before = moment
	}
	for _, m := range members {
		for _, b := range a.last.sites[m] {
			i, _ := slices.BinarySearchFunc(a.last.moments, b.Before, time.Time.Compare)
			out[i].Objects += b.Objects
			out[i].Bytes += b.Bytes
		}
	}
	return out
}
