package growth

import (
	"io"
	"math"
	"time"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/report/measure"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

type resultJSON struct {
	Schema       string                 `json:"schema"`
	Verdict      string                 `json:"verdict"`
	Why          string                 `json:"why"`
	Reason       string                 `json:"reason"`
	DataMissing  bool                   `json:"data_missing"`
	Chance       *float64               `json:"leak_chance"`
	Next         string                 `json:"next,omitempty"`
	BytesPerHour *float64               `json:"bytes_per_hour"`
	LeastSeen    *float64               `json:"least_seen_bytes_per_hour"`
	Rate         float64                `json:"rate"`
	RatePer      string                 `json:"rate_per"`
	Explained    float64                `json:"explained"`
	Processes    []ProcessJSON          `json:"processes"`
	Series       seriesJSON             `json:"series"`
	Limit        *limitJSON             `json:"memory_limit,omitempty"`
	Tested       int                    `json:"tested"`
	Notes        []string               `json:"notes"`
	Unnamed      []siteview.UnnamedJSON `json:"unnamed"`
	External     *evidenceJSON          `json:"external_evidence,omitempty"`
	Evidence     *evidenceJSON          `json:"evidence,omitempty"` // the former name of External
	Causes       []causeJSON            `json:"causes"`
	Sites        []siteJSON             `json:"sites"`
	Resident     *rss.Result            `json:"resident,omitempty"`
	Looked       time.Time              `json:"looked_at,omitzero"`
}

// ProcessJSON is the verdict on a process.
type ProcessJSON struct {
	PID          int             `json:"pid"`
	Prefix       string          `json:"prefix"`
	Command      []string        `json:"command"`
	Snapshots    int             `json:"snapshots"`
	Verdict      string          `json:"verdict"`
	Why          string          `json:"why"`
	DataMissing  bool            `json:"data_missing"`
	Chance       *float64        `json:"leak_chance"`
	Leaks        int             `json:"leaks"`
	Suspects     int             `json:"suspects"`
	GrowthBytes  *int64          `json:"growth_bytes"`
	InuseBytes   *int64          `json:"inuse_bytes"`
	RSSBytes     *int64          `json:"rss_bytes"`
	BytesPerHour *float64        `json:"bytes_per_hour"`
	Blame        *siteview.Blame `json:"blame"`
	Shown        bool            `json:"shown"`
	// Losses are what other tools found at the sites that leak or may leak.
	Losses []siteview.LossRecord `json:"loss_records,omitempty"`
	// LostOnce and LostLittle are of a process that is not shown.
	LostOnce   []stableJSON `json:"lost_once,omitempty"`
	LostLittle []stableJSON `json:"lost_little,omitempty"`
}

// ProcessesJSON are the verdicts on the processes of the recording, worst first.
func (g *Report) ProcessesJSON() []ProcessJSON {
	out := []ProcessJSON{}
	for i := range g.Processes {
		p := &g.Processes[i]
		j := ProcessJSON{
			PID: p.PID, Prefix: p.Prefix, Command: append([]string{}, p.Command...), Snapshots: p.Files,
			Verdict: string(p.Verdict), Why: p.Why, DataMissing: p.DataMissing, Chance: p.Chance,
			Leaks: p.Leaks, Suspects: p.Suspects,
			Shown: p.Shown,
		}
		if s := p.worst(); s != nil {
			j.Blame = &s.blame
		}
		if h := p.Heap; h != nil {
			j.GrowthBytes, j.InuseBytes, j.RSSBytes, j.BytesPerHour = &h.Gained, &h.Now, h.RSS, h.PerHour
		}
		j.Losses = siteview.LossRecords(p.Losses)
		if !p.Shown {
			j.LostOnce, j.LostLittle = lostJSON(p.Lost, true), lostJSON(p.Lost, false)
		}
		out = append(out, j)
	}
	return out
}

// causeJSON is a function through which many sites grow.
type causeJSON struct {
	Function     string   `json:"function"`
	Module       string   `json:"module"`
	File         string   `json:"file"`
	Label        string   `json:"label"`
	Confidence   float64  `json:"confidence"`
	GrowthBytes  int64    `json:"growth_bytes"`
	Share        float64  `json:"share"`
	Sites        int      `json:"sites"`
	Stacks       int      `json:"stacks"`
	BytesPerHour *float64 `json:"bytes_per_hour"`
	Rate         float64  `json:"rate"`
}

type seriesJSON struct {
	Clock     string         `json:"clock"`
	Snapshots []snapshotJSON `json:"snapshots"`
	Warnings  []string       `json:"warnings"`
}

type snapshotJSON struct {
	Path          string     `json:"path"`
	Seq           int        `json:"seq"`
	Time          *time.Time `json:"time"`
	InuseBytes    int64      `json:"inuse_bytes"`
	InuseObjects  int64      `json:"inuse_objects"`
	RSSBytes      *int64     `json:"rss_bytes"`
	Truncated     bool       `json:"truncated"`
	AbsentMaxByte int64      `json:"absent_max_bytes"`
}

type siteJSON struct {
	Label        string               `json:"label"`
	Confidence   float64              `json:"confidence"`
	Stacks       int                  `json:"stacks"`
	SiteKey      identity.Key         `json:"site_key"`
	KeyKind      identity.KeyKind     `json:"key_kind"`
	PathKey      identity.Key         `json:"path_key"`
	Blame        siteview.Blame       `json:"blame"`
	Frames       []siteview.FrameJSON `json:"frames"`
	InuseBytes   []*int64             `json:"inuse_bytes"`
	InuseObjects []*int64             `json:"inuse_objects"`
	GrowthBytes  int64                `json:"growth_bytes"`
	BytesPerHour *float64             `json:"bytes_per_hour"`
	Low          *float64             `json:"bytes_per_hour_low"`
	High         *float64             `json:"bytes_per_hour_high"`
	Rate         float64              `json:"rate"`
	Resizing     bool                 `json:"resizing"`
	Old          *float64             `json:"old_share,omitempty"`
	Imported     float64              `json:"imported_share,omitempty"`
	Parts        []partJSON           `json:"parts,omitempty"`
	Pool         *poolJSON            `json:"pool,omitempty"`
	Holders      *holders.JSON        `json:"holders,omitempty"`
	Advice       string               `json:"advice,omitempty"`
	// Losses are what other tools found at the site.
	Losses []siteview.LossRecord `json:"loss_records,omitempty"`
	// Evidence are the measurements that the label rests on, of an explained site.
	Evidence map[string]float64 `json:"evidence,omitempty"`
}

// partJSON is some call paths of a site that were judged apart.
type partJSON struct {
	Label       string  `json:"label"`
	Confidence  float64 `json:"confidence"`
	Stacks      int     `json:"stacks"`
	GrowthBytes int64   `json:"growth_bytes"`
}

func partsOf(s *growth.Site) (out []partJSON) {
	for i := range s.Parts {
		p := &s.Parts[i]
		out = append(out, partJSON{p.Label.String(), text.Finite(p.Confidence), len(p.Members), p.Gained})
	}
	return out
}

// poolJSON is what all processes of the program show of a site.
type poolJSON struct {
	Processes   int     `json:"processes"`
	GrowthBytes int64   `json:"growth_bytes"`
	Own         float64 `json:"own_confidence"`
}

func poolOf(s *growth.Site) *poolJSON {
	if s.Pool == nil {
		return nil
	}
	return &poolJSON{s.Pool.Processes, s.Pool.Gained, text.Finite(s.Pool.Own)}
}

// JSON writes the result as heaplapse.growth/1.
func (g *Report) JSON(w io.Writer) error {
	unit, factor := g.RateUnit()
	r, external := g.Result, g.evidenceJSON()
	out := resultJSON{
		Schema: "heaplapse.growth/1", Verdict: string(r.Verdict), Why: g.reason(), Next: g.Next(),
		Reason: r.Why.String(), DataMissing: r.Why.DataMissing(),
		BytesPerHour: g.perHour(r.Total.Slope), LeastSeen: g.perHour(r.LeastRateSeen),
		Rate: text.Finite(r.Total.Slope * factor), RatePer: unit,
		Explained: text.Finite(r.Explained), Series: seriesOf(g.Series), Tested: r.Tested,
		Processes: g.ProcessesJSON(),
		Limit:     g.forecast(), Notes: g.Notes(false), Causes: g.causesJSON(factor),
		Unnamed:  siteview.Unnamed{Unnamed: g.Unnamed}.JSON(),
		External: external, Evidence: external, Sites: []siteJSON{}, Resident: g.Resident, Looked: g.Looked,
	}
	for i := range r.Sites {
		out.Sites = append(out.Sites, g.site(&r.Sites[i], factor))
	}
	if g.Explain != "" {
		sites, err := g.explained()
		if err != nil {
			return err
		}
		for _, c := range sites {
			if c.cause {
				continue
			}
			if c.rank == 0 {
				out.Sites = append(out.Sites, g.site(c.site, factor))
				c.rank = len(out.Sites)
			}
			out.Sites[c.rank-1].Evidence = measure.ByName(&c.site.Features)
		}
	}
	if !r.Why.DataMissing() {
		chance := text.Finite(r.Chance)
		out.Chance = &chance
	}
	return text.WriteJSON(w, out)
}

func (g *Report) causesJSON(factor float64) []causeJSON {
	out := []causeJSON{}
	for i := range g.Result.Causes {
		c := &g.Result.Causes[i]
		blame := g.DescribeCause(c).Blame
		out = append(out, causeJSON{
			Function: blame.Function, Module: blame.Module, File: blame.File,
			Label: c.Label.String(), Confidence: text.Finite(c.Confidence),
			GrowthBytes: c.Gained, Share: text.Finite(c.Share), Sites: c.Sites, Stacks: len(c.Members),
			BytesPerHour: g.perHour(c.Slope), Rate: text.Finite(c.Slope * factor),
		})
	}
	return out
}

// perHour converts a slope to bytes per hour; nil if the clock does not count time.
func (g *Report) perHour(slope float64) *float64 {
	if !g.Series.Clock.Source.IsTime() || math.IsNaN(slope) || math.IsInf(slope, 0) {
		return nil
	}
	v := slope * 3600
	return &v
}

func (g *Report) site(s *growth.Site, factor float64) siteJSON {
	v := g.Describe(s)
	var old *float64
	if share, ok := g.Ages.Old(s.Members); ok {
		old = &share
	}
	low, high := s.Interval()
	return siteJSON{
		Label: s.Label.String(), Confidence: text.Finite(s.Confidence), Stacks: len(s.Members),
		SiteKey: v.Keys.Site, KeyKind: v.Keys.Kind, PathKey: v.Keys.Path,
		Blame: v.Blame, Frames: g.sites().Frames(s.Members),
		InuseBytes: visible(s.Bytes, s.Visible), InuseObjects: visible(s.Objects, s.Visible),
		GrowthBytes: s.Gained, BytesPerHour: g.perHour(s.Slope), Low: g.perHour(low), High: g.perHour(high),
		Rate: text.Finite(s.Slope * factor), Resizing: s.Resizing, Old: old, Imported: text.Finite(s.ImportShare),
		Parts: partsOf(s), Pool: poolOf(s), Holders: holders.JSONOf(g.Holders.Of(s.Members).Held),
		Advice: g.Advice(s, v), Losses: siteview.LossRecords(g.Losses.Of(s)),
	}
}

// visible are the values of a column; nil where the site is not visible.
func visible(values []int64, shown []bool) []*int64 {
	out := make([]*int64, len(values))
	for i := range values {
		if shown[i] {
			out[i] = &values[i]
		}
	}
	return out
}

// seriesOf describes the snapshots of a series.
func seriesOf(s *series.Series) seriesJSON {
	out := seriesJSON{Clock: s.Clock.Source.String(), Snapshots: []snapshotJSON{}, Warnings: []string{}}
	for i, h := range s.Heads {
		j := snapshotJSON{
			Path: h.Path, Seq: h.File.Seq, InuseBytes: h.Heap().InuseBytes, InuseObjects: h.Heap().InuseObjects,
			Truncated: h.Completeness.Truncated, AbsentMaxByte: h.Completeness.AbsentMax.InuseBytes,
		}
		if s.Clock.Source.IsTime() {
			t := s.Clock.Times[i].UTC()
			j.Time = &t
		}
		if s.RSS != nil {
			j.RSSBytes = s.RSS[i]
		}
		out.Snapshots = append(out.Snapshots, j)
	}
	for _, w := range text.Advise(pipeline.AllWarnings(s)) {
		out.Warnings = append(out.Warnings, w.Error())
	}
	return out
}
