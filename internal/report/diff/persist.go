package diff

import (
	"fmt"
	"io"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Persist is the memory that a phase of a program left in use.
type Persist struct {
	*compare.Persistence
	siteview.Options
}

// Text writes the report for a terminal.
func (d *Persist) Text(w io.Writer) error {
	p := &text.Printer{W: w, Links: siteview.Links(d.Style, d.Moments[0].Symbols)}
	names := [3]string{"BEFORE", "DURING", "AFTER"}
	for i, m := range d.Moments {
		later := ""
		if i > 0 {
			later = since(d.Moments[i-1].Head, m.Head)
		}
		side(p, text.Pad(names[i], len("BEFORE")), m.Head, later)
	}
	for i, m := range d.Moments {
		notes(p, m, names[i])
	}
	p.Linef("%s allocated between BEFORE and DURING were still in use at AFTER%s", units.Bytes(d.Stayed), d.certain())
	if len(d.Rows) > 0 {
		d.table(p)
	}
	return p.Err
}

func (d *Persist) table(p *text.Printer) {
	p.Linef("")
	p.Linef("%s", d.Style.Head(fmt.Sprintf("%3s  %12s %10s %9s %10s %10s %10s  %s", "#", "STAYED", "CERTAIN", "OBJECTS",
		"BEFORE", "DURING", "AFTER", "SITE")))
	describer := d.describer()
	shown := text.FirstRows(d.Rows, d.Top)
	for i := range shown {
		r := &shown[i]
		v := describer.View(r.Sites)
		numbers := fmt.Sprintf("%3d  %12s %10s %9d %10s %10s %10s  ", i+1, atMostMark(r.AtMost)+units.SignedBytes(r.Stayed),
			certainly(r.Certain), r.StayedObjects,
			units.Bytes(r.At[0].InuseBytes), units.Bytes(r.At[1].InuseBytes), units.Bytes(r.At[2].InuseBytes))
		for _, line := range text.Row(numbers, v.Title(), v.Where, d.Width) {
			p.Linef("%s", line)
		}
		if path := v.CallPath(max(d.Width-len(text.Indent), 0)); path != "" {
			p.Linef("     %s", path)
		}
	}
	if n := len(d.Rows) - len(shown); n > 0 {
		var sum int64
		for i := range d.Rows[len(shown):] {
			sum += d.Rows[len(shown)+i].Stayed
		}
		p.Linef("… and %s with %s%s", units.Count(n, "more site"), units.SignedBytes(sum), text.ShowAll(len(d.Rows)))
	}
}

func (d *Persist) describer() *siteview.Describer {
	return siteview.NewDescriber(d.Moments[0].Symbols, d.Options)
}

// certain is how much of the memory must be the same objects; empty if that is not known.
func (d *Persist) certain() string {
	if len(d.Rows) == 0 || d.Rows[0].Certain < 0 {
		return ""
	}
	return fmt.Sprintf("; at least %s must be the same objects", units.Bytes(d.Certain))
}

// atMostMark marks an upper bound.
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
	Stayed        int64                `json:"stayed_bytes"`
	StayedObjects int64                `json:"stayed_objects"`
	Certain       *int64               `json:"certain_bytes"`
	AtMost        bool                 `json:"stayed_at_most,omitempty"`
	At            []text.Counts        `json:"at"`
	Stacks        int                  `json:"stacks"`
	Blame         siteview.Blame       `json:"blame"`
	Frames        []siteview.FrameJSON `json:"frames"`
}

// JSON writes the result as heaplapse.persist/1, all rows.
func (d *Persist) JSON(w io.Writer) error {
	out := persistJSON{Schema: "heaplapse.persist/1", Stayed: d.Stayed, Sites: []persistEntry{}}
	for _, m := range d.Moments {
		out.Moments = append(out.Moments, sideJSON(m))
	}
	describer := d.describer()
	if len(d.Rows) > 0 && d.Rows[0].Certain >= 0 {
		out.Certain = &d.Certain
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		v := describer.View(r.Sites)
		e := persistEntry{
			Stayed: r.Stayed, StayedObjects: r.StayedObjects, AtMost: r.AtMost, Stacks: len(r.Sites),
			Blame: v.Blame, Frames: describer.Frames(r.Sites),
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
