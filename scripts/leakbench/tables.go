package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/scripts/leaksim"
	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
)

// writeTables writes all results as Markdown.
func writeTables(w io.Writer, o options, all, training []outcome) {
	seeds := o.seeds
	for population, more := range o.more() {
		seeds = strings.TrimPrefix(seeds+" and "+more+" of the "+string(population)+" population", " and ")
	}
	fmt.Fprintf(w, "Seeds %s, snapshots %s: %s.\n\n", seeds, o.snapshots, census(all))
	writeScores(w, all)
	writeSeries(w, all)
	writeCalibration(w, all)
	writeOperating(w, all)
	if len(training) > 0 {
		writePeers(w, all, training)
	}
	writeSizes(w, all)
	writeBehaviours(w, all)
	writeMistakes(w, all)
}

// census counts processes, functions and leaks.
func census(all []outcome) string {
	count := map[leaksim.Verdict]int{}
	for _, o := range all {
		count[o.Verdict]++
	}
	processes := len(grouped(all, processOf))
	return fmt.Sprintf("%d processes, %d functions, of which %d leak, %d do not, and %d leak too little or too rarely to count",
		processes, len(all), count[leaksim.IsLeak], count[leaksim.IsHarmless], count[leaksim.IsExcluded])
}

func writeScores(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "## Precision and recall of the labels `leak*`\n\n")
	table(w, "", "processes", "leaks", "precision", "recall", "F1", "wrong", "missed",
		"precision of the first min(10, leaks)")
	scoreRow(w, "all", all)
	scoreRows(w, all, func(o *outcome) string { return fmt.Sprintf("%d snapshots", o.Snapshots) })
	scoreRows(w, all, func(o *outcome) string { return o.Mode })
	scoreRows(w, all, func(o *outcome) string { return "process: " + o.Life })
	scoreRows(w, all, func(o *outcome) string {
		return map[leaksim.Population]string{
			leaksim.Plain: "one behaviour", leaksim.Wide: "wide population", leaksim.Small: "small programs",
			leaksim.Traced: "massif", leaksim.Collected: "garbage collection",
		}[o.population]
	})
	precision, recall := intervals(all)
	fmt.Fprintf(w, "\n95 %% intervals (bootstrap over processes): precision %.2f to %.2f, recall %.2f to %.2f.\n",
		precision.low, precision.high, recall.low, recall.high)
	small, called := 0, 0
	for _, o := range all {
		if o.Verdict == leaksim.IsExcluded {
			small++
			if o.called {
				called++
			}
		}
	}
	fmt.Fprintf(w, "Of the %d leaks that do not count, %d are reported.\n\n", small, called)
}

// writeSeries writes how often the verdict on a whole process is right. It leaks if any of its functions
// does; processes whose leaks all do not count are omitted.
func writeSeries(w io.Writer, all []outcome) {
	type tally struct{ processes, leak, noLeak, undecided int }
	truths := map[bool]*tally{true: {}, false: {}}
	var expected, found [10]float64
	var n [10]int
	for _, process := range grouped(all, processOf) {
		leaks, excluded := 0, 0
		for i := range process {
			leaks += bit(process[i].Verdict == leaksim.IsLeak)
			excluded += bit(process[i].Verdict == leaksim.IsExcluded)
		}
		if leaks == 0 && excluded > 0 {
			continue
		}
		t, o := truths[leaks > 0], &process[0]
		t.processes++
		switch o.verdict {
		case verdict.SeriesLeak:
			t.leak++
		case verdict.SeriesNoLeak:
			t.noLeak++
		default:
			t.undecided++
			continue
		}
		tenth := min(9, int(10*o.chance))
		n[tenth]++
		expected[tenth] += o.chance
		found[tenth] += float64(min(1, leaks))
	}
	fmt.Fprintf(w, "## Verdicts on whole processes\n\n")
	table(w, "", "processes", "`leak`", "`no-leak`", "`undecided`")
	for _, leaks := range []bool{true, false} {
		t := truths[leaks]
		name := map[bool]string{true: "a function leaks", false: "no function leaks"}[leaks]
		cells(w, name, strconv.Itoa(t.processes), strconv.Itoa(t.leak), strconv.Itoa(t.noLeak), strconv.Itoa(t.undecided))
	}
	fmt.Fprintf(w, "\nChance of a leak, and the share of processes that leak:\n\n")
	table(w, "chance", "processes", "mean chance", "share that leak")
	for i := range n {
		if n[i] > 0 {
			cells(w, fmt.Sprintf("%.1f–%.1f", float64(i)/10, float64(i+1)/10), strconv.Itoa(n[i]),
				share(expected[i]/float64(n[i])), share(found[i]/float64(n[i])))
		}
	}
	fmt.Fprintln(w)
}

