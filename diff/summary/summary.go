// Package summary turns a series into the compact form that [baseline] keeps and [gate] compares ([New]).
package summary

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// SummaryOptions say what the snapshots do not. The zero value works.
type Options struct {
	// Rules decide which frame is to blame; nil takes the default ones.
	Rules *class.Rules
	// Name of the run; "" takes the directory of its snapshots.
	Name string
	// Command is the recorded command line, Workload a name for what was asked of the program; "" takes a hash of Command.
	Command  []string
	Workload string
	// Work is the number of units of work done, 0 if it is not known.
	Work float64
	// Labels are the user's own.
	Labels map[string]string
}

const (
	// leastShare of the heap, or of all that was allocated, is what a site must come to once to be kept: a hundredth of what the gate
	// takes for a change by default.
	leastShare = 1.0 / 20000
	// maxSites bounds the sites that are kept with their stacks, and again those that are kept by function.
	maxSites = 3000
)

// Summarize makes the summary of a run, of its process image with most snapshots. The collector must have visited the series.
//
// The level of a site is the median of the second half of the snapshots, by time; a snapshot that hides the site counts
// as 0 there, and Rest has what it hides. Stacks below [leastShare] are summed by the function to blame, so that a
// leak that is thin on every stack is seen. Rest is what the total has and the sites have not.
//
// It sums up the snapshots of [sites.JudgedRange]. The run has no notes: they are text, which the caller writes.
func New(series *series.Series, symbols *symbolize.Symbols, c *sites.Collector, o Options) (*baseline.Run, error) {
	s := &summarizer{series: series, symbols: symbols, o: o, blamer: class.NewBlamer(symbols, o.Rules)}
	s.namer = identity.NewNamer(symbols, s.blamer)
	judged := sites.JudgedRange(series, 0, 0)
	s.first, s.last = judged.First, judged.Last
	var err error
	if s.end, err = compare.NewSide(series, symbols, s.last, nil); err != nil {
		return nil, err
	}
	s.columns = c.Columns(series, symbols)
	s.secondHalf()
	run := &baseline.Run{Meta: s.meta(), Total: s.total()}
	run.Sites = s.sites(run.Total)
	run.Rest = run.Total
	for i := range run.Sites {
		run.Rest = run.Rest.Sub(run.Sites[i].Level)
	}
	if err := run.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", run.Meta.Name, err)
	}
	return run, nil
}

type summarizer struct {
	series      *series.Series
	symbols     *symbolize.Symbols
	o           Options
	blamer      *class.Blamer
	namer       *identity.Namer
	first, last int           // the snapshots that are summed up
	half        []int         // the second half of them
	end         *compare.Side // the last of them: it has the cumulative counts
	columns     []sites.Column
}

func (s *summarizer) secondHalf() {
	at := s.series.Clock.At
	middle := at[s.first] + (at[s.last]-at[s.first])/2
	for i := s.first; i <= s.last; i++ {
		if at[i] >= middle {
			s.half = append(s.half, i)
		}
	}
}

func (s *summarizer) head() *series.Head { return s.series.Heads[s.last] }

func (s *summarizer) meta() baseline.Meta {
	h := s.head()
	m := baseline.Meta{
		Name: cmp.Or(s.o.Name, s.series.Dir()), Workload: cmp.Or(s.o.Workload, commandHash(s.o.Command)), Command: s.o.Command,
		Program: path.Base(symbolize.MainProgram(s.series)), BuildID: s.buildID(), Format: h.Format.String(),
		Snapshots: s.last - s.first + 1, Work: s.o.Work, HasAlloc: h.HasAlloc, Labels: s.o.Labels,
	}
	if h.IsEstimate() {
		m.Period = h.Period
	}
	if c := s.series.Clock; c.Source.IsTime() {
		m.Recorded, m.Span = c.Times[s.last].UTC().Truncate(time.Millisecond), c.At[s.last]-c.At[s.first]
	}
	for _, i := range s.half {
		m.AbsentMax = max(m.AbsentMax, s.series.Heads[i].Completeness.AbsentMax.InuseBytes)
	}
	return m
}

// commandHash stands for a command line, "" for none. The program's directory is left out: every build may have its own.
func commandHash(command []string) string {
	if len(command) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{path.Base(command[0])}, command[1:]...), "\x00")))
	return "command " + hex.EncodeToString(sum[:6])
}

// buildID is that of the main program.
func (s *summarizer) buildID() string {
	program := symbolize.MainProgram(s.series)
	for i := range s.symbols.Modules {
		if s.symbols.Modules[i].Path == program {
			return s.symbols.Modules[i].BuildID
		}
	}
	return s.series.BuildIDs[program]
}

// total is the level of the whole heap.
func (s *summarizer) total() baseline.Level {
	c := sites.Column{}
	for _, h := range s.series.Heads {
		heap := h.Heap()
		c.Bytes, c.Objects = append(c.Bytes, heap.InuseBytes), append(c.Objects, heap.InuseObjects)
	}
	return s.level(c, s.head().Heap())
}

