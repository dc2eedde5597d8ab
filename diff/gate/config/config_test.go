package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/gate/config"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

var today = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// TestExample: docs/heaplapse.yaml has every key, and the values that it calls defaults are the
// defaults.
func TestExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testutil.Root(t), "docs/heaplapse.yaml"))
	require.NoError(t, err)
	c, err := config.Parse(text, "docs/heaplapse.yaml", today)
	require.NoError(t, err)
	require.Equal(t, gate.DefaultThresholds(), gate.Thresholds{}.With(c.Thresholds))
	require.NotNil(t, c.Thresholds.Bytes)
	require.InDelta(t, 5, *c.Total.Percent, 0)
	require.Len(t, c.Sites, 2)
	require.True(t, c.Sites[0].Pattern.MatchAny([]string{"geom::TileCache::render"}))
	require.False(t, c.Sites[1].Pattern.MatchAny([]string{"my::server::Session::open"}))
	require.Zero(t, *c.Sites[1].Share)
	require.Nil(t, c.Sites[1].Z)
	e := c.Suppressions.Find([]string{"main", "libfoo_cache_insert(int)"})
	require.Equal(t, "libfoo 2.3 doubles its cache; fixed in 2.4", e.Reason)
	require.Equal(t, "2027-03-31", e.Until.Format(time.DateOnly))
	require.Equal(t, "docs/heaplapse.yaml", e.File)
}

// TestExpiredSuppression: an entry holds through its last day, and is set apart after it.
func TestExpiredSuppression(t *testing.T) {
	text := "version: 1\nsuppressions:\n  - {pattern: a, reason: r, until: 2026-06-14}\n  - {pattern: b, reason: r, until: 2026-06-15}\n"
	c, err := config.Parse([]byte(text), "h.yaml", today)
	require.NoError(t, err)
	require.Nil(t, c.Suppressions.Find([]string{"a"}))
	require.NotNil(t, c.Suppressions.Find([]string{"b"}))
	require.Equal(t, 3, c.Suppressions.Expired[0].Line)
}

