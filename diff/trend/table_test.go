package trend

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

var update = flag.Bool("update", false, "write what repeats the table of features")

// TestTheTableIsComplete: each feature has a name of its own, a unit and a meaning in one line.
func TestTheTableIsComplete(t *testing.T) {
	names := map[string]bool{}
	for f := range FeatureCount {
		row := f.Info()
		require.Regexp(t, `^[a-z][a-z-]*$`, row.Name)
		require.False(t, names[row.Name], row.Name)
		names[row.Name] = true
		require.NotEmpty(t, row.Unit, row.Name)
		require.NotEmpty(t, row.Meaning, row.Name)
		require.NotContains(t, row.Meaning, "\n")
	}
}

// TestTheModelHasTheFeaturesOfTheTable, in order. It need not use all of them.
func TestTheModelHasTheFeaturesOfTheTable(t *testing.T) {
	next := Feature(0)
	for line := range strings.Lines(modelText) {
		if list, ok := strings.CutPrefix(line, "feature "); ok {
			name, _, _ := strings.Cut(list, " ")
			at := slices.IndexFunc(table[next:], func(r row) bool { return r.Name == name })
			require.GreaterOrEqual(t, at, 0, "%s is not in the table after %s", name, max(next-1, 0))
			next += Feature(at) + 1
		}
	}
	require.Greater(t, int(next), 90)
}

// TestExplanationsNameExplainedFeatures: what a line of an explanation lists says something.
func TestExplanationsNameExplainedFeatures(t *testing.T) {
	explained := map[Feature]bool{}
	for line, list := range lines {
		for _, f := range list {
			require.NotEmpty(t, table[f].says, "%s on the line %s", f, line)
			explained[f] = true
		}
	}
	for f := range FeatureCount {
		require.Equal(t, explained[f], table[f].says != nil, "%s is on no line of an explanation", f)
	}
}

func TestExplain(t *testing.T) {
	var f Features
	require.Equal(t, "unknown: the snapshots have no cumulative counts", f.Explain("load"))
	require.Empty(t, f.Explain("sampling"))
	require.Empty(t, f.Explain("imports"), "no feature is on it")
	f[FeatureAllocKnown], f[FeatureRetention], f[FeatureLeakShare], f[FeatureLeakT] = 1, 0.5, 1.2, 2.54
	require.Equal(t, "it allocates 1.00 times as fast at the end as at the start; 50 % of what it allocated is still in use; "+
		"the leak model explains 100 % of the growth; that is 2.5 standard errors", f.Explain("load"))
	f[FeatureGap] = 8
	require.Contains(t, f.Explain("end"), "; the last peak is old (p < 0.1 %)")
}

// place is a part of a file that repeats the table.
type place struct {
	file string
	// pattern has two groups: what is before the part, and what is after it.
	pattern string
	text    func() string
}

var places = []place{
	{"docs/features.md", `(?s)(<!-- features: [^>]*>\n).*?(<!-- end -->)`, tableOfFeatures},
	{"docs/schema/growth.schema.json", `(?s)("with --explain: the features [^"]*",\s*"properties": )\{.*?\n      \}()`, properties},
	{"scripts/model/train.py", `(?s)(MONOTONE = """\n).*?(""")`, monotone},
}

// TestFilesHaveTheTable: what repeats the table has all of it.
func TestFilesHaveTheTable(t *testing.T) {
	for _, p := range places {
		path := filepath.Join(testutil.Root(t), p.file)
		old, err := os.ReadFile(path)
		require.NoError(t, err)
		pattern := regexp.MustCompile(p.pattern)
		require.Len(t, pattern.FindAll(old, -1), 1, "%s: %s", p.file, pattern)
		with := strings.ReplaceAll(p.text(), "$", "$$")
		now := pattern.ReplaceAllString(string(old), "${1}"+with+"${2}")
		if *update && now != string(old) {
			require.NoError(t, os.WriteFile(path, []byte(now), 0o600))
			continue
		}
		require.True(t, now == string(old), "%s differs from the table: run go test ./diff/trend -update", p.file)
	}
}

func tableOfFeatures() string {
	var out strings.Builder
	out.WriteString("\n| name | unit | over | leak | meaning |\n|---|---|---|---|---|\n")
	for f := range FeatureCount {
		row := f.Info()
		leak := map[Direction]string{Up: "+", Down: "−"}[row.Direction]
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", row.Name, row.Unit, row.Clock, leak, row.Meaning)
	}
	out.WriteString("\n")
	return out.String()
}

func properties() string {
	var list []string
	for f := range FeatureCount {
		row := f.Info()
		text := row.Meaning + " (" + string(row.Unit)
		if row.Clock != "" {
			text += ", over " + string(row.Clock)
		}
		description, _ := json.Marshal(text + ")") //nolint:errchkjson // a string
		list = append(list, fmt.Sprintf("       %q: {\"type\": \"number\", \"description\": %s}", row.Name, description))
	}
	return "{\n" + strings.Join(list, ",\n") + "\n      }"
}

func monotone() string {
	var out strings.Builder
	line := "   "
	for _, d := range []Direction{Up, Down} {
		for f := range FeatureCount {
			name := map[Direction]string{Up: " ", Down: " -"}[d] + f.String()
			if f.Info().Direction != d {
				continue
			}
			if len(line)+len(name) > 100 {
				out.WriteString(line + "\n")
				line = "   "
			}
			line += name
		}
	}
	return out.String() + line + "\n"
}
