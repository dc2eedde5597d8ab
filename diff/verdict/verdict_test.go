package verdict

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

var update = flag.Bool("update", false, "write the tables into the schemas, docs/verdict.md and the script of the page")

func allReasons() (out []Reason) {
	for i := range reasons {
		out = append(out, Reason(i))
	}
	return out
}

// TestNamesAreStable: they are in JSON and in tables of users.
func TestNamesAreStable(t *testing.T) {
	require.Equal(t, strings.Fields("leak leak-late suspect loading warming plateaued load-driven "+
		"grew-then-flat irregular shrinking stable insufficient"), names(Sites()))
	require.Equal(t, strings.Fields("leak undecided no-leak"), names(AllSeries()))
	require.Equal(t, strings.Fields("nothing-grows sites-leak cause-leaks sites-suspect cause-suspect "+
		"only-small-sites-grow only-heap-grows too-few-snapshots growth-hidden still-loading only-process-grows "+
		"nothing-recorded workers-not-recorded programs-not-recorded others-too-short may-replace "+
		"not-collected heap-not-recorded"), names(allReasons()))
}

// TestTheTablesAreWhole: each verdict has a name, words and a family.
func TestTheTablesAreWhole(t *testing.T) {
	for _, s := range Sites() {
		require.NotEmpty(t, s.String(), "site %d", s)
		require.NotEmpty(t, s.Meaning(), s)
		require.NotEmpty(t, s.Family(), s)
		require.LessOrEqual(t, s.Rank(), int(s))
	}
	for _, r := range allReasons() {
		require.NotEmpty(t, r.String(), "reason %d", r)
		require.NotEmpty(t, r.Text(Facts{}), r)
		require.NotEqual(t, -1, r.Series().Rank(), r)
		require.Equal(t, r.Series() == SeriesLeak, r.Status() == StatusFail, r)
		require.False(t, r.DataMissing() && r.Series() != SeriesUndecided, r)
	}
}

func TestFails(t *testing.T) {
	for _, c := range []struct {
		on              string
		leaks, suspects int
		want            bool
	}{
		{"", 1, 1, false}, {"leak", 1, 0, true}, {"leak", 0, 1, false}, {"suspect", 0, 1, true}, {"suspect", 1, 0, true},
		{"suspect", 0, 0, false},
	} {
		require.Equal(t, c.want, Fails(c.on, c.leaks, c.suspects), c)
	}
}

func TestAmong(t *testing.T) {
	require.Equal(t, "process 7 (1 of 2 processes leaks)", SeriesLeak.Among("7", 1, 2))
	require.Equal(t, "process 7 (2 of 3 processes are undecided)", SeriesUndecided.Among("7", 2, 3))
	require.Equal(t, "none of 3 processes leaks", SeriesNoLeak.Among("7", 3, 3))
	require.Equal(t, "process 7; 1 of 3 processes have no leak", SeriesNoLeak.Among("7", 1, 3))
}

// place is a part of a file that repeats a table.
type place struct {
	file string
	// pattern has two groups: what is before the part, and what is after it.
	pattern string
	text    func() string
}

var places = []place{
	{"docs/schema/growth.schema.json", `("label": \{\s*"enum": )\[\s*"leak",\s*"leak-late",\s*"suspect",[^\]]*\]()`, enumOf(all)},
	{"docs/schema/growth.schema.json", `("label": \{"enum": )\[\s*"leak",\s*"leak-late",\s*"suspect"\]()`, enumOf(suspicious)},
	{"docs/schema/growth.schema.json", `("reason": \{\s*"description": "what the verdict[^"]*",\s*"enum": )\[[^\]]*\]()`, reasonEnum},
	{"docs/schema/growth.schema.json", `("verdict": \{\s*"enum": )\[[^\]]*\]()`, seriesEnum},
	{"docs/schema/report.schema.json", `("label": \{\s*"enum": )\[\s*"leak",\s*"leak-late",\s*"suspect",[^\]]*\]()`, enumOf(all, "suppressed", "other", "unlisted")},
	{"docs/schema/report.schema.json", `("verdict": \{\s*"enum": )\[[^\]]*\]()`, seriesEnum},
	{"docs/schema/fleet.schema.json", `("description": "judged, or why not: )[^"]*(")`, statuses},
	{"docs/verdict.md", `(?s)(<!-- sites: [^>]*>\n).*?(<!-- end -->)`, siteTable},
	{"docs/verdict.md", `(?s)(<!-- reasons: [^>]*>\n).*?(<!-- end -->)`, reasonTable},
	{"internal/report/page/web/src/verdict.js", `(?s)(const familyOf = \{).*?(\};)`, families},
}

