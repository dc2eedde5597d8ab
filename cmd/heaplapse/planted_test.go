package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// gateAnswer is what of `gate --json` is judged.
type gateAnswer struct {
	Verdict string
	Rows    []gateAnswerRow
	Total   []gateAnswerValue
	Matched []struct {
		By         string
		InuseBytes int64 `json:"inuse_bytes"`
	}
}

type gateAnswerRow struct {
	Status      string
	Fingerprint string
	Blame       struct{ Function string }
	Values      []gateAnswerValue
}

type gateAnswerValue struct {
	Metric, Base         string
	Before, After, Delta float64
	Percent, Z           *float64
	Exceeds              bool
}

// first is the row of a status that is named first.
func (a *gateAnswer) first(status string) (function string) {
	for _, r := range a.Rows {
		if r.Status == status {
			return r.Blame.Function
		}
	}
	return ""
}

// gated runs the gate and returns its answer and exit status.
func (w *workshop) gated(t *testing.T, args ...string) (a gateAnswer, status int) {
	t.Helper()
	out, stderr, status := w.heaplapse(append([]string{"gate", "-q", "--json", "-"}, args...)...)
	require.NotEqual(t, exitFailure, status, stderr)
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	require.Equal(t, status == exitFound, a.Verdict == "fail")
	return a, status
}

// poolSize is the number of earlier good nights.
const poolSize = 6

// repetitions with other seeds: all twenty in a full run.
func repetitions() int {
	if testutil.Full() {
		return 20
	}
	return 2
}

// plantedNight is a repetition: good nights before, and an old one that is pinned.
type plantedNight struct {
	*workshop
	allocator
	*tally
	programs map[string]string
	seed     int // the next one
}

// night records a build with a seed of its own, and returns the baseline of the run.
func (n *plantedNight) night(t *testing.T, build string, night int) string {
	n.seed++
	return n.save(t, n.record(t, n.allocator, n.programs[build], night, n.seed))
}

// TestPlantedSet runs thirteen builds of one program, each many times with other traffic, against
// good nights of the first build. The gate must fail on the regression of 50 %, on the new leak
// and, because an old run is pinned, on a drift of 3 % a night, name the right function first, and
// pass everything else. With HEAPLAPSE_FULL=1 there are twenty repetitions; -update then rewrites
// docs/gate-planted.md.
func TestPlantedSet(t *testing.T) {
	testutil.NoRace(t)
	w := useWorkshop(t)
	builds := append([]planted{}, plantedBuilds...)
	for night := 1; night <= plantedNights; night++ {
		builds = append(builds, drifted(night))
	}
	programs := w.buildAll(t, builds)
	exact := &plantedNight{workshop: w, allocator: tcmalloc, programs: programs, tally: newTally()}
	exact.repeat(t, "tcmalloc", plantedBuilds, true)
	sampled := &plantedNight{workshop: w, allocator: jemalloc, programs: programs, tally: newTally()}
	sampled.repeat(t, "jemalloc", sampledBuilds(), false)
}

// sampledBuilds are those that are judged by estimates, too.
func sampledBuilds() (out []planted) {
	for _, b := range plantedBuilds {
		if slices.Contains([]string{"unchanged", "compiler", "renamed", "template", "hot-50-percent", "new-leak"}, b.name) {
			out = append(out, b)
		}
	}
	return out
}

// repeat judges all builds, again and again with other traffic. All twenty times make a table for
// the document.
func (n *plantedNight) repeat(t *testing.T, name string, builds []planted, drift bool) {
	for r := range repetitions() {
		n.seed = 1000 * (r + 1)
		t.Run(fmt.Sprintf("%s %d", name, n.seed), func(t *testing.T) { // jemalloc's options take no path with a comma
			n.judgeBuilds(t, builds)
			if drift {
				n.judgeDrift(t)
			}
		})
	}
	if len(n.order) == 0 {
		return // -run chose others
	}
	t.Logf("%s\n%s", name, n.table())
	require.Len(t, n.fingerprints, 1, "one function has one fingerprint in all builds and runs")
	if *update && n.counts[builds[0].name].runs == 20 && !t.Failed() {
		writeTable(t, filepath.Join(testutil.Root(t), "docs/gate-planted.md"), name, n.table())
	}
}

// judgeBuilds gates one night of each build.
func (n *plantedNight) judgeBuilds(t *testing.T, builds []planted) {
	args := []string{"--pinned", n.night(t, "unchanged", 0)}
	for i := range poolSize {
		args = append(args, "--baseline", n.night(t, "unchanged", 30+i))
	}
	for _, b := range builds {
		current := n.night(t, b.name, 40)
		answer, status := n.gated(t, append(args, "--current", current)...)
		n.add(b.name, b.what, &answer)
		require.Equal(t, b.status == "regressed", status == exitFound, "%s: %s", b.name, n.explain(append(args, "--current", current)))
		if b.status != "" {
			require.Equal(t, b.function, answer.first(b.status), "%s: %s", b.name, n.explain(append(args, "--current", current)))
		}
		if b.status == "changed" {
			n.judgeTighter(t, b, append(args, "--current", current))
		}
	}
}

