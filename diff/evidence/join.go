package evidence

import (
	"cmp"
	"maps"
	"slices"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Joined are the sites of a series with the records of their functions. A nil Joined has none.
type Joined struct {
	Reports []*Report
	// LostOnce are the sites with lost memory that do not grow, the largest loss first: it was lost
	// before the series, or only once. LostLittle are those that grow, but too little or not
	// steadily enough for another verdict than stable.
	LostOnce, LostLittle []*growth.Site
	// Others are the lost records of functions without a site, the largest first: functions that
	// allocated little or nothing in the series, or sites that were not judged.
	Others []*Record

	sites map[symbolize.SiteID][]*Record // by the first member of the site
	used  map[*Record]bool               // of a site
}

// Join finds the records of each judged site. The result must have its stable sites.
func Join(r *growth.Result, s *symbolize.Symbols, x *Index, rules *class.Rules) *Joined {
	j := &Joined{Reports: x.Reports, sites: map[symbolize.SiteID][]*Record{}, used: map[*Record]bool{}}
	blamer := class.NewBlamer(s, rules)
	for _, list := range [...][]growth.Site{r.Sites, r.Stable} {
		for i := range list {
			site := &list[i]
			found := x.At(blamed(s, blamer, site.Members)...)
			if len(found) == 0 {
				continue
			}
			j.sites[site.Members[0]] = found
			for _, record := range found {
				j.used[record] = true
			}
			j.list(site, found)
		}
	}
	for _, list := range [...][]*growth.Site{j.LostOnce, j.LostLittle} {
		slices.SortStableFunc(list, func(a, b *growth.Site) int {
			return cmp.Compare(LossOf(j.Of(b)).Bytes(), LossOf(j.Of(a)).Bytes())
		})
	}
	for _, report := range x.Reports {
		for i := range report.Records {
			if record := &report.Records[i]; record.Kind.Lost() && !j.used[record] {
				j.Others = append(j.Others, record)
			}
		}
	}
	slices.SortStableFunc(j.Others, compareRecords)
	return j
}

// list lists a stable site with lost memory.
func (j *Joined) list(site *growth.Site, found []*Record) {
	switch {
	case site.Label != verdict.Stable || LossOf(found).Bytes() == 0:
	case site.Gained > 0:
		j.LostLittle = append(j.LostLittle, site)
	default:
		j.LostOnce = append(j.LostOnce, site)
	}
}

// Of returns the records of a site, the largest first.
func (j *Joined) Of(site *growth.Site) []*Record {
	if j == nil {
		return nil
	}
	return j.sites[site.Members[0]]
}

// Records returns the records of all sites, in no order.
func (j *Joined) Records() []*Record { return slices.Collect(maps.Keys(j.used)) }

// Found removes records of sites of other processes from Others.
func (j *Joined) Found(elsewhere []*Record) {
	found := make(map[*Record]bool, len(elsewhere))
	for _, r := range elsewhere {
		found[r] = true
	}
	j.Others = slices.DeleteFunc(j.Others, func(r *Record) bool { return found[r] })
}

// blamed are the frames that the call paths of a site are attributed to, each once.
func blamed(s *symbolize.Symbols, blamer *class.Blamer, members []symbolize.SiteID) (frames []symbolize.Frame) {
	seen := map[symbolize.Frame]bool{}
	for _, m := range members {
		stack := s.Stack(s.SiteStack(m))
		ref, ok := blamer.Blame(stack)
		if !ok || ref.Frame < 0 {
			continue
		}
		f := &s.Locations[stack[ref.Position]].Frames[ref.Frame]
		frame := symbolize.Frame{Function: f.Function, File: f.File, Line: f.Line}
		if !seen[frame] {
			seen[frame] = true
			frames = append(frames, frame)
		}
	}
	return frames
}

// compareRecords orders records by size, then by kind.
func compareRecords(a, b *Record) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Kind, b.Kind))
}

// Amount is a number of bytes in a number of blocks.
type Amount struct{ Bytes, Blocks int64 }

// Loss is the sum of some records, by kind.
type Loss [len(kindNames)]Amount

// LossOf returns the sum of some records.
func LossOf(records []*Record) (l Loss) {
	for _, r := range records {
		l.Add(r)
	}
	return l
}

// Add adds a record.
func (l *Loss) Add(r *Record) {
	l[r.Kind].Bytes += r.Bytes
	l[r.Kind].Blocks += r.Blocks
}

// Bytes returns the number of lost bytes.
func (l Loss) Bytes() int64 { return l[Definite].Bytes + l[Indirect].Bytes }