// TestFilesHaveTheTables: what repeats a table has all of it.
func TestFilesHaveTheTables(t *testing.T) {
	for _, p := range places {
		path := filepath.Join(testutil.Root(t), p.file)
		old, err := os.ReadFile(path)
		require.NoError(t, err)
		pattern := regexp.MustCompile(p.pattern)
		require.True(t, pattern.Match(old), "%s: no %s", p.file, pattern)
		with := strings.ReplaceAll(p.text(), "$", "$$")
		now := pattern.ReplaceAllString(string(old), "${1}"+with+"${2}")
		if *update && now != string(old) {
			require.NoError(t, os.WriteFile(path, []byte(now), 0o600))
			continue
		}
		require.True(t, now == string(old), "%s differs from the table: run go test ./diff/verdict -update, then make assets", p.file)
	}
}

// TestThePageKnowsTheVerdicts: its script is built from the generated source, and has the look of each family.
func TestThePageKnowsTheVerdicts(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(testutil.Root(t), "internal/report/page", name))
		require.NoError(t, err)
		return string(text)
	}
	script, source, style := read("assets/page.js"), read("web/src/verdict.js"), read("web/src/page.css")
	for _, s := range Sites() {
		entry := regexp.MustCompile(fmt.Sprintf(`"?\b%s"?:"%s"`, s, s.Family()))
		require.True(t, entry.MatchString(script), "assets/page.js lacks %s: run make assets", s)
		require.True(t, strings.Contains(source, fmt.Sprintf("\n  %s: { mark: ", s.Family())), "verdict.js: %s", s.Family())
		require.True(t, strings.Contains(style, fmt.Sprintf("--%s-0", s.Family())), "page.css: %s", s.Family())
	}
	for _, s := range AllSeries() {
		require.True(t, strings.Contains(style, ".badge."+string(s)+" "), "page.css: %s", s)
	}
}

// TestTheReadmeExplainsTheVerdicts: its table says what to do about each.
func TestTheReadmeExplainsTheVerdicts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testutil.Root(t), "README.md"))
	require.NoError(t, err)
	for _, s := range Sites() {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\|[^|]*`%s`", s))
		require.True(t, row.Match(text), "README.md, Verdicts: no row has %s", s)
	}
}

func names[T any](list []T) (out []string) {
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func all(Site) bool          { return true }
func suspicious(s Site) bool { return s.IsSuspicious() }

func enum(list []string) string { return `["` + strings.Join(list, `", "`) + `"]` }

// enumOf returns the enumeration of some verdicts on sites, and of names that are only in the file.
func enumOf(keep func(Site) bool, others ...string) func() string {
	return func() string {
		var list []string
		for _, s := range Sites() {
			if keep(s) {
				list = append(list, s.String())
			}
		}
		return enum(append(list, others...))
	}
}

func seriesEnum() string { return enum(names(AllSeries())) }

func reasonEnum() string { return enum(names(allReasons())) }

func statuses() string {
	var list []string
	for _, r := range allReasons() {
		if r.DataMissing() {
			list = append(list, r.String())
		}
	}
	return strings.Join(list, ", ") + "; undecided for any other reason"
}

func siteTable() string {
	var b strings.Builder
	b.WriteString("| verdict | the site |\n|---|---|\n")
	for _, s := range Sites() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", s, s.Meaning())
	}
	return b.String()
}

func reasonTable() string {
	var b strings.Builder
	b.WriteString("| reason | headline | why | `--fail-on leak` |\n|---|---|---|---|\n")
	for _, r := range allReasons() {
		why := r.Text(Facts{Sites: 2, Snapshots: 3, Good: 12, Hidden: 3 << 20, Workers: 2, Programs: 1, Short: 2, OwnHeap: "Go"})
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %d |\n", r, r.Series().Headline(), why, r.Status())
	}
	return b.String()
}

// families is the object that maps verdicts to families, in JavaScript.
func families() string {
	var order []Family
	of := map[Family][]string{}
	for _, s := range Sites() {
		name := s.String()
		if strings.Contains(name, "-") {
			name = `"` + name + `"`
		}
		if of[s.Family()] == nil {
			order = append(order, s.Family())
		}
		of[s.Family()] = append(of[s.Family()], fmt.Sprintf("%s: %q", name, string(s.Family())))
	}
	out := "\n"
	for _, f := range order {
		out += "  " + strings.Join(of[f], ", ") + ",\n"
	}
	return out
}
