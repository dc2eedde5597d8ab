package gate

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// maxCases is the largest number of functions in a JUnit report, because viewers show all of them.
// Regressions come first, then functions that changed.
const maxCases = 500

type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Out        string          `xml:"system-out"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Skipped *junitOutcome `xml:"skipped"`
	Failure *junitOutcome `xml:"failure"`
	Error   *junitOutcome `xml:"error"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitOutcome struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as JUnit XML: one suite with a test case for the heap as a whole and one
// for each function that was compared. Regressions are failures, runs that are not comparable are an
// error, and suppressed rows are skipped. So there are as many failures as functions that regressed,
// and one more if the heap regressed without them.
//
// There is no standard. The elements are those that Jenkins (junit-10.xsd), GitLab and GitHub's
// actions read.
func (g *Report) JUnit(w io.Writer) error {
	suite := junitSuite{Name: "heaplapse gate", Time: "0", Out: g.headline() + "\n"}
	if at := g.Current.Meta.Recorded; !at.IsZero() {
		suite.Timestamp = at.UTC().Format("2006-01-02T15:04:05")
	}
	for _, line := range g.runLines() {
		suite.Properties = append(suite.Properties, junitProperty{line[0], line[1]})
	}
	suite.add(g.totalCase())
	rows := slices.Concat(g.Rows, g.Same)
	names := caseNames(rows)
	for i := range rows[:min(len(rows), maxCases)] {
		suite.add(g.rowCase(&rows[i], names[i]))
	}
	if n := len(rows) - maxCases; n > 0 {
		suite.Out += fmt.Sprintf("%s left out\n", units.Count(n, "more function"))
	}
	return writeXML(w, junitSuites{
		Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Suite: suite,
	})
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
}

// totalCase is the heap as a whole.
func (g *Report) totalCase() junitCase {
	c := junitCase{Name: "the heap as a whole", Class: "heaplapse.total", Time: "0"}
	if g.Verdict == gate.Refused {
		c.Error = &junitOutcome{Type: string(g.Verdict), Message: g.summary()}
		return c
	}
	var lines []string
	for _, v := range g.Total.Values {
		lines = append(lines, metricText(v.Metric)+" "+g.valueText(v))
	}
	functions := len(g.with(gate.Regressed)) > 0
	exceeds := slices.ContainsFunc(g.Total.Values, func(v gate.Value) bool { return v.Exceeds && v.Judged })
	switch regressed := g.Total.Status == gate.Regressed && len(lines) > 0; {
	case regressed && functions:
		c.Failure = &junitOutcome{Type: "heap-level", Message: c.Name + " regressed without those functions, too: " + lines[0]}
	case regressed:
		c.Failure = &junitOutcome{Type: "heap-level", Message: c.Name + ": " + lines[0]}
	case exceeds && functions:
		lines = append(lines, "the functions that regressed explain the growth")
	}
	if text := strings.Join(lines, "\n"); c.Failure != nil {
		c.Failure.Text = text
	} else {
		c.Out = text
	}
	return c
}

// caseNames are the names of the rows' cases, which are the same every night: the function, its
// file if several functions have that name, and the fingerprint if that is not enough.
func caseNames(rows []gate.Row) []string {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = viewOf(&rows[i]).Clipped(200)
	}
	fingerprint := func(r *gate.Row) string { return text.Clean(r.Fingerprint) }
	for _, more := range []func(*gate.Row) string{fileName, fingerprint} {
		count := map[string]int{}
		for _, n := range names {
			count[n]++
		}
		for i := range rows {
			if count[names[i]] > 1 {
				names[i] += " (" + more(&rows[i]) + ")"
			}
		}
	}
	return names
}

// fileName is the source file of a row's function without its directories, else its module.
func fileName(r *gate.Row) string {
	f := blamed(r.Site)
	if f == nil {
		return ""
	}
	return text.Clip(path.Base(cmp.Or(f.File, f.Module)), 60)
}

// rowCase is a function.
func (g *Report) rowCase(r *gate.Row, name string) junitCase {
	c := junitCase{Name: name, Class: "heaplapse.function", Time: "0"}
	body := g.rowText(r)
	switch r.Status {
	case gate.Regressed:
		message := named(r, 90)
		if len(r.Values) > 0 {
			message += ": " + metricText(r.Values[0].Metric) + " " + g.valueText(r.Values[0])
		}
		c.Failure = &junitOutcome{Type: ruleOf(r), Message: message, Text: body}
	case gate.Suppressed:
		why := "suppressed"
		if r.Suppression != nil {
			why += " " + suppressed(r)
		}
		c.Skipped = &junitOutcome{Message: why}
		c.Out = body
	case gate.Unchanged:
		lines := []string{"unchanged: by less than a tenth of the thresholds, or within the noise", named(r, 90)}
		for _, v := range r.Values[:min(1, len(r.Values))] {
			lines = append(lines, metricText(v.Metric)+" "+g.valueText(v))
		}
		c.Out = strings.Join(lines, "\n")
	default:
		c.Out = string(r.Status) + "\n" + body
	}
	return c
}

// rowText is the text about a row.
func (g *Report) rowText(r *gate.Row) string {
	lines := append([]string{named(r, 90)}, g.details(r)...)
	if why := g.aside(r); why != "" {
		lines = append(lines, why)
	}
	return strings.Join(lines, "\n")
}

// writeXML writes an indented document. The encoder replaces characters that XML 1.0 does not
// allow.
func writeXML(w io.Writer, v any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