func scoreRows(w io.Writer, all []outcome, key func(*outcome) string) {
	for _, group := range grouped(all, key) {
		scoreRow(w, key(&group[0]), group)
	}
}

func scoreRow(w io.Writer, name string, all []outcome) {
	s := count(all, byDetector)
	hits, looked := topPrecision(all)
	processes := len(grouped(all, processOf))
	cells(w, name, strconv.Itoa(processes), strconv.Itoa(s.right+s.missed),
		share(s.precision()), share(s.recall()), share(s.f1()),
		strconv.Itoa(s.wrong), strconv.Itoa(s.missed), share(ratio(hits, looked)))
}

func writeCalibration(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "## Calibration of `confidence`, all labels\n\n")
	table(w, "confidence", "functions", "mean confidence", "share that leak")
	for i, b := range calibration(all) {
		if b.sites > 0 {
			cells(w, fmt.Sprintf("%.1f–%.1f", float64(i)/10, float64(i+1)/10), strconv.Itoa(b.sites),
				share(b.confidence/float64(b.sites)), share(ratio(b.leaks, b.sites)))
		}
	}
	sure := count(all, func(o *outcome) bool { return o.confidence >= 0.9 })
	fmt.Fprintf(w, "\n%s of the true leaks have a confidence of at least 0.9.\n\n", share(sure.recall()))
}

func writeOperating(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "## Scores by minimum `confidence` of a reported leak\n\n")
	table(w, "minimum confidence", "precision", "recall", "F1", "false alarms per 1000 harmless functions")
	negatives := 0
	for _, o := range all {
		if o.Verdict == leaksim.IsHarmless {
			negatives++
		}
	}
	for _, p := range operatingCurve(all) {
		cells(w, fmt.Sprint(p.least), share(p.precision()), share(p.recall()), share(p.f1()),
			fmt.Sprintf("%.1f", 1000*ratio(p.wrong, negatives)))
	}
	fmt.Fprintln(w)
}

// writeSizes writes the recall by size of the leak, in bytes and in multiples of its noise.
func writeSizes(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "## Recall by size of the leak\n\n")
	table(w, "leaked", "leaks", "recall", "", "leaked / σ", "leaks", "recall")
	bytes, noise := []float64{1, 2, 4, 16, 64, 256}, []float64{3, 6, 12, 50, 200, 1000}
	for i := range bytes {
		name, n, r := sizeCells("MiB", bytes, i, all, func(o *outcome) float64 { return float64(o.Leaked) / (1 << 20) })
		name2, n2, r2 := sizeCells("", noise, i, all, func(o *outcome) float64 { return float64(o.Leaked) / max(1, o.Sigma) })
		cells(w, name, n, r, "", name2, n2, r2)
	}
	fmt.Fprintln(w)
}

