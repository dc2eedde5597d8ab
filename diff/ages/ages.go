// Package ages tells how old the memory of allocation sites is: of what was allocated in each part of a series, how
// much is still in use at the end of that part and of the later ones.
package ages

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Parts is the number of parts of equal duration into which a series is divided.
const Parts = 8

// Cohorts are the bytes that are in use, by the part of the series in which they were allocated. What is older than the
// series belongs to the first part.
type Cohorts [Parts]int64

// Old returns the share of the bytes that was allocated in the first half, 0 to 1, or false if there are none.
func (c Cohorts) Old() (share float64, ok bool) {
	var old, all int64
	for i, bytes := range c {
		if all += bytes; i < Parts/2 {
			old += bytes
		}
	}
	if all == 0 {
		return 0, false
	}
	return float64(old) / float64(all), true
}

// Ages are the cohorts of sites at the ends of the parts.
type Ages struct {
	// Ends are the snapshots at the ends of the parts, from the first that has any to the last. Without Options.Whole,
	// there is only that at the end of the last part.
	Ends []int
	at   []map[symbolize.SiteID]*Cohorts
}

// Options are those of [Read].
type Options struct {
	// First and Last are the first and the last snapshot of the series.
	First, Last int
	// Whole reads the snapshot at the end of each part, not only the last one.
	Whole bool
}

// Read reads when the memory of a series was allocated. The result is nil if the snapshots do not tell it, or have no
// times.
func Read(s *series.Series, symbols *symbolize.Symbols, o Options) (*Ages, error) {
	if !s.Clock.Source.IsTime() || o.Last <= o.First {
		return nil, nil
	}
	times := s.Clock.Times
	span := times[o.Last].Sub(times[o.First])
	var ends [Parts]time.Time
	for i := range ends {
		ends[i] = times[o.First].Add(span * time.Duration(i+1) / Parts)
	}
	a := &Ages{}
	for part, end := range ends {
		if !o.Whole && part < Parts-1 {
			continue
		}
		index := o.Last
		if part < Parts-1 {
			index = o.First + sort.Search(o.Last-o.First, func(i int) bool { return times[o.First+i+1].After(end) })
		}
		if n := len(a.Ends); n > 0 && a.Ends[n-1] == index {
			continue // a part without a snapshot
		}
		cohorts, err := read(s, symbols, index, ends)
		if err != nil {
			return nil, err
		}
		if cohorts == nil && index == o.Last {
			return nil, nil
		}
		if cohorts != nil {
			a.Ends, a.at = append(a.Ends, index), append(a.at, cohorts)
		}
	}
	return a, nil
}

// read returns the cohorts of a snapshot, or nil if it does not tell when its memory was allocated.
func read(
	s *series.Series, symbols *symbolize.Symbols, index int, ends [Parts]time.Time,
) (map[symbolize.SiteID]*Cohorts, error) {
	snap, err := s.ReadBirths(index)
	if err != nil || len(snap.Births) == 0 {
		return nil, err
	}
	after := begins(snap.Births)
	out := map[symbolize.SiteID]*Cohorts{}
	for row, births := range snap.Births {
		site := symbols.Site(snap.Samples[row].Stack)
		if out[site] == nil {
			out[site] = &Cohorts{}
		}
		for _, b := range births {
			out[site].add(after[b.Before], b, ends)
		}
	}
	return out, nil
}

// begins returns, for each time before which memory was allocated, the one after which it was: the next lower one of
// all rows. The first has no other: it is its own.
func begins(rows map[int][]heapfile.Birth) map[time.Time]time.Time {
	after := map[time.Time]time.Time{}
	for _, births := range rows {
		for _, b := range births {
			after[b.Before] = b.Before
		}
	}
	times := slices.SortedFunc(maps.Keys(after), time.Time.Compare)
	for i := 1; i < len(times); i++ {
		after[times[i]] = times[i-1]
	}
	return after
}

// add adds memory that was allocated evenly between two times.
func (c *Cohorts) add(after time.Time, b heapfile.Birth, ends [Parts]time.Time) {
	width := b.Before.Sub(after)
	done := int64(0)
	for part := range c {
		upTo := b.Bytes
		if end := ends[part]; part < Parts-1 && end.Before(b.Before) {
			if width <= 0 || !end.After(after) {
				continue
			}
			upTo = int64(float64(b.Bytes) * float64(end.Sub(after)) / float64(width))
		}
		c[part] += upTo - done
		if done = upTo; done == b.Bytes {
			return
		}
	}
}

// Of returns the cohorts of some sites together, at each of Ends.
func (a *Ages) Of(members []symbolize.SiteID) []Cohorts {
	if a == nil {
		return nil
	}
	out := make([]Cohorts, len(a.at))
	for i, sites := range a.at {
		for _, m := range members {
			if c := sites[m]; c != nil {
				for part, bytes := range c {
					out[i][part] += bytes
				}
			}
		}
	}
	return out
}

// Old returns the share of what some sites have in use at the end that was allocated in the first half of the series,
// or false if that is not known.
func (a *Ages) Old(members []symbolize.SiteID) (share float64, ok bool) {
	cohorts := a.Of(members)
	if len(cohorts) == 0 {
		return 0, false
	}
	return cohorts[len(cohorts)-1].Old()
}
