package gate

import (
	"io"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

type resultJSON struct {
	Schema         string            `json:"schema"`
	Verdict        gate.Verdict      `json:"verdict"`
	Why            string            `json:"why"`
	FirstRun       bool              `json:"first_run"`
	Significance   bool              `json:"significance"`
	Current        runJSON           `json:"current"`
	Pool           []runJSON         `json:"pool"`
	Pinned         *runJSON          `json:"pinned"`
	Total          []valueJSON       `json:"total"`
	Functions      int               `json:"functions"`
	Unchanged      int               `json:"unchanged"`
	Matched        []tierJSON        `json:"matched"`
	UnmatchedShare float64           `json:"unmatched_share"`
	Causes         []causeJSON       `json:"causes"`
	Rows           []rowJSON         `json:"rows"`
	Expired        []suppressionJSON `json:"expired"`
	Notes          []string          `json:"notes"`
}

// causeJSON is a function through which many functions grew since the latest earlier run.
type causeJSON struct {
	Function string `json:"function"`
	Module   string `json:"module"`
	File     string `json:"file"`
	// GrowthBytes is the change of the bytes in use below it, Share its share of that of the heap.
	GrowthBytes int64   `json:"growth_bytes"`
	Share       float64 `json:"share"`
	Functions   int     `json:"functions"`
}

func (g *Report) causesJSON() []causeJSON {
	out := []causeJSON{}
	for _, c := range g.causes() {
		out = append(out, causeJSON{
			Function: c.frame.Function, Module: c.frame.Module, File: c.frame.File,
			GrowthBytes: c.Growth, Share: text.Finite(c.share), Functions: c.Sites,
		})
	}
	return out
}

// runJSON is a compared run. Bytes are the median of the second half of its snapshots.
type runJSON struct {
	Name         string            `json:"name"`
	Recorded     *time.Time        `json:"recorded"`
	Program      string            `json:"program"`
	BuildID      string            `json:"build_id"`
	Workload     string            `json:"workload"`
	Format       string            `json:"format"`
	Period       int64             `json:"sampling_period_bytes"`
	Snapshots    int               `json:"snapshots"`
	Span         float64           `json:"seconds"`
	Work         float64           `json:"work"`
	Labels       map[string]string `json:"labels,omitempty"`
	InuseBytes   int64             `json:"inuse_bytes"`
	InuseObjects int64             `json:"inuse_objects"`
	PeakBytes    int64             `json:"peak_bytes"`
}

type valueJSON struct {
	Metric  gate.Metric `json:"metric"`
	Base    gate.Base   `json:"base"`
	Before  float64     `json:"before"`
	After   float64     `json:"after"`
	Delta   float64     `json:"delta"`
	Percent *float64    `json:"percent"`
	Noise   *float64    `json:"noise"`
	Z       *float64    `json:"z"`
	Moved   float64     `json:"moved"`
	Need    *float64    `json:"need"`
	Judged  bool        `json:"judged"`
	Exceeds bool        `json:"exceeds"`
	Doubt   gate.Doubt  `json:"doubt,omitempty"`
	Chance  *float64    `json:"chance,omitempty"`
}

type tierJSON struct {
	By         string `json:"by"`
	Sites      int    `json:"sites"`
	InuseBytes int64  `json:"inuse_bytes"`
}

type rowJSON struct {
	Status      gate.Status           `json:"status"`
	Fingerprint string                `json:"fingerprint"`
	SiteKey     identity.Key          `json:"site_key"`
	KeyKind     identity.KeyKind      `json:"key_kind"`
	PathKey     identity.Key          `json:"path_key"`
	Blame       siteview.FunctionJSON `json:"blame"`
	Values      []valueJSON           `json:"values"`
	MatchedBy   string                `json:"matched_by"`
	Stacks      int                   `json:"stacks"`
	MovedWith   []string              `json:"moved_with,omitempty"`
	Thresholds  thresholdsJSON        `json:"thresholds"`
	Suppression *suppressionJSON      `json:"suppression,omitempty"`
	Advice      string                `json:"advice,omitempty"`
	// Losses are what other tools found at the function.
	Losses []siteview.LossRecord   `json:"loss_records,omitempty"`
	Holder string                  `json:"holder,omitempty"`
	Frames []siteview.FunctionJSON `json:"frames"`
}

type thresholdsJSON struct {
	Bytes   float64 `json:"bytes"`
	Share   float64 `json:"share_of_total"`
	Percent float64 `json:"percent"`
	Z       float64 `json:"z"`
}

type suppressionJSON struct {
	Pattern string  `json:"pattern"`
	Reason  string  `json:"reason"`
	Until   *string `json:"until"`
}

// JSON writes the result as heaplapse.gate/1, all rows.
func (g *Report) JSON(w io.Writer) error {
	out := resultJSON{
		Schema: "heaplapse.gate/1", Verdict: g.Verdict, Why: g.summary(), FirstRun: g.FirstRun, Significance: g.Significance,
		Current: *runOf(g.Current), Pool: []runJSON{}, Total: valuesJSON(g.Total.Values), Functions: g.Tested,
		Unchanged:      g.Unchanged,
		UnmatchedShare: text.Finite(g.UnmatchedShare()), Causes: g.causesJSON(),
		Rows: []rowJSON{}, Expired: []suppressionJSON{},
		Notes: g.notes(),
	}
	for _, r := range g.Baselines {
		out.Pool = append(out.Pool, *runOf(r))
	}
	if g.Reference != nil {
		out.Pinned = runOf(g.Reference)
	}
	for i, t := range g.Tiers {
		out.Matched = append(out.Matched, tierJSON{identity.Tier(i).String(), t.Sites, text.Whole(t.Bytes)})
	}
	for i := range g.Rows {
		out.Rows = append(out.Rows, g.rowOf(&g.Rows[i]))
	}
	for i := range g.Expired {
		out.Expired = append(out.Expired, suppressionOf(&g.Expired[i]))
	}
	return text.WriteJSON(w, out)
}

func runOf(r *baseline.Run) *runJSON {
	m := &r.Meta
	out := &runJSON{
		Name: m.Name, Program: m.Program, BuildID: m.BuildID, Workload: m.Workload, Format: m.Format, Period: m.Period,
		Snapshots: m.Snapshots, Span: text.Finite(m.Span), Work: text.Finite(m.Work), Labels: m.Labels,
		InuseBytes: text.Whole(r.Total.Bytes), InuseObjects: text.Whole(r.Total.Objects),
		PeakBytes: text.Whole(r.Total.Peak),
	}
	if !m.Recorded.IsZero() {
		t := m.Recorded.UTC()
		out.Recorded = &t
	}
	return out
}

func (g *Report) rowOf(r *gate.Row) rowJSON {
	out := rowJSON{
		Status: r.Status, Fingerprint: r.Fingerprint, Values: valuesJSON(r.Values), MatchedBy: r.Tier.String(),
		Stacks:     r.Stacks,
		Thresholds: thresholdsJSON(r.Thresholds), MovedWith: r.MovedWith, Advice: viewOf(r).Advice(false),
		Losses: siteview.LossRecords(g.lost(r)),
		Frames: []siteview.FunctionJSON{},
	}
	if f := blamed(r.Site); f != nil {
		out.Blame = siteview.FunctionOf(*f)
	}
	keys := viewOf(r).Keys
	out.SiteKey, out.KeyKind, out.PathKey = keys.Site, keys.Kind, keys.Path
	if r.Suppression != nil {
		s := suppressionOf(r.Suppression)
		out.Suppression = &s
	}
	if r.Site != nil {
		out.Holder = holder(r)
		out.Frames = siteview.FunctionsJSON(r.Site.Frames)
	}
	return out
}

func valuesJSON(values []gate.Value) []valueJSON {
	out := []valueJSON{}
	for _, v := range values {
		j := valueJSON{Metric: v.Metric, Base: v.Base, Before: text.Finite(v.Before), After: text.Finite(v.After),
			Delta: text.Finite(v.Delta()),
			Moved: text.Finite(v.Moved), Judged: v.Judged, Exceeds: v.Exceeds, Doubt: v.Doubt}
		if v.Doubt != "" {
			j.Chance = text.Number(v.Chance)
		}
		if v.Before > 0 {
			j.Percent = text.Number(100 * v.Delta() / v.Before)
		}
		if v.Noise > 0 {
			j.Noise, j.Z, j.Need = text.Number(v.Noise), text.Number(v.Z), text.Number(v.Need)
		}
		out = append(out, j)
	}
	return out
}

func suppressionOf(e *suppress.Entry) suppressionJSON {
	out := suppressionJSON{Pattern: e.Pattern, Reason: e.Reason}
	if !e.Until.IsZero() {
		day := e.Until.Format(time.DateOnly)
		out.Until = &day
	}
	return out
}
