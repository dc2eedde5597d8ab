package push

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/summary"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/fleet/rows"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Options tell what is sent.
type Options struct {
	// Service and Host are labels of each profile. Host may be "".
	Service, Host string
	// Labels are further ones. CheckLabel tells which names they may have.
	Labels map[string]string
	// Snapshots is the maximum number of snapshots of a site.
	Snapshots int
	// Tool is the program that makes the profiles.
	Tool string
}

// Exemplar is one snapshot of a site that leaks.
type Exemplar struct {
	// Site is the name of the function, Snapshot that of the file without its extensions.
	Site, Snapshot string
	Time           time.Time
	Labels         []Label
	// Profile has the stacks of the site, and the memory that is in use by them.
	Profile *profile.Profile
}

// ErrNoTimes is returned for snapshots without times.
var ErrNoTimes = errors.New("the times of the snapshots are not known, and a server orders profiles by time")

// Exemplars calls use with each exemplar of a judged series, in the order of the snapshots. It
// returns the number of sites that leak.
func Exemplars(g *growthreport.Report, o Options, use func(*Exemplar) error) (sites int, err error) {
	leaks := leaking(g)
	if len(leaks) == 0 {
		return 0, nil
	}
	if !g.Series.Clock.Source.IsTime() {
		return 0, ErrNoTimes
	}
	c, err := convert.New(g.Series, g.Symbols, convert.Options{Tool: o.Tool})
	if err != nil {
		return 0, err
	}
	for i := range leaks {
		leaks[i].choose(g.Result.First, g.Result.Last, o.Snapshots)
	}
	for i := g.Result.First; i <= g.Result.Last; i++ {
		if !slices.ContainsFunc(leaks, func(l leak) bool { return l.chosen[i] }) {
			continue
		}
		if err := exemplarsOf(g, c, i, leaks, o.labels(g), use); err != nil {
			return 0, err
		}
	}
	return len(leaks), nil
}

// exemplarsOf calls use with the exemplars of a snapshot.
func exemplarsOf(
	g *growthreport.Report,
	c *convert.Converter,
	index int,
	leaks []leak,
	common []Label,
	use func(*Exemplar) error,
) error {
	snap, err := g.Series.Read(index)
	if err != nil {
		return err
	}
	all, err := c.Samples(snap)
	if err != nil {
		return err
	}
	for _, l := range leaks {
		if !l.chosen[index] {
			continue
		}
		p, err := c.Encode(all.Only(func(id heapfile.StackID) bool { return l.members[g.Symbols.Site(id)] })).Parse()
		if err != nil {
			return err
		}
		err = use(&Exemplar{
			Site: l.function, Snapshot: convert.BaseName(snap.Path), Time: g.Series.Clock.Times[index],
			Labels: withLabels(common, l.labels()), Profile: inUse(p),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leak is a function that leaks. It has several sites in a result if one of its call paths was
// judged by itself.
type leak struct {
	key      identity.Key
	function string
	verdict  string
	members  map[symbolize.SiteID]bool
	holds    []bool // by snapshot: whether it has bytes in use
	chosen   map[int]bool
}

// leaking returns the functions that leak, the worst first.
func leaking(g *growthreport.Report) (out []leak) {
	for i := range g.Result.Sites {
		s := &g.Result.Sites[i]
		if !s.Label.IsLeak() {
			continue
		}
		view := g.Describe(s)
		at := slices.IndexFunc(out, func(l leak) bool { return l.key == view.Keys.Site })
		if at < 0 {
			at = len(out)
			out = append(out, leak{
				key: view.Keys.Site, function: rows.Function(&view), verdict: s.Label.String(),
				members: map[symbolize.SiteID]bool{}, holds: make([]bool, len(s.Bytes)),
			})
		}
		out[at].add(s)
	}
	return out
}

func (l *leak) add(s *growth.Site) {
	for _, m := range s.Members {
		l.members[m] = true
	}
	for i, n := range s.Bytes {
		l.holds[i] = l.holds[i] || s.Visible[i] && n > 0
	}
}

// choose chooses at most n snapshots that show the site, evenly spaced, the first and the last one
// included. Of one, it is the last.
func (l *leak) choose(first, last, n int) {
	var shown []int
	for i := first; i <= last; i++ {
		if l.holds[i] {
			shown = append(shown, i)
		}
	}
	l.chosen = map[int]bool{}
	n = min(n, len(shown))
	for k := range n {
		at := len(shown) - 1
		if n > 1 {
			at = k * at / (n - 1)
		}
		l.chosen[shown[at]] = true
	}
}

// labels are those of the site. With site_key, a question about a fleet leads to its profiles.
func (l *leak) labels() []Label {
	return []Label{
		{"site", l.function}, {"site_key", l.key.String()}, {"verdict", l.verdict},
	}
}

// labels returns the labels of all exemplars of a process.
func (o *Options) labels(g *growthreport.Report) []Label {
	out := []Label{
		{"__name__", nameOf(g)}, {"service_name", o.Service}, {"host", o.Host},
		{"build_id", summary.BuildID(g.Series, g.Symbols)},
	}
	if pid := g.Series.PID(); pid > 0 {
		out = append(out, Label{"pid", strconv.Itoa(pid)})
	}
	for name, value := range o.Labels {
		out = append(out, Label{name, value})
	}
	return out
}

// nameOf returns the kind of a profile, as both servers call it.
func nameOf(g *growthreport.Report) string {
	if g.Series.Heads[g.Result.Last].Format == heapfile.FormatGoroutines {
		return "goroutine"
	}
	return "memory"
}
