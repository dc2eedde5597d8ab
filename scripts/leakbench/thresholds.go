package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

// kind is a kind of input, for which a threshold could be chosen.
type kind struct {
	name string
	has  func(*example) bool
}

// kinds are the kinds of input: what was recorded, then how many snapshots there are.
func kinds() []kind {
	sampled := func(e *example) bool { return slices.Contains([]string{"jemalloc", "heap_v2", "v8"}, e.mode) }
	counted := func(e *example) bool {
		return slices.Contains([]string{"jemalloc-accum", "builtin", "born", "born-coarse", "go", "go-lagging"}, e.mode)
	}
	high := func(e *example) bool { return e.mode == "high-water" }
	uncounted := func(e *example) bool { return e.population == leaksim.Traced }
	exact := func(e *example) bool { return !sampled(e) && !counted(e) && !high(e) && !uncounted(e) }
	of := func(p leaksim.Population) func(*example) bool {
		return func(e *example) bool { return e.population == p }
	}
	taken := func(counts ...int) func(*example) bool {
		return func(e *example) bool { return slices.Contains(counts, e.snapshots) }
	}
	list := []kind{
		{"all", func(*example) bool { return true }},
		{"exact counts", exact},
		{"exact bytes in use only", uncounted},
		{"at record highs", high},
		{"samples with cumulative counts", counted},
		{"samples without", sampled},
	}
	for _, n := range []int{8, 12, 24, 48} {
		list = append(list, kind{strconv.Itoa(n) + " snapshots", taken(n)})
	}
	for _, life := range []string{"load-rising", "load-falling", "load-bursts"} {
		list = append(list, kind{"process: " + life, func(e *example) bool { return e.life == life }})
	}
	loaded := func(e *example) bool { return strings.HasPrefix(e.life, "load-") }
	return append(list,
		kind{"other processes", func(e *example) bool { return !loaded(e) }},
		kind{"one behaviour", of(leaksim.Plain)},
		kind{"wide population", of(leaksim.Wide)},
		kind{"small programs", of(leaksim.Small)},
		kind{"garbage collection", of(leaksim.Collected)},
		kind{"exact counts, one behaviour, 24 and 48 snapshots", all(exact, of(leaksim.Plain), taken(24, 48))},
		kind{"exact counts, one behaviour, 12 snapshots", all(exact, of(leaksim.Plain), taken(12))},
		kind{"exact counts, wide population", all(exact, of(leaksim.Wide))},
		kind{
			"samples with cumulative counts, one behaviour, 24 and 48 snapshots",
			all(counted, of(leaksim.Plain), taken(24, 48)),
		},
	)
}

// all returns the conjunction of conditions.
func all(conditions ...func(*example) bool) func(*example) bool {
	return func(e *example) bool {
		return !slices.ContainsFunc(conditions, func(has func(*example) bool) bool { return !has(e) })
	}
}

// thresholds are the least confidences that the table shows.
var thresholds = []float64{0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9}

// wantedPrecision is the precision that a threshold must reach.
const wantedPrecision = 0.95

// writeThresholds writes precision and recall of each kind of input by the least confidence of a
// leak, the threshold that has the highest F1, and the least that reaches the wanted precision.
func writeThresholds(w io.Writer, examples []example) {
	fmt.Fprintf(w, "## Precision / recall by the least confidence of a leak\n\n")
	heading := []string{"input", "leaks"}
	for _, t := range thresholds {
		heading = append(heading, fmt.Sprint(t))
	}
	table(w, append(heading, "best F1 at", fmt.Sprintf("precision %g from", wantedPrecision))...)
	for _, k := range kinds() {
		in := slices.DeleteFunc(slices.Clone(examples), func(e example) bool { return !k.has(&e) })
		if len(in) == 0 {
			continue
		}
		line := []string{k.name, strconv.Itoa(leaksIn(in))}
		for _, t := range thresholds {
			s := countAt(in, t)
			mark := ""
			if t == trend.LeakConfidence {
				mark = "**"
			}
			line = append(line, fmt.Sprintf("%s%.2f / %.2f%s", mark, s.precision(), s.recall(), mark))
		}
		cells(w, append(line, fmt.Sprintf("%.2f", bestConfidence(in)), leastConfidence(in))...)
	}
	fmt.Fprintln(w)
	writeRecalls(w, examples)
	writeKindCalibration(w, examples)
}

