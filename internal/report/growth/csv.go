package growth

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

// csvColumns are the columns of CSV. Further ones are only ever added at the end.
var csvColumns = []string{
	"rank", "verdict", "confidence", "growth_bytes", "rate", "rate_per", "now_bytes", "function", "file", "line", "module",
	"call_paths", "process",
}

// CSV writes all sites that are listed, one per line, quoted as in RFC 4180; lines end in LF. A
// cell of text that a spreadsheet would take for a formula begins with an apostrophe.
func (g *Report) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvColumns) // Error returns its error
	for i := range g.Result.Sites {
		_ = out.Write(g.csvRow(i+1, &g.Result.Sites[i]))
	}
	out.Flush()
	return out.Error()
}

func (g *Report) csvRow(rank int, s *growth.Site) []string {
	unit, factor := g.RateUnit()
	v := g.Describe(s)
	line := ""
	if v.Blame.Line > 0 {
		line = strconv.Itoa(v.Blame.Line)
	}
	return []string{
		strconv.Itoa(rank), s.Label.String(), csvNumber(s.Confidence), strconv.FormatInt(s.Gained, 10),
		csvNumber(s.Slope * factor), unit, strconv.FormatInt(g.Now(s), 10), cell(v.Name),
		cell(v.Blame.File), line, cell(v.Blame.Module),
		strconv.Itoa(v.CallPaths), cell(g.Series.Process.Name()),
	}
}

func csvNumber(f float64) string { return strconv.FormatFloat(text.Finite(f), 'f', 3, 64) }

// cell is a text from the input, which may be hostile: without control characters, and never a
// formula (OWASP, CSV injection).
func cell(s string) string {
	s = text.Clean(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
