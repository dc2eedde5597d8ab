package page

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the script, its style and the frame of the document are files
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

//go:embed assets/page.js
var script string

//go:embed assets/page.css
var style string

//go:embed document.html
var documentHTML string

var document = template.Must(template.New("document").Parse(documentHTML))

// Document is a page: the models of its processes, the worst first.
type Document struct {
	models []*Model
	// left is the number of processes that cannot be opened on the page, for lack of room.
	left int
}

// JSON writes the model of the worst process.
func (d *Document) JSON(w io.Writer) error { return d.models[0].JSON(w) }

// HTML writes the page: one document that refers to nothing outside of it. Its policy forbids such
// references.
func (d *Document) HTML(w io.Writer) error {
	v := documentView{Script: template.JS(script), Style: template.CSS(style), Left: d.left}
	for _, m := range d.models {
		v.All = append(v.All, view{m})
	}
	v.view = v.All[0]
	return document.Execute(w, v)
}

// documentView is the data of the document's template. The methods of the worst process are its
// own.
type documentView struct {
	view
	All    []view
	Script template.JS
	Style  template.CSS
	Left   int
}

// Policy allows only the page's own script and style, by their hashes: no network, and no other
// code.
func (v documentView) Policy() string {
	return "default-src 'none'; script-src " + hash(
		script,
	) + "; style-src " + hash(
		style,
	) + "; img-src data:; base-uri 'none'; form-action 'none'"
}

// hash is the source expression of an inline script or style (Content Security Policy Level 3,
// 2.3.1).
func hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// view is a process in the document's template.
type view struct{ *Model }

// pooledRow is a row of the table of sites in all processes, as text.
type pooledRow struct {
	Badge                                        // the most alarming verdict
	Title, Where, Growth, Rate, Now, In, Address string
	Parts                                        []pooledRow
	Meaning                                      string
}

// Badge is a verdict as text, and the family whose look it has.
type Badge struct{ Family, Label string }

// PooledRows are the rows of the table of sites in all processes.
func (v documentView) PooledRows() (out []pooledRow) {
	names := map[string]string{}
	for _, r := range v.rows {
		names[r.ID] = r.Name
	}
	for _, p := range v.Pooled {
		row := pooledRow{
			Badge: badgeOf(&p.Parts[0]), Title: p.Title, Where: p.Where, Growth: units.SignedBytes(p.Growth),
			Rate: "–", Now: units.Bytes(p.Now), In: p.in(), Meaning: p.Parts[0].meaning,
		}
		if p.Rate != nil {
			row.Rate = units.SignedBytes(*p.Rate)
		}
		for i := range p.Parts {
			part := &p.Parts[i]
			row.Parts = append(row.Parts, pooledRow{
				Badge: badgeOf(part), Title: cmp.Or(names[v.All[part.process].id], part.Process),
				Growth: units.SignedBytes(part.Growth), Rate: units.SignedBytes(part.Rate), Now: units.Bytes(part.Now),
				Address: fmt.Sprintf("#process=%d&site=%d", part.process+1, part.Site),
			})
		}
		out = append(out, row)
	}
	return out
}

// badgeOf is the verdict of a part, with the probability of a leak where that matters.
func badgeOf(p *Part) Badge {
	family := ""
	if p.label.IsSuspicious() {
		family = "alarming"
	}
	return Badge{family, growth.LabelText(p.label, p.Confidence)}
}

// Process is the name of the process.
func (v view) Process() string { return v.process }

// Data is the packed model.
func (v view) Data() (template.HTML, error) {
	data, err := v.packed, error(nil)
	if data == nil {
		data, err = v.pack()
	}
	return template.HTML(base64.StdEncoding.EncodeToString(data)), err // base64 needs no escapes
}

// Labels are the verdicts on sites and their meanings.
func (v documentView) Labels() [][2]string { return growth.Labels() }

// Instead is the command that writes the findings for those who cannot see the charts.
func (v view) Instead() string { return option.Markdown }

// FilterFlags are the flags that leave stacks out.
func (v view) FilterFlags() string {
	return option.Focus + " and " + option.Ignore
}

// processRow is a row of the table of processes.
type processRow struct {
	growth.ProcessRow
	// Opens is the index of the process on the page, from 1; 0 if it cannot be opened.
	Opens int
}

// ProcessRows are the rows of the table of processes; none if there is only one. Commands that are
// all the same are left out.
func (v documentView) ProcessRows() (out []processRow) {
	for _, r := range v.rows {
		at := slices.IndexFunc(v.All, func(m view) bool { return m.id == r.ID })
		out = append(out, processRow{r, at + 1})
	}
	if slices.IndexFunc(out, func(r processRow) bool { return r.Command != out[0].Command }) < 0 {
		for i := range out {
			out[i].Command = ""
		}
	}
	return out
}

