package diff

import (
	"io"
	"math"
	"time"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

type resultJSON struct {
	Schema         string       `json:"schema"`
	Base           diffSide     `json:"base"`
	Current        diffSide     `json:"current"`
	SameProcess    bool         `json:"same_process"`
	HasAlloc       bool         `json:"has_alloc"`
	Delta          text.Counts  `json:"delta"`
	BornBefore     *time.Time   `json:"born_before,omitempty"`
	Filtered       bool         `json:"filtered"`
	Shown          text.Counts  `json:"shown"`
	Matched        []tierJSON   `json:"matched"`
	UnmatchedShare float64      `json:"unmatched_share"`
	Unchanged      int          `json:"unchanged"`
	Sites          []deltaEntry `json:"sites"`
}

type diffSide struct {
	Path      string      `json:"path"`
	Time      *time.Time  `json:"time"`
	Total     text.Counts `json:"total"`
	Hidden    text.Counts `json:"hidden"`
	Truncated bool        `json:"truncated"`
}

type tierJSON struct {
	By         string `json:"by"`
	Sites      int    `json:"sites"`
	InuseBytes int64  `json:"inuse_bytes"`
}

type deltaEntry struct {
	Change        compare.Change       `json:"change"`
	Delta         text.Counts          `json:"delta"`
	Base          text.Counts          `json:"base"`
	Current       text.Counts          `json:"current"`
	BaseAtMost    *text.Counts         `json:"base_at_most,omitempty"`
	CurrentAtMost *text.Counts         `json:"current_at_most,omitempty"`
	NoiseBytes    float64              `json:"noise_bytes"`
	MatchedBy     string               `json:"matched_by"`
	Moved         bool                 `json:"moved"`
	Stacks        int                  `json:"stacks"`
	Blame         siteview.Blame       `json:"blame"`
	Frames        []siteview.FrameJSON `json:"frames"`
	Advice        string               `json:"advice,omitempty"`
}

// JSON writes the result as heaplapse.diff/1, all rows.
func (d *Report) JSON(w io.Writer) error {
	out := resultJSON{
		Schema: "heaplapse.diff/1", Base: sideJSON(d.Base), Current: sideJSON(d.Current), SameProcess: d.SameProcess,
		HasAlloc: d.HasAlloc(), Delta: text.Counts(d.Total()), Filtered: d.Current.Filter != nil,
		Shown: text.Counts(d.Shown()), Matched: []tierJSON{}, UnmatchedShare: d.UnmatchedShare(),
		Unchanged: d.Unchanged, Sites: []deltaEntry{},
	}
	if limit := d.Current.Series.Limit(); !limit.IsZero() {
		limit = limit.UTC()
		out.BornBefore = &limit
	}
	for i, t := range d.Tiers {
		out.Matched = append(out.Matched, tierJSON{identity.Tier(i).String(), t.Sites, text.Whole(t.Bytes)})
	}
	sides := d.describers()
	for i := range d.Rows {
		out.Sites = append(out.Sites, deltaJSON(&d.Rows[i], sides))
	}
	return text.WriteJSON(w, out)
}

func sideJSON(s *compare.Side) diffSide {
	out := diffSide{
		Path: s.Head.Path, Total: text.Counts(s.Head.Heap()), Hidden: text.Counts(s.Hidden()),
		Truncated: s.Head.Completeness.Truncated || s.Head.Completeness.Unfinished,
	}
	if t := timeOf(s.Head); !t.IsZero() {
		utc := t.UTC()
		out.Time = &utc
	}
	return out
}

func deltaJSON(r *compare.Row, sides [2]*siteview.Describer) deltaEntry {
	describer, row := of(r, sides)
	v := describer.View(row)
	out := deltaEntry{
		Change: r.Change, Delta: text.Counts(r.Delta()), Base: text.Counts(r.Base), Current: text.Counts(r.Current),
		NoiseBytes: math.Round(r.Noise), MatchedBy: r.Tier.String(), Moved: r.Moved,
		Stacks: max(len(r.BaseSites), len(r.CurrentSites)),
		Blame:  v.Blame, Frames: describer.Frames(row), Advice: v.Advice(false),
	}
	if len(r.BaseSites) == 0 || len(r.CurrentSites) == 0 {
		out.MatchedBy = identity.Unmatched.String()
	}
	none := heapfile.Counts{}
	if r.BaseBound != none {
		out.BaseAtMost = atMost(r.Base, r.BaseBound)
	}
	if r.CurrentBound != none {
		out.CurrentAtMost = atMost(r.Current, r.CurrentBound)
	}
	return out
}

// atMost is what is visible and what truncation may hide, together.
func atMost(c, bound heapfile.Counts) *text.Counts {
	add := func(n, bound int64) int64 {
		if bound > math.MaxInt64-max(n, 0) {
			return math.MaxInt64
		}
		return n + bound
	}
	j := text.Counts{
		InuseObjects: add(c.InuseObjects, bound.InuseObjects), InuseBytes: add(c.InuseBytes, bound.InuseBytes),
		AllocObjects: add(c.AllocObjects, bound.AllocObjects), AllocBytes: add(c.AllocBytes, bound.AllocBytes),
	}
	return &j
}
