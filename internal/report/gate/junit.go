package gate

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// maxCases is the largest number of rows in a JUnit report, because viewers show all of them.
// Regressions come first.
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
// for each row. Regressions are failures, runs that are not comparable are an error, and
// suppressed rows are skipped.
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
	names := g.caseNames()
	for i := range g.Rows {
		r := &g.Rows[i]
		if i >= maxCases {
			suite.Out += fmt.Sprintf("%s left out\n", units.Count(len(g.Rows)-i, "more row"))
			break
		}
		suite.add(g.rowCase(r, names[i]))
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
	text := strings.Join(lines, "\n")
	if g.Total.Status == gate.Regressed && len(lines) > 0 {
		c.Failure = &junitOutcome{Type: "heap-level", Message: c.Name + ": " + lines[0], Text: text}
		return c
	}
	c.Out = text
	return c
}

// caseNames are the names of the rows' cases, which are the same every night: the function, its
// file if several functions have that name, and the fingerprint if that is not enough.
func (g *Report) caseNames() []string {
	names := make([]string, len(g.Rows))
	for i := range g.Rows {
		names[i] = viewOf(&g.Rows[i]).Clipped(200)
	}
	fingerprint := func(r *gate.Row) string { return text.Clean(r.Fingerprint) }
	for _, more := range []func(*gate.Row) string{fileName, fingerprint} {
		count := map[string]int{}
		for _, n := range names {
			count[n]++
		}
		for i := range g.Rows {
			if count[names[i]] > 1 {
				names[i] += " (" + more(&g.Rows[i]) + ")"
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
	default:
		c.Out = string(r.Status) + "\n" + body
	}
	return c
}

// rowText is the text about a row.
func (g *Report) rowText(r *gate.Row) string {
	lines := append([]string{named(r, 90)}, g.details(r)...)
	if why := aside(r); why != "" {
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
