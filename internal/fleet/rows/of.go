package rows

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/summary"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/series"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Origin is what the snapshots of a run do not say.
type Origin struct {
	Service, Host string
	// Night is a date, YYYY-MM-DD; "" takes that of the last snapshot, in UTC.
	Night string
	// BuildSeq orders builds; nil leaves that to the times at which they were first seen.
	BuildSeq *int64
	// Workload identifies the work; "" takes a hash of the recorded command line.
	Workload string
	Labels   map[string]string
	// MemoryLimit is the limit of the process in bytes; 0 if it is unknown.
	MemoryLimit int64
	// Tool is the program that writes the rows.
	Tool string
}

// ErrNoNight is returned for snapshots without times.
var ErrNoNight = errors.New("the times of the snapshots are not known")

// Of returns the rows of a judged series. Its result must have all sites (growth.Options.All).
func Of(g *growthreport.Report, o Origin) (*Exported, error) {
	if o.Night == "" {
		if !g.Series.Clock.Source.IsTime() {
			return nil, ErrNoNight
		}
		o.Night = g.Series.Clock.Times[g.Result.Last].UTC().Format(time.DateOnly)
	}
	out := &Exported{Run: runOf(g, o)}
	for i := range g.Result.Sites {
		out.Sites = append(out.Sites, siteOf(g, &out.Run, &g.Result.Sites[i]))
	}
	out.Sites = merged(out.Sites)
	out.Run.Sites = int64(len(out.Sites))
	return out, nil
}

func runOf(g *growthreport.Report, o Origin) Run {
	s, r := g.Series, g.Result
	last := s.Heads[r.Last]
	run := Run{
		Night: o.Night, RunID: runID(s, o), Service: text.Clean(o.Service), Host: text.Clean(o.Host),
		PID: int64(s.PID()), BuildID: text.Clean(summary.BuildID(s, g.Symbols)), BuildSeq: o.BuildSeq,
		Program: text.Clean(path.Base(symbolize.MainProgram(s))), Workload: text.Clean(workload(s, o)),
		Labels: cleaned(o.Labels),
		Format: last.Format.String(), HasAlloc: last.HasAlloc, Clock: s.Clock.Source.String(),
		Snapshots: int64(r.Len()),
		Heap:      r.LastHeap, HeapGained: r.LastHeap - r.FirstHeap, HeapSlope: perHour(s, r.Total.Slope),
		Verdict: string(r.Verdict), Status: status(r), Tool: o.Tool, Model: trend.ModelVersion(g.Ages != nil),
	}
	if last.IsEstimate() {
		run.Period = last.Period
	}
	for _, h := range s.Heads[r.First : r.Last+1] {
		if h.Completeness.Truncated {
			run.Truncated++
		}
	}
	if s.Clock.Source.IsTime() {
		started, span := s.Clock.Times[r.First].Unix(), int64(s.Clock.At[r.Last]-s.Clock.At[r.First])
		run.Started, run.Span = &started, &span
	}
	if r.RSS != nil {
		rss := r.LastRSS
		run.RSS, run.RSSSlope = &rss, perHour(s, r.RSS.Slope)
	}
	if o.MemoryLimit > 0 {
		run.Limit = &o.MemoryLimit
	}
	return run
}

// runID names the run of a process on a host in a night. A repeated export gives the same name.
func runID(s *series.Series, o Origin) string {
	started := ""
	if m := s.Manifest; m != nil && m.Recording != nil {
		started = m.Recording.Started.UTC().Format(time.RFC3339Nano)
	}
	parts := []string{o.Service, o.Host, o.Night, fmt.Sprint(s.PID()), path.Base(s.Process.Prefix), started}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return fmt.Sprintf("%s-%d-%s", fileName(o.Host), s.PID(), hex.EncodeToString(sum[:6]))
}

// maxHost is the length of a host's name in a run ID.
const maxHost = 64

// fileName is a name with only characters that file systems and URLs take.
func fileName(name string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		}
		return '-'
	}, name)
	return strings.TrimLeft(out[:min(len(out), maxHost)], "._")
}

func workload(s *series.Series, o Origin) string {
	if m := s.Manifest; o.Workload == "" && m != nil && m.Recording != nil {
		return baseline.CommandWorkload(m.Recording.Command)
	}
	return o.Workload
}

func cleaned(labels map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range labels {
		out[text.Clean(k)] = text.Clean(v)
	}
	return out
}

// status is "judged", or why there is no verdict.
func status(r *growth.Result) string {
	if r.Why.DataMissing() {
		return r.Why.String()
	}
	return "judged"
}

// perHour is a slope in bytes per hour; nil if the clock does not count time.
func perHour(s *series.Series, slope float64) *int64 {
	if !s.Clock.Source.IsTime() || math.IsNaN(slope) || math.IsInf(slope, 0) {
		return nil
	}
	v := whole(slope * 3600)
	return &v
}