// TestMistakes: each error has the line, and what is allowed there.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "h.yaml:1: empty: want at least version: 1",
		"thresholds:\n  bytes: 1MiB\n": "h.yaml:1: version is missing",
		"version: 2\n":                 "h.yaml:1: version 2: this heaplapse reads version 1",
		"version: 1\ntreshold:\n":      `h.yaml:2: the file: unknown key "treshold": want version, thresholds, total, sites, suppressions`,
		"version: 1\nversion: 1\n":     `h.yaml:2: mapping key "version" already defined at line 1`,
		"- a\n":                        "h.yaml:1: the file: want keys and values",
		"version: 1\n\tx: 2\n":         "h.yaml:2: not YAML: found a tab character that violates indentation",
		"version: 1\nthresholds: 5\n":  "h.yaml:2: thresholds: want keys and values: bytes, percent, z, share_of_total",
		"version: 1\nthresholds:\n  bytes: 1MiB\n  byte: 2\n":                   `h.yaml:4: thresholds: unknown key "byte": want bytes, percent, z, share_of_total`,
		"version: 1\nthresholds:\n  bytes: many\n":                              `h.yaml:3: thresholds: "many" is not a size`,
		"version: 1\nthresholds:\n  percent: ten\n":                             `h.yaml:3: thresholds: "ten" is not a percentage`,
		"version: 1\nthresholds:\n  z: -1\n":                                    `h.yaml:3: thresholds: "-1" must be a non-negative number`,
		"version: 1\nthresholds:\n  z: .nan\n":                                  `h.yaml:3: thresholds: ".nan" must be a non-negative number`,
		"version: 1\nthresholds:\n  z: [3]\n":                                   "h.yaml:3: thresholds: want a number",
		"version: 1\nsites:\n  pattern: x\n":                                    "h.yaml:3: sites: want a list",
		"version: 1\nsites:\n  - percent: 5\n":                                  "h.yaml:3: sites: an entry without a pattern",
		"version: 1\nsites:\n  - pattern: a\n    reason: b\n":                   "h.yaml:3: sites: a has no threshold",
		"version: 1\nsites:\n  - pattern: [a]\n":                                "h.yaml:3: sites: pattern: want text",
		"version: 1\nsuppressions:\n  - pattern: a\n":                           "h.yaml:3: suppressions: an entry needs a pattern and a reason",
		"version: 1\nsuppressions:\n  - {pattern: a, reason: b, until: soon}\n": "h.yaml:3: suppressions: until soon is not a date: want YYYY-MM-DD",
		"version: 1\n---\nversion: 1\nbogus: 1\n":                               "h.yaml:2: a second document begins here: want one",
		"version: 1\n---\n\tx: 2\n":                                             "h.yaml:3: not YAML: ",
		"version: 1\nthresholds: &t {z: 3}\ntotal: *t\n":                        "h.yaml:3: t: aliases are not allowed",
		"version: 1\nthresholds: &t {z: 3}\ntotal: {<<: *t}\n":                  "h.yaml:3: <<: aliases are not allowed",
		"version: 1\nthresholds: &t {z: *t}\n":                                  "h.yaml:2: t: aliases are not allowed",
		"version: 1\nthresholds: {z: !!binary Mw==}\n":                          `h.yaml:2: thresholds: "Mw=="`,
		"version: 1\nthresholds:\n":                                             "h.yaml:2: thresholds: no value",
		"version: 1\nthresholds: {bytes: }\n":                                   "h.yaml:2: thresholds: no value",
		"version: 1\nsites:\n  -\n":                                             "h.yaml:3: sites: no value",
		"version: 1\nsites: [5]\n":                                              "h.yaml:2: sites: want keys and values: pattern, reason, bytes, percent, z, share_of_total",
		"version: 1\nsites:\n  - {pattern: a, until: b}\n":                      `h.yaml:3: sites: unknown key "until": want pattern, reason, bytes, percent, z, share_of_total`,
		"version: 1\nsuppressions:\n  - {pattern: a, percent: 3}\n":             `h.yaml:3: suppressions: unknown key "percent": want pattern, reason, until`,
		"version: 1\ntotal: {bytes: 1, bytes: 2}\n":                             `h.yaml:2: mapping key "bytes" already defined at line 2`,
		"version: 1\n? [a]\n: b\n":                                              "h.yaml:2: cannot unmarshal !!seq into string",
		"version: 1\n# " + strings.Repeat("x", 1<<20):                           "h.yaml: too large: 1048589 bytes, want at most 1048576",
	} {
		c, err := config.Parse([]byte(text), "h.yaml", today)
		require.Nil(t, c, "%q", text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

// TestHostileFiles: what would take the decoder minutes, or much memory, is refused before it.
func TestHostileFiles(t *testing.T) {
	repeat := func(s string) string { return strings.Repeat(s, 1<<20/len(s)-20) }
	var keys strings.Builder
	for i := 0; keys.Len() < 1<<20-100; i++ {
		fmt.Fprintf(&keys, "%x:\n", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"keys":         {keys.String(), "h.yaml:1: a mapping with 159770 keys: want at most 100"},
		"nesting":      {"sites: " + repeat("["), "h.yaml:2: not YAML: exceeded max depth"},
		"sequences":    {"sites:\n" + repeat("- "), "not YAML: exceeded max depth"},
		"complex keys": {repeat("? "), "not YAML: exceeded max depth"},
		"entries":      {"sites: [" + repeat("a,") + "]", "h.yaml:2: a list with 524268 entries: want at most 30000"},
		"anchors":      {"sites:\n" + repeat("- &a b\n"), "h.yaml:3: a list with 149776 entries: want at most 30000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse([]byte("version: 1\n"+c.text), "h.yaml", today)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// FuzzParse checks that Parse returns a configuration, or an error that names the file.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile(filepath.Join(testutil.Root(f), "docs/heaplapse.yaml"))
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := config.Parse(text, "h.yaml", today)
		if err != nil {
			require.Nil(t, c)
			require.ErrorContains(t, err, "h.yaml")
		}
	})
}
