package page

import (
	"crypto/sha256"
	_ "embed" // the script, its style and the frame of the document are files
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/growth"
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

// HTML writes the page: one document that refers to nothing outside of it. Its policy forbids such
// references.
func (m *Model) HTML(w io.Writer) error {
	data := m.packed
	if data == nil {
		var err error
		if data, err = m.pack(); err != nil {
			return err
		}
	}
	return document.Execute(w,
		view{m, template.JS(script), template.CSS(style), template.HTML(base64.StdEncoding.EncodeToString(data))})
}

// view is the data of the document's template.
type view struct {
	*Model
	Script template.JS
	Style  template.CSS
	Data   template.HTML // base64 needs no escapes
}

// Policy allows only the page's own script and style, by their hashes: no network, and no other
// code.
func (v view) Policy() string {
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

// Instead is the command that writes the findings for those who cannot see the charts.
func (v view) Instead() string { return "heaplapse report " + v.flags.Of(option.Markdown) }

// FilterFlags are the flags that leave stacks out.
func (v view) FilterFlags() string {
	return v.flags.Of(option.Focus) + " and " + v.flags.Of(option.Ignore)
}

// Processes are the rows of the table of processes; none if there is only one.
func (v view) Processes() []growth.ProcessRow { return v.rows }

// fact is one of the numbers below the headline.
type fact struct{ Name, Value, More string }

// Facts are the sizes and the growth of the heap and of the process, the causes, and the confidence
// of the worst site.
func (v view) Facts() []fact {
	out := []fact{{"Heap", text.FromTo(v.Heap.First, v.Heap.Last, v.Snapshots), signedRate(v.Rate, v.RatePer)}}
	if v.RSS != nil {
		out = append(out, fact{"Process (RSS)", text.FromTo(v.RSS.First, v.RSS.Last, v.Snapshots),
			units.Bytes(v.RSS.Last-v.Heap.Last) + " of it outside the heap"})
	} else {
		out = append(out, fact{"Process (RSS)", "not recorded", "heaplapse record records it"})
	}
	for _, c := range v.Causes {
		out = append(out, fact{"Cause", strings.TrimSpace(c.Title + " " + c.Where), c.Explains})
	}
	if len(v.Sites) > 0 && strings.HasPrefix(v.Sites[0].Label, "leak") {
		worst := v.Sites[0]
		out = append(out, fact{"Worst site", signedRate(worst.Rate, v.RatePer),
			fmt.Sprintf("%.0f %% confidence", 100*worst.Confidence)},
			fact{"Leaks", fmt.Sprintf("%.0f %% of the growth", 100*v.Explained), ""})
	}
	return append(out, fact{"Snapshots", fmt.Sprint(v.Snapshots), v.Span})
}

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