// sizeCells returns the cells for the leaks whose measure is between limits[i] and the next limit.
func sizeCells(
	unit string, limits []float64, i int, all []outcome, measure func(*outcome) float64,
) (name, leaks, recall string) {
	high := math.Inf(1)
	name = strings.TrimSpace(fmt.Sprintf("over %g %s", limits[i], unit))
	if i+1 < len(limits) {
		high = limits[i+1]
		name = strings.TrimSpace(fmt.Sprintf("%g to %g %s", limits[i], high, unit))
	}
	var in []outcome
	for _, o := range all {
		if m := measure(&o); o.Verdict == leaksim.IsLeak && m >= limits[i] && m < high {
			in = append(in, o)
		}
	}
	return name, strconv.Itoa(len(in)), share(count(in, byDetector).recall())
}

// writeBehaviours writes the labels of each behaviour.
func writeBehaviours(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "## Labels of each behaviour\n\n")
	fmt.Fprintf(w, "The share reported as a leak by number of snapshots, then all labels. "+
		"Leaks that are too small to count are omitted.\n\n")
	lengths := lengthsOf(all)
	heading := []string{"behaviour", "functions"}
	for _, n := range lengths {
		heading = append(heading, strconv.Itoa(n))
	}
	table(w, append(heading, "labels")...)
	kept := slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return o.Verdict == leaksim.IsExcluded })
	groups := grouped(kept, func(o *outcome) string { return o.Behaviour })
	order := orderOf()
	slices.SortStableFunc(groups, func(a, b []outcome) int {
		return cmp.Compare(order[a[0].Behaviour], order[b[0].Behaviour])
	})
	for _, g := range groups {
		line := []string{g[0].Behaviour, strconv.Itoa(len(g))}
		for _, n := range lengths {
			line = append(line, calledShare(g, n))
		}
		cells(w, append(line, labelsOf(g))...)
	}
	fmt.Fprintln(w)
}

// writeMistakes writes, for each mode of recording, the behaviours that are wrongly reported and
// the leaks that are missed.
func writeMistakes(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "## Mistakes by recording\n\n")
	table(w, "recording", "harmless, but reported as a leak", "missed leaks, and their labels")
	for _, g := range grouped(all, func(o *outcome) string { return o.Mode }) {
		var wrong, missed []string
		for _, o := range g {
			switch {
			case o.Verdict == leaksim.IsHarmless && o.called:
				wrong = append(wrong, o.Behaviour)
			case o.Verdict == leaksim.IsLeak && !o.called:
				missed = append(missed, o.Behaviour+": "+cmp.Or(o.label, "(none)"))
			}
		}
		cells(w, g[0].Mode, tally(wrong), tally(missed))
	}
	fmt.Fprintln(w)
}

func orderOf() map[string]int {
	order := map[string]int{"dust": -1}
	for i, b := range behaviour.Behaviours() {
		order[b.Name] = i
	}
	return order
}

func lengthsOf(all []outcome) []int {
	seen := map[int]bool{}
	for _, o := range all {
		seen[o.Snapshots] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func calledShare(group []outcome, snapshots int) string {
	n, called := 0, 0
	for _, o := range group {
		if o.Snapshots == snapshots {
			n++
			if o.called {
				called++
			}
		}
	}
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d", called, n)
}

func labelsOf(group []outcome) string {
	var labels []string
	for _, o := range group {
		labels = append(labels, cmp.Or(o.label, "(none)"))
	}
	return tally(labels)
}

// tally returns each name with its number, most frequent first.
func tally(names []string) string {
	n := map[string]int{}
	for _, name := range names {
		n[name]++
	}
	order := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(n[b]-n[a], cmp.Compare(a, b)) })
	parts := make([]string, len(order))
	for i, name := range order {
		parts[i] = fmt.Sprintf("%s %d", name, n[name])
	}
	return strings.Join(parts, ", ")
}

func table(w io.Writer, heading ...string) {
	cells(w, heading...)
	fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(heading)))
}

func cells(w io.Writer, texts ...string) { fmt.Fprintf(w, "| %s |\n", strings.Join(texts, " | ")) }

func share(x float64) string { return fmt.Sprintf("%.2f", x) }