// whole rounds to an integer that a DOUBLE holds exactly.
func whole(f float64) int64 { return text.Whole(f) }

// exact is the unit of confidences: sums of its multiples do not depend on their order.
const exact = 4096

func siteOf(g *growthreport.Report, run *Run, s *growth.Site) Site {
	v := g.Describe(s)
	out := Site{
		Night: run.Night, RunID: run.RunID, Service: run.Service, Host: run.Host, BuildID: run.BuildID,
		SiteKey: int64(v.Keys.Site), KeyKind: string(v.Keys.Kind), PathKey: int64(v.Keys.Path),
		Function: Function(&v),
		Module:   text.Clean(identity.ModuleName(v.Blame.Module)),
		Label:    s.Label.String(), Confidence: *exactly(text.Finite(s.Confidence)),
		Gained: s.Gained, Slope: perHour(g.Series, s.Slope), Sigma: whole(s.Sigma), CallPaths: int64(len(s.Members)),
	}
	if v.Blame.File != "" {
		out.File = text.Clean(path.Base(v.Blame.File))
	}
	if line := int64(v.Blame.Line); line > 0 {
		out.Line = &line
	}
	if share, ok := g.Ages.Old(s.Members); ok {
		out.OldShare = exactly(share)
	}
	if out.Slope != nil {
		const sides = 2 * 1.96 // of a 95 % interval
		low, high := s.Interval()
		out.SlopeError = perHour(g.Series, (high-low)/sides)
	}
	out.setLevels(s, g.Result.Range)
	if last := g.Series.Heads[g.Result.Last]; last.IsEstimate() {
		out.Noise = whole(sites.SamplingNoise(last, out.Now))
	}
	return out
}

// exactly returns the nearest multiple of 1/exact.
func exactly(f float64) *float64 {
	v := math.Round(f*exact) / exact
	return &v
}

// Function returns the name of a site: that which its key stands for.
func Function(v *siteview.View) string {
	switch v.Keys.Kind {
	case identity.KeyOffset:
		return text.Clean(v.Blame.Function)
	case identity.KeyNone:
		return v.Name
	}
	return text.Clean(identity.Untemplated(identity.Normalize(v.Blame.Function)))
}

// setLevels sets the bytes in use at the end, and their median over the second half of the
// snapshots that show the site.
func (out *Site) setLevels(s *growth.Site, r sites.Range) {
	var visible []int64
	for i := r.First; i <= r.Last; i++ {
		if s.Visible[i] {
			visible = append(visible, s.Bytes[i])
			out.Now, out.Objects = s.Bytes[i], s.Objects[i]
		}
	}
	if half := visible[len(visible)/2:]; len(half) > 0 {
		slices.Sort(half)
		out.Level = half[len(half)/2]
	}
}

// merged has one row per key, in their order. A function has several sites in a result if one of
// its call paths was judged by itself, and static functions of one name have one key. Label,
// confidence and names are those of the likeliest leak.
func merged(list []Site) (out []Site) {
	slices.SortStableFunc(list, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.SiteKey, b.SiteKey), cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(b.Now, a.Now),
			cmp.Compare(a.PathKey, b.PathKey))
	})
	for _, s := range list {
		if n := len(out) - 1; n >= 0 && out[n].SiteKey == s.SiteKey {
			out[n].include(&s)
			continue
		}
		out = append(out, s)
	}
	return out
}

func (out *Site) include(s *Site) {
	if out.OldShare == nil || s.OldShare == nil {
		out.OldShare = nil
	} else if all := float64(out.Now + s.Now); all > 0 {
		out.OldShare = exactly((*out.OldShare*float64(out.Now) + *s.OldShare*float64(s.Now)) / all)
	}
	out.Gained += s.Gained
	out.Level += s.Level
	out.Now += s.Now
	out.Objects += s.Objects
	out.CallPaths += s.CallPaths
	out.Sigma, out.Noise = squares(out.Sigma, s.Sigma), squares(out.Noise, s.Noise)
	if out.Slope != nil && s.Slope != nil {
		slope, e := *out.Slope+*s.Slope, squares(*out.SlopeError, *s.SlopeError)
		out.Slope, out.SlopeError = &slope, &e
	}
}

// squares adds standard deviations.
func squares(a, b int64) int64 { return whole(math.Hypot(float64(a), float64(b))) }

// Aliases are the rows of the aliases of a build.
func Aliases(list []gate.Alias, o Origin, oldBuild, newBuild string) []Alias {
	out := []Alias{}
	for _, a := range list {
		out = append(out, Alias{
			Night: o.Night, Service: text.Clean(o.Service), OldBuildID: text.Clean(oldBuild), NewBuildID: text.Clean(newBuild),
			OldKey: int64(a.Old.Site), NewKey: int64(a.New.Site),
			OldFunction: text.Clean(a.OldFunction), NewFunction: text.Clean(a.NewFunction), Bytes: whole(a.Bytes),
		})
	}
	return out
}