// fact is one of the numbers below the headline.
type fact struct{ Name, Value, More string }

// Facts are the sizes and the growth of the heap and of the process, the causes, and the confidence
// of the worst site.
func (v view) Facts() []fact {
	out := []fact{{"Heap", text.FromTo(v.Heap.First, v.Heap.Last, v.Snapshots), signedRate(v.Rate, v.RatePer)}}
	if v.RSS != nil {
		outside := "part of the heap was not resident"
		if bytes := v.RSS.Last - v.Heap.Last; bytes >= 0 {
			outside = units.Bytes(bytes) + " of it outside the heap"
		}
		out = append(out, fact{"Process (RSS)", text.FromTo(v.RSS.First, v.RSS.Last, v.Snapshots), outside})
	} else {
		out = append(out, fact{"Process (RSS)", "not recorded", option.RecordCommand + " records it"})
	}
	for _, c := range v.Causes {
		out = append(out, fact{"Cause", strings.TrimSpace(c.Title + " " + c.Where), c.Explains})
	}
	if len(v.Sites) > 0 && strings.HasPrefix(v.Sites[0].Label, "leak") {
		worst := v.Sites[0]
		out = append(out, fact{"Worst site", signedRate(worst.Rate, v.RatePer),
			"chance of a leak: " + text.Percent(worst.Confidence)},
			fact{"Leaks", fmt.Sprintf("%.0f %% of the growth", 100*v.Explained), ""})
	}
	return append(out, fact{"Snapshots", fmt.Sprint(v.Snapshots), v.Span})
}

// residentRow is a row about a part of the resident memory.
type residentRow struct {
	Bytes, Share, Text, Details, Note string
	Percent                           int
	Level                             int
}

// mostResident limits the lines about parts of the resident memory.
const mostResident = 12

// SmallHeap reports whether the heap explains little of the resident memory.
func (v view) SmallHeap() bool { return v.smallHeap }

// ResidentBytes is the size of the resident memory.
func (v view) ResidentBytes() string { return units.Bytes(v.Resident.Bytes) }

// ResidentRows are the parts of the resident memory.
func (v view) ResidentRows() (rows []residentRow) {
	for _, r := range (&holders.RSS{Result: v.Resident}).Rows(mostResident) {
		share := float64(r.Bytes) / float64(max(v.Resident.Bytes, 1))
		rows = append(rows, residentRow{
			Bytes: units.Bytes(r.Bytes), Share: units.Percent(share), Percent: int(100*share + 0.5), Level: r.Level,
			Text: r.Text, Details: strings.Join(r.Details, ", "), Note: r.Note,
		})
	}
	return rows
}

// ResidentRemarks are lines about what is not known of the resident memory, and about what helps.
func (v view) ResidentRemarks() []string { return (&holders.RSS{Result: v.Resident}).Remarks() }

// signedRate returns a rate as text; it is empty if the rate is 0, as in a series that is too
// short.
func signedRate(rate float64, per string) string {
	if rate == 0 {
		return ""
	}
	text := units.Bytes(rate) + " per " + per
	if rate > 0 {
		return "+" + text
	}
	return text
}

// PageNotes are the notes about the snapshots.
func (v view) PageNotes() []string { return v.notes }

// FewRemarks reports whether notes and warnings are shown unfolded.
func (v view) FewRemarks() bool { return len(v.Notes)+len(v.Warnings) <= 4 }

// RemarkCount is the heading of the notes and warnings.
func (v view) RemarkCount() string {
	if n := len(v.Notes) + len(v.Warnings); n > 1 {
		return fmt.Sprintf("%d notes on these snapshots", n)
	}
	return "1 note on these snapshots"
}

// FoldedText is what the page leaves out.
func (v view) FoldedText() string {
	shown := fmt.Sprintf("All %d snapshots are shown", v.Snapshots)
	if len(v.Moments) < v.Snapshots {
		shown = fmt.Sprintf(
			"%d of %d snapshots are shown: the first and last ones, the peak, restarts, changes of the trigger, and others evenly spaced in time",
			len(v.Moments),
			v.Snapshots,
		)
	}
	text := shown + "; their totals are exact."
	if f := v.Folded; f.CallPaths > 0 {
		text += fmt.Sprintf(
			" %d smaller call paths are folded into their callers; together they are at most %.1f %% of the heap at any moment.",
			f.CallPaths,
			100*f.InuseShare,
		)
	}
	if n := v.Folded.Sites; n > 0 {
		text += fmt.Sprintf(" %d smaller sites share one row.", n)
	}
	if v.Folded == (Folded{}) {
		text += " Nothing is folded."
	}
	return text
}