// level sums up a column; end has the cumulative counts.
func (s *summarizer) level(c sites.Column, end heapfile.Counts) baseline.Level {
	var t, y, bytes, objects []float64
	for _, i := range s.half {
		if c.Bytes[i] == sites.Hidden {
			bytes, objects = append(bytes, 0), append(objects, 0)
			continue
		}
		bytes, objects = append(bytes, float64(c.Bytes[i])), append(objects, float64(c.Objects[i]))
		t, y = append(t, s.series.Clock.At[i]/3600), append(y, float64(c.Bytes[i]))
	}
	l := baseline.Level{Bytes: stats.Median(bytes), Objects: stats.Median(objects), Peak: float64(peak(c.Bytes[s.first : s.last+1]))}
	if s.series.Clock.Source.IsTime() {
		l.Slope, l.SlopeError = trend.Slope(t, y)
	}
	if s.head().HasAlloc {
		l.AllocBytes, l.AllocObjects = float64(end.AllocBytes), float64(end.AllocObjects)
	}
	l.Noise = sites.SamplingNoise(s.head(), int64(l.Bytes))
	return l
}

// peak is the largest visible value.
func peak(values []int64) (most int64) {
	for _, v := range values {
		most = max(most, v) // hidden is below all
	}
	return most
}

// candidate is an allocation site, or all small ones of one function, before it is known whether it is kept.
type candidate struct {
	members []symbolize.SiteID
	column  sites.Column
	end     heapfile.Counts
	peak    int64
}

func (s *summarizer) candidate(members []symbolize.SiteID) candidate {
	c := candidate{members: members, column: s.columns[members[0]]}
	columns := make([]sites.Column, len(members))
	for i, m := range members {
		columns[i] = s.columns[m]
		c.end = c.end.Add(s.end.Counts(m))
	}
	if len(members) > 1 {
		c.column = sites.Sum(columns, len(s.series.Heads))
	}
	for _, i := range s.half {
		c.peak = max(c.peak, c.column.Bytes[i])
	}
	return c
}

// sites are those that are large enough, by stack, and what is left by function.
func (s *summarizer) sites(total baseline.Level) []baseline.Site {
	var single []candidate
	for i := range s.columns {
		single = append(single, s.candidate([]symbolize.SiteID{symbolize.SiteID(i)}))
	}
	kept, small := s.largest(single, total)
	folded, _ := s.largest(s.byFunction(small), total)
	var out []baseline.Site
	for _, c := range kept {
		out = append(out, s.stackSite(c))
	}
	for _, c := range folded {
		out = append(out, s.functionSite(c))
	}
	slices.SortStableFunc(out, func(a, b baseline.Site) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// largest parts candidates that are worth keeping from those that are not.
func (s *summarizer) largest(list []candidate, total baseline.Level) (kept, small []candidate) {
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.peak, a.peak), cmp.Compare(b.end.AllocBytes, a.end.AllocBytes))
	})
	for _, c := range list {
		large := float64(c.peak) >= leastShare*total.Peak && c.peak > 0
		churns := total.AllocBytes > 0 && float64(c.end.AllocBytes) >= leastShare*total.AllocBytes
		if (large || churns) && len(kept) < maxSites {
			kept = append(kept, c)
		} else {
			small = append(small, c)
		}
	}
	return kept, small
}

// byFunction puts single sites together by the function to blame. What has none is left out.
func (s *summarizer) byFunction(list []candidate) (out []candidate) {
	index := map[string]int{}
	var groups [][]symbolize.SiteID
	for _, c := range list {
		id := s.namer.Site(s.symbols.SiteStack(c.members[0]))
		if id.Blame < 0 {
			continue
		}
		name := id.Frames[id.Blame]
		i, ok := index[name]
		if !ok {
			i = len(groups)
			index[name] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c.members[0])
	}
	for _, g := range groups {
		out = append(out, s.candidate(g))
	}
	return out
}

// stackSite describes a single site.
func (s *summarizer) stackSite(c candidate) baseline.Site {
	id := s.symbols.SiteStack(c.members[0])
	stack := s.symbols.Stack(id)
	site := baseline.Site{Level: s.level(c.column, c.end), Identity: s.namer.Site(id), Blame: -1}
	for i, name := range site.Identity.Frames {
		site.Identity.Frames[i] = valid(name)
	}
	if site.Identity.Place != "" {
		sum := sha256.Sum256([]byte(site.Identity.Place))
		site.Identity.Place = hex.EncodeToString(sum[:12]) // it is only compared
	}
	ref, blamed := s.blamer.Blame(stack)
	for i, l := range stack {
		if blamed && i == ref.Position {
			site.Blame = len(site.Frames) + max(ref.Frame, 0)
		}
		site.Frames = append(site.Frames, s.frames(&s.symbols.Locations[l])...)
	}
	return site
}

// functionSite describes the small sites of one function: nothing but the function is common to them.
func (s *summarizer) functionSite(c candidate) baseline.Site {
	site := s.stackSite(c)
	if id := &site.Identity; id.Blame >= 0 {
		*id = identity.Site{Frames: id.Frames[id.Blame : id.Blame+1]}
	}
	if site.Blame >= 0 {
		site.Frames, site.Blame = site.Frames[site.Blame:site.Blame+1], 0
	}
	return site
}

// frames are the functions at a location; what has no name is called module+offset.
func (s *summarizer) frames(l *symbolize.Location) (out []baseline.Frame) {
	module := ""
	if m := s.symbols.Module(l); m != nil {
		module = m.Path
	}
	for _, f := range l.Frames {
		out = append(out, baseline.Frame{Function: valid(f.Function), Module: valid(module), File: valid(f.File), Line: f.Line})
	}
	if len(out) == 0 {
		out = append(out, baseline.Frame{Function: valid(s.symbols.Label(l)), Module: valid(module)})
	}
	return out
}

// valid is a name as a baseline's file keeps it, so that a run is the same before and after it was saved.
func valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