// judgeTighter gates with the configuration that docs/gate-planted.md recommends: then 5 % fail.
func (n *plantedNight) judgeTighter(t *testing.T, b planted, args []string) {
	text, err := os.ReadFile(filepath.Join(testutil.Root(t), "docs/gate-planted.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	require.True(t, found, "the document shows a configuration")
	yaml, _, _ := strings.Cut(rest, "```")
	config := filepath.Join(t.TempDir(), "heaplapse.yaml")
	require.NoError(t, os.WriteFile(config, []byte(yaml), 0o644))

	args = append(args, "--config", config)
	answer, status := n.gated(t, args...)
	n.add(b.name+", tighter", b.what+", with the tighter threshold below", &answer)
	require.Equal(t, exitFound, status, "%s: %s", b.name, n.explain(args))
	require.Equal(t, b.function, answer.first("regressed"), n.explain(args))
}

// judgeDrift gates ten nights, on each of which the hot function takes 3 % more. No night fails
// against those before it; against the pinned one the last night does.
func (n *plantedNight) judgeDrift(t *testing.T) {
	first := n.night(t, "unchanged", 0)
	var pool []string
	for i := range poolSize {
		pool = append(pool, n.night(t, "unchanged", 1+i))
	}
	for night := 1; night <= plantedNights; night++ {
		current := n.night(t, drifted(night).name, poolSize+night)
		var args []string
		for _, p := range pool[len(pool)-poolSize:] {
			args = append(args, "--baseline", p)
		}
		args = append(args, "--current", current)
		answer, status := n.gated(t, args...)
		require.Equal(t, exitOK, status, "night %d passes against the latest nights: %s", night, n.explain(args))
		pool = append(pool, current)
		if night < plantedNights {
			continue
		}
		n.add("drift", "3 % a night for ten nights, without a reference run", &answer)
		args = append(args, "--pinned", first)
		answer, status = n.gated(t, args...)
		n.add("drift, pinned", "3 % a night for ten nights, with a reference run", &answer)
		require.Equal(t, exitFound, status, "night %d fails against the reference run: %s", night, n.explain(args))
		require.Equal(t, "shop::Catalog::load", answer.first("regressed"))
		require.Equal(t, "pinned", answer.Rows[0].Values[0].Base)
	}
}

// explain is the gate's text, for a failure's message.
func (w *workshop) explain(args []string) string {
	out, stderr, _ := w.heaplapse(append([]string{"gate", "-q"}, args...)...)
	return "\n" + out + stderr
}

// tally counts the answers by build, in order of first appearance.
type tally struct {
	order  []string
	counts map[string]*plantedCount
	// fingerprints of the hot function, whatever the build and the run.
	fingerprints map[string]bool
}

type plantedCount struct {
	what            string
	runs, fails     int
	first           map[string]int // functions that were named first in failures
	least, greatest float64        // change of the heap in percent
	matched         map[string]float64
}

func newTally() *tally {
	return &tally{counts: map[string]*plantedCount{}, fingerprints: map[string]bool{}}
}

func (y *tally) add(name, what string, a *gateAnswer) {
	c := y.counts[name]
	if c == nil {
		c = &plantedCount{what: what, first: map[string]int{}, matched: map[string]float64{}}
		y.counts[name] = c
		y.order = append(y.order, name)
	}
	for _, r := range a.Rows {
		if r.Blame.Function == "shop::Catalog::load" {
			y.fingerprints[r.Fingerprint] = true
		}
	}
	c.runs++
	if a.Verdict == "fail" {
		c.fails++
		c.first[a.first("regressed")]++
	}
	c.add(a)
}

// add takes the change of the heap, and how sites were matched.
func (c *plantedCount) add(a *gateAnswer) {
	for _, v := range a.Total {
		if v.Metric == "level" && v.Percent != nil && (v.Base == "pool" || len(a.Total) == 1) {
			if c.runs == 1 || *v.Percent < c.least {
				c.least = *v.Percent
			}
			if c.runs == 1 || *v.Percent > c.greatest {
				c.greatest = *v.Percent
			}
		}
	}
	all := 0.0
	for _, m := range a.Matched {
		all += float64(m.InuseBytes)
	}
	for _, m := range a.Matched {
		c.matched[m.By] += float64(m.InuseBytes) / all
	}
}

// row is the count as a row of a Markdown table.
func (c *plantedCount) row() string {
	var named []string
	for f, n := range c.first {
		named = append(named, fmt.Sprintf("`%s` %d times", f, n))
	}
	var tiers []string
	for _, by := range []string{"build-id", "names", "callers", "similar", "function", "unmatched"} {
		if share := 100 * c.matched[by] / float64(c.runs); share >= 0.5 {
			tiers = append(tiers, fmt.Sprintf("%s %.0f %%", by, share))
		}
	}
	return fmt.Sprintf("| %s | %d of %d | %s | %+.1f to %+.1f %% | %s |", c.what, c.fails, c.runs, strings.Join(named, ", "), c.least, c.greatest, strings.Join(tiers, ", "))
}

func (y *tally) table() string {
	rows := []string{"| What changed | The gate fails | and names first | the heap against the baseline set | sites matched by |", "|---|---|---|---|---|"}
	for _, name := range y.order {
		rows = append(rows, y.counts[name].row())
	}
	return strings.Join(rows, "\n") + "\n"
}

// writeTable replaces a table in a document, between marks with its name.
func writeTable(t *testing.T, file, name, table string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has a place for the table of %s", file, name)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has an end of the table of %s", file, name)
	require.NoError(t, os.WriteFile(file, []byte(before+begin+table+end+after), 0o644))
}