// writeRecalls writes the recall of each kind of input at some precisions, without births and with them, if they are
// known of any example.
func writeRecalls(w io.Writer, examples []example) {
	if !slices.ContainsFunc(examples, func(e example) bool { return e.births != nil }) {
		return
	}
	precisions := []float64{0.9, 0.95, 0.97}
	fmt.Fprintf(w, "## Recall by precision, without births → with them\n\n")
	heading := []string{"input", "leaks"}
	for _, p := range precisions {
		heading = append(heading, fmt.Sprint(p))
	}
	table(w, heading...)
	without := func(e *example) float64 { return trend.Confidence(&e.features, nil) }
	with := func(e *example) float64 { return e.confidence }
	for _, k := range kinds() {
		in := slices.DeleteFunc(slices.Clone(examples), func(e example) bool { return !k.has(&e) })
		if len(in) == 0 {
			continue
		}
		line := []string{k.name, strconv.Itoa(leaksIn(in))}
		for _, p := range precisions {
			line = append(line, fmt.Sprintf("%.3f → %.3f", recallAt(in, p, without), recallAt(in, p, with)))
		}
		cells(w, line...)
	}
	fmt.Fprintln(w)
}

// recallAt returns the highest recall that has a precision, if every large function with at least some confidence is
// reported.
func recallAt(examples []example, precision float64, confidence func(*example) float64) (recall float64) {
	type judged struct {
		confidence float64
		leak       bool
	}
	var list []judged
	for i := range examples {
		if e := &examples[i]; e.large {
			list = append(list, judged{confidence(e), e.leak})
		}
	}
	slices.SortStableFunc(list, func(a, b judged) int { return cmp.Compare(b.confidence, a.confidence) })
	right := 0
	for i, j := range list {
		right += bit(j.leak)
		if float64(right) >= precision*float64(i+1) {
			recall = ratio(right, leaksIn(examples))
		}
	}
	return recall
}

func leaksIn(examples []example) (n int) {
	for i := range examples {
		n += bit(examples[i].leak)
	}
	return n
}

// countAt returns the score if every large function with at least a confidence is reported.
func countAt(examples []example, least float64) (s score) {
	for i := range examples {
		e := &examples[i]
		switch called := e.large && e.confidence >= least; {
		case e.leak && called:
			s.right++
		case e.leak:
			s.missed++
		case called:
			s.wrong++
		}
	}
	return s
}

// steps of the search for a threshold.
const thresholdSteps = 100

func bestConfidence(examples []example) float64 {
	best, at := -1.0, 0.0
	for i := 1; i < thresholdSteps; i++ {
		if f := countAt(examples, float64(i)/thresholdSteps).f1(); f > best {
			best, at = f, float64(i)/thresholdSteps
		}
	}
	return at
}

func leastConfidence(examples []example) string {
	for i := 1; i < thresholdSteps; i++ {
		if t := float64(i) / thresholdSteps; countAt(examples, t).precision() >= wantedPrecision {
			return fmt.Sprintf("%.2f", t)
		}
	}
	return "–"
}

// writeKindCalibration writes the share that leaks of each tenth of the confidence.
func writeKindCalibration(w io.Writer, examples []example) {
	fmt.Fprintf(w, "## Share that leaks by confidence (number of functions)\n\n")
	heading := []string{"input"}
	for i := range 10 {
		heading = append(heading, fmt.Sprintf("%.1f–%.1f", float64(i)/10, float64(i+1)/10))
	}
	table(w, heading...)
	for _, k := range kinds() {
		var n, leaks [10]int
		for i := range examples {
			e := &examples[i]
			if k.has(e) && e.features[trend.FeaturePoints] > 0 {
				tenth := min(9, int(e.confidence*10))
				n[tenth]++
				leaks[tenth] += bit(e.leak)
			}
		}
		line := []string{k.name}
		for i := range n {
			line = append(line, fmt.Sprintf("%.2f (%d)", ratio(leaks[i], n[i]), n[i]))
		}
		if strings.Join(line[1:], "") != strings.Repeat("0.00 (0)", 10) {
			cells(w, line...)
		}
	}
	fmt.Fprintln(w)
}
