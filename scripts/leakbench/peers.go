package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

// peer is another method to detect leaks. It computes a score of a curve, and reports a leak if the
// score is at least a threshold. A score of NaN means unknown and is not reported.
type peer struct {
	name  string
	score func(c leaksim.Curve) float64
	usual float64 // the usual threshold
}

// peers returns simple methods that other tools use. They consider only curves that grew by
// leaksim.LeastLeak, which is part of the benchmark's definition of a leak. Without this condition
// their results are worse.
func peers() []peer {
	return []peer{
		{"last minus first", ofGrowing(func(c leaksim.Curve) float64 { return gained(c.Bytes) }), leaksim.LeastLeak},
		{"share of steps that rise", ofGrowing(func(c leaksim.Curve) float64 { return risingSteps(c.Bytes) }), 1},
		{"Mann–Kendall Z", ofGrowing(func(c leaksim.Curve) float64 { return mannKendall(c.Bytes) }), 2.326},
		{"R² of a rising line", ofGrowing(risingLine), 0.8},
		{"Scalene's leak score", ofGrowing(scalene), 0.95},
	}
}

// ofGrowing restricts a score to curves that grew by leaksim.LeastLeak.
func ofGrowing(score func(leaksim.Curve) float64) func(leaksim.Curve) float64 {
	return func(c leaksim.Curve) float64 {
		v := visible(c)
		if !(gained(v.Bytes) >= leaksim.LeastLeak) {
			return math.NaN()
		}
		return score(v)
	}
}

// visible returns a curve without the snapshots in which truncation hides the function.
func visible(c leaksim.Curve) leaksim.Curve {
	var v leaksim.Curve
	for i, b := range c.Bytes {
		if math.IsNaN(b) {
			continue
		}
		v.Seconds, v.Bytes, v.Objects = append(v.Seconds, c.Seconds[i]), append(v.Bytes, b), append(v.Objects, c.Objects[i])
		if c.Allocs != nil {
			v.Allocs, v.AllocBytes = append(v.Allocs, c.Allocs[i]), append(v.AllocBytes, c.AllocBytes[i])
		}
	}
	return v
}

// gained returns the last value minus the first, without NaNs. It returns NaN for fewer than two
// values.
func gained(values []float64) float64 {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(v) < 2 {
		return math.NaN()
	}
	return v[len(v)-1] - v[0]
}

func risingSteps(v []float64) float64 {
	rising := 0
	for i := 1; i < len(v); i++ {
		if v[i] > v[i-1] {
			rising++
		}
	}
	return ratio(rising, len(v)-1)
}

// mannKendall returns the statistic Z of the Mann–Kendall trend test, with corrections for ties and
// for continuity (Kendall, Rank Correlation Methods, 1975).
func mannKendall(v []float64) float64 {
	n, s := float64(len(v)), 0.0
	ties := map[float64]float64{}
	for i, x := range v {
		ties[x]++
		for _, y := range v[i+1:] {
			s += float64(cmp.Compare(y, x))
		}
	}
	variance := n * (n - 1) * (2*n + 5)
	for _, x := range slices.Sorted(slices.Values(v)) {
		t := ties[x]
		ties[x] = 0 // counts each tied group once
		variance -= t * (t - 1) * (2*t + 5)
	}
	if variance <= 0 || s == 0 {
		return 0
	}
	return (s - math.Copysign(1, s)) / math.Sqrt(variance/18)
}

// risingLine returns R² of a least-squares line over time, or 0 if the line falls.
func risingLine(c leaksim.Curve) float64 {
	n := float64(len(c.Bytes))
	var x, y, xx, yy, xy float64
	for i, b := range c.Bytes {
		t := c.Seconds[i]
		x, y, xx, yy, xy = x+t, y+b, xx+t*t, yy+b*b, xy+t*b
	}
	sxy, sxx, syy := xy-x*y/n, xx-x*x/n, yy-y*y/n
	if sxy <= 0 || sxx <= 0 || syy <= 0 {
		return 0
	}
	return sxy * sxy / (sxx * syy)
}

// scalene returns Scalene's leak score for all objects in the window, by the rule of succession: 1
// − (frees+1)/(allocs−frees+2) (Berger et al., OSDI 2023; scalene_leak_analysis.py). It requires
// cumulative counts.
func scalene(c leaksim.Curve) float64 {
	if c.Allocs == nil {
		return math.NaN()
	}
	allocs := gained(c.Allocs)
	frees := allocs - gained(c.Objects)
	return 1 - (frees+1)/(allocs-frees+2)
}

// bestThreshold returns the threshold with the highest F1 on these outcomes.
func bestThreshold(p peer, all []outcome) float64 {
	type scored struct {
		score float64
		leak  bool
	}
	var list []scored
	leaks := 0
	for _, o := range all {
		if o.Verdict == leaksim.IsExcluded {
			continue
		}
		if o.Verdict == leaksim.IsLeak {
			leaks++
		}
		if s := p.score(o.Observed); !math.IsNaN(s) {
			list = append(list, scored{s, o.Verdict == leaksim.IsLeak})
		}
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	best, threshold := -1.0, math.Inf(1)
	var s score
	for i, x := range list {
		if x.leak {
			s.right++
		} else {
			s.wrong++
		}
		s.missed = leaks - s.right
		last := i == len(list)-1 || list[i+1].score < x.score
		if last && s.f1() > best {
			best, threshold = s.f1(), x.score
		}
	}
	return threshold
}

// writePeers compares with other methods, at their usual thresholds and at those that are best for
// the training outcomes.
func writePeers(w io.Writer, all, training []outcome) {
	fmt.Fprintf(w, "## Other methods on the same files\n\n")
	fmt.Fprintf(w, "Each method has its usual threshold, and the one with the best F1 on other processes. "+
		"All of them consider only curves that grew by 1 MiB.\n\n")
	table(w, "method", "threshold", "precision", "recall", "F1", "wrong", "missed")
	peerRow(w, "heaplapse growth", "", count(all, byDetector))
	for _, p := range peers() {
		for _, t := range []float64{p.usual, bestThreshold(p, training)} {
			peerRow(w, p.name, fmt.Sprintf("%.4g", t), count(all, func(o *outcome) bool { return p.score(o.Observed) >= t }))
		}
	}
	fmt.Fprintln(w)
}

func peerRow(w io.Writer, name, threshold string, s score) {
	cells(w, name, threshold, share(s.precision()), share(s.recall()), share(s.f1()),
		strconv.Itoa(s.wrong), strconv.Itoa(s.missed))
}
