package main

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/scripts/leaksim"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// score counts leaks that are reported (right), harmless functions that are reported (wrong), and
// leaks that are not reported (missed). Excluded functions do not count.
type score struct{ right, wrong, missed int }

func (s score) precision() float64 { return ratio(s.right, s.right+s.wrong) }
func (s score) recall() float64    { return ratio(s.right, s.right+s.missed) }

func (s score) f1() float64 {
	if s.right == 0 {
		return 0
	}
	return 2 * float64(s.right) / float64(2*s.right+s.wrong+s.missed)
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// count returns the score of a rule, which reports whether a function leaks.
func count(all []outcome, called func(*outcome) bool) (s score) {
	for i := range all {
		o := &all[i]
		switch {
		case o.Verdict == leaksim.IsExcluded:
		case o.Verdict == leaksim.IsLeak && called(o):
			s.right++
		case o.Verdict == leaksim.IsLeak:
			s.missed++
		case called(o):
			s.wrong++
		}
	}
	return s
}

func byDetector(o *outcome) bool { return o.called }

// processOf returns the identity of the process of a function.
func processOf(o *outcome) process {
	return process{o.Seed, o.Snapshots, o.population}
}

type process struct {
	seed       uint64
	snapshots  int
	population leaksim.Population
}

// interval is a 95 % interval.
type interval struct{ low, high float64 }

// intervals returns the 95 % intervals of precision and recall. It uses the bootstrap over
// processes, because the functions of a process are correlated.
func intervals(all []outcome) (precision, recall interval) {
	const rounds = 2000
	var each []score
	for _, group := range grouped(all, processOf) {
		each = append(each, count(group, byDetector))
	}
	rng := random.New(1, uint64(len(each)))
	p, r := make([]float64, rounds), make([]float64, rounds)
	for i := range rounds {
		var s score
		for range each {
			e := each[rng.IntN(len(each))]
			s = score{s.right + e.right, s.wrong + e.wrong, s.missed + e.missed}
		}
		p[i], r[i] = s.precision(), s.recall()
	}
	return middle95(p), middle95(r)
}

func middle95(values []float64) interval {
	slices.Sort(values)
	n := len(values)
	return interval{values[n/40], values[n-1-n/40]}
}

// topPrecision returns the number of leaks among the first min(10, number of leaks) ranked
// functions of each process, and the number of functions considered, both summed over processes.
func topPrecision(all []outcome) (hits, looked int) {
	for _, group := range grouped(all, processOf) {
		n := min(10, count(group, byDetector).right+count(group, byDetector).missed)
		var ranked []outcome
		for _, o := range group {
			if o.rank > 0 && o.Verdict != leaksim.IsExcluded {
				ranked = append(ranked, o)
			}
		}
		slices.SortFunc(ranked, func(a, b outcome) int { return cmp.Compare(a.rank, b.rank) })
		for _, o := range ranked[:min(n, len(ranked))] {
			if o.Verdict == leaksim.IsLeak {
				hits++
			}
		}
		looked += n
	}
	return hits, looked
}

// grouped groups outcomes by a key. The groups are in the order of their first outcome.
func grouped[K comparable](all []outcome, key func(*outcome) K) [][]outcome {
	index := map[K]int{}
	var out [][]outcome
	for i := range all {
		k := key(&all[i])
		n, ok := index[k]
		if !ok {
			n = len(out)
			index[k] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], all[i])
	}
	return out
}

// bin is one row of the calibration table.
type bin struct {
	sites, leaks int
	confidence   float64 // sum over the sites
}

// calibration divides all functions with a label into ten bins of confidence.
func calibration(all []outcome) (bins [10]bin) {
	for _, o := range all {
		if o.Verdict == leaksim.IsExcluded || o.label == "" {
			continue
		}
		b := &bins[min(9, max(0, int(o.confidence*10)))]
		b.sites++
		b.confidence += o.confidence
		if o.Verdict == leaksim.IsLeak {
			b.leaks++
		}
	}
	return bins
}

// curvePoint is the score of a rule that reports every function with at least a certain confidence.
type curvePoint struct {
	least float64
	score
}

func operatingCurve(all []outcome) []curvePoint {
	var out []curvePoint
	for _, least := range []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99} {
		s := count(all, func(o *outcome) bool { return o.label != "" && o.confidence >= least })
		out = append(out, curvePoint{least, s})
	}
	return out
}
