package diff

import (
	"fmt"
	"io"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Persist is the answer to "what did this phase leave behind?".
type Persist struct {
	*compare.Persistence
	siteview.View
}

// Text writes the table for people.
func (d *Persist) Text(w io.Writer) error {
	p := &text.Printer{W: w}
	for i, m := range d.Moments {
		later := ""
		if i > 0 {
			later = since(d.Moments[i-1].Head, m.Head)
		}
		side(p, [3]string{"BEFORE", "DURING", "AFTER "}[i], m.Head, later)
	}
	for i, m := range d.Moments {
		notes(p, m, [3]string{"BEFORE", "DURING", "AFTER"}[i])
	}
	p.Linef("%s came between BEFORE and DURING and stayed until AFTER%s", units.Bytes(d.Stayed), d.certain())
	if len(d.Rows) == 0 {
		return p.Err
	}
	p.Linef("")
	p.Linef("%3s  %12s %10s %9s %10s %10s %10s  %s", "#", "STAYED", "CERTAIN", "OBJECTS", "BEFORE", "DURING", "AFTER", "SITE")
	view := d.Sites(d.Moments[0].Symbols)
	shown := text.FirstRows(d.Rows, d.Top)
	for i := range shown {
		r := &shown[i]
		site, where := view.Title(r.Sites[0])
		p.Linef("%3d  %12s %10s %9d %10s %10s %10s  %s  %s", i+1, atMostMark(r.AtMost)+units.SignedBytes(r.Stayed), certainly(r.Certain), r.StayedObjects,
			units.Bytes(r.At[0].InuseBytes), units.Bytes(r.At[1].InuseBytes), units.Bytes(r.At[2].InuseBytes), site, where)
		if path := view.CallPath(r.Sites); path != "" {
			p.Linef("     %s", path)
		}
	}
	if n := len(d.Rows) - len(shown); n > 0 {
		var sum int64
		for i := range d.Rows[len(shown):] {
			sum += d.Rows[len(shown)+i].Stayed
		}
		p.Linef("… and %s with %s: --top %d shows them", units.Count(n, "more site"), units.SignedBytes(sum), len(d.Rows))
	}
	return p.Err
}

func (d *Persist) certain() string {
	if len(d.Rows) == 0 || d.Rows[0].Certain < 0 {
		return ""
	}
	return fmt.Sprintf("; of %s this is certain: the sites freed too little for it to be others", units.Bytes(d.Certain))
}

// atMostMark stands before what is a bound.
func atMostMark(bound bool) string {
	if bound {
		return "≤ "
	}
	return ""
}

func certainly(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return units.Bytes(n)
}

type persistJSON struct {
	Schema  string         `json:"schema"`
	Moments []diffSide     `json:"moments"`
	Stayed  int64          `json:"stayed_bytes"`
	Certain *int64         `json:"certain_bytes"`
	Sites   []persistEntry `json:"sites"`
}

type persistEntry struct {
	Stayed        int64            `json:"stayed_bytes"`
	StayedObjects int64            `json:"stayed_objects"`
	Certain       *int64           `json:"certain_bytes"`
	AtMost        bool             `json:"stayed_at_most,omitempty"`
	At            []text.Counts    `json:"at"`
	Stacks        int              `json:"stacks"`
	Blame         siteview.Blame   `json:"blame"`
	Frames        []siteview.Frame `json:"frames"`
}

// JSON writes the result as heaplapse.persist/1, all rows.
func (d *Persist) JSON(w io.Writer) error {
	out := persistJSON{Schema: "heaplapse.persist/1", Stayed: d.Stayed, Sites: []persistEntry{}}
	for _, m := range d.Moments {
		out.Moments = append(out.Moments, sideJSON(m))
	}
	view := d.Sites(d.Moments[0].Symbols)
	if len(d.Rows) > 0 && d.Rows[0].Certain >= 0 {
		out.Certain = &d.Certain
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		e := persistEntry{
			Stayed: r.Stayed, StayedObjects: r.StayedObjects, AtMost: r.AtMost, Stacks: len(r.Sites),
			Blame: view.Blame(r.Sites[0]), Frames: siteview.Frames(view.Symbols, view.Stack(r.Sites[0])),
		}
		if r.Certain >= 0 {
			e.Certain = &r.Certain
		}
		for _, c := range r.At {
			e.At = append(e.At, text.Counts(c))
		}
		out.Sites = append(out.Sites, e)
	}
	return text.WriteJSON(w, out)
}
