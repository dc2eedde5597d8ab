package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/heaplapse/heaplapse/diff/trend"
)

// The model that is fitted: see diff/trend/model.go.
const (
	fitTrees  = 600
	fitDepth  = 4
	fitRate   = 0.06 // share of each tree's step that is taken
	fitLeast  = 25   // examples in a leaf
	fitRidge  = 2.0  // shrinks leaves
	fitBins   = 64
	fitShares = 2 // log-odds that a leaf changes at most
	// Each tree sees a part of the examples and of the features, drawn anew: what only a few examples say, or
	// one feature by chance, does not decide (Friedman 2002).
	fitExamples = 0.5
	fitFeatures = 0.4
)

// rising are features of which more is never less of a leak, falling the opposite: chance must not
// teach the model otherwise, least of all where it saw few examples.
var (
	rising = []trend.Feature{
		trend.FeatureSignificance, trend.FeatureLateSignificance, trend.FeatureTailClarity, trend.FeatureSeparation,
		trend.FeatureLeakRatio, trend.FeatureLeakT, trend.FeatureAfterKneeT, trend.FeatureKneeByAllocT, trend.FeatureLineT, trend.FeatureTailRetention,
		trend.FeatureCycleLineT, trend.FeatureElsewhereZ, trend.FeatureBeside, trend.FeatureResidenceZ, trend.FeatureSecured, trend.FeatureLeakOrCurve,
	}
	falling = []trend.Feature{trend.FeatureGap, trend.FeaturePlateauLength, trend.FeatureSampling, trend.FeatureHighWater, trend.FeatureStop, trend.FeatureDrop}
)

// direction is 1 for a feature that may only raise the odds, -1 for one that may only lower them.
func direction(f trend.Feature) float64 {
	switch {
	case slices.Contains(rising, f):
		return 1
	case slices.Contains(falling, f):
		return -1
	}
	return 0
}

// example is a series that grew, with its truth.
type example struct {
	f    trend.Features
	bins [trend.FeatureCount]uint8
	leak float64
	odds float64 // what the model says so far, in log-odds
}

// writeModel fits a model to examples and writes it.
func writeModel(w io.Writer, o options, examples []*example) {
	leaks := 0.0
	for _, e := range examples {
		leaks += e.leak
	}
	_, _ = fmt.Fprintf(w, "# Made by: go run ./scripts/leakbench -seeds %s -wide-seeds %s -snapshots %s -fit FILE\n# %d series that grew, of which %.0f leak.\n",
		o.seeds, o.wideSeeds, o.snapshots, len(examples), leaks)
	_, _ = io.WriteString(w, fit(examples).String())
}

func examplesOf(all []outcome) []*example {
	var out []*example
	for i := range all {
		o := &all[i]
		if o.verdict == isExcluded || o.features[trend.FeaturePoints] == 0 {
			continue
		}
		e := &example{f: o.features}
		if o.verdict == isLeak {
			e.leak = 1
		}
		out = append(out, e)
	}
	return out
}

// fit is gradient boosting with the logistic loss and Newton steps (Friedman 2001; Chen and Guestrin 2016) on binned features.
func fit(examples []*example) *trend.Model {
	m := &trend.Model{}
	edges := binEdges(examples)
	leaks := 0.0
	for _, e := range examples {
		leaks += e.leak
		for k := range e.bins {
			i, _ := slices.BinarySearch(edges[k], e.f[k])
			if i < len(edges[k]) && edges[k][i] == e.f[k] {
				i++ // a threshold's own value goes right
			}
			e.bins[k] = uint8(i)
		}
	}
	p := leaks / float64(len(examples))
	m.Base = math.Log(p / (1 - p))
	for _, e := range examples {
		e.odds = m.Base
	}
	rng := newRand(1, 1)
	for range fitTrees {
		t := grow(drawExamples(rng, examples), drawFeatures(rng, edges), bounds{-fitShares, fitShares}, fitDepth)
		for _, e := range examples {
			e.odds += t.Of(&e.f)
		}
		m.Trees = append(m.Trees, t)
	}
	return m
}

func drawExamples(rng *rand.Rand, examples []*example) []*example {
	var out []*example
	for _, e := range examples {
		if chance(rng, fitExamples) {
			out = append(out, e)
		}
	}
	return out
}

// drawFeatures leaves some features without thresholds.
func drawFeatures(rng *rand.Rand, edges [trend.FeatureCount][]float64) [trend.FeatureCount][]float64 {
	for k := range edges {
		if !chance(rng, fitFeatures) {
			edges[k] = nil
		}
	}
	return edges
}

// binEdges are thresholds between the quantiles of each feature.
func binEdges(examples []*example) (edges [trend.FeatureCount][]float64) {
	values := make([]float64, len(examples))
	for k := range edges {
		for i, e := range examples {
			values[i] = e.f[k]
		}
		slices.Sort(values)
		for b := 1; b < fitBins; b++ {
			at := b * len(values) / fitBins
			if at == 0 || values[at] == values[at-1] && slices.Contains(edges[k], values[at]) {
				continue
			}
			if edge := rounded(values[at]); edge > values[0] && !slices.Contains(edges[k], edge) {
				edges[k] = append(edges[k], edge)
			}
		}
		slices.Sort(edges[k])
	}
	return edges
}

// rounded keeps the digits that the model's file keeps.
func rounded(x float64) float64 {
	var y float64
	_, _ = fmt.Sscanf(fmt.Sprintf("%.4g", x), "%g", &y)
	return y
}

// gradient is the sum of first and second derivatives of the loss.
type gradient struct {
	g, h float64
	n    int
}

func (a gradient) plus(b gradient) gradient  { return gradient{a.g + b.g, a.h + b.h, a.n + b.n} }
func (a gradient) minus(b gradient) gradient { return gradient{a.g - b.g, a.h - b.h, a.n - b.n} }
func (a gradient) gain() float64             { return a.g * a.g / (a.h + fitRidge) }

func (e *example) gradient() gradient {
	p := 1 / (1 + math.Exp(-e.odds))
	return gradient{e.leak - p, p * (1 - p), 1}
}

// bounds are what a leaf may say, in log-odds.
type bounds struct{ low, high float64 }

func (b bounds) step(g gradient) float64 { return max(b.low, min(b.high, g.g/(g.h+fitRidge))) }

// split is a place to divide examples, and what the sides would say.
type split struct {
	feature, bin int
	left, right  float64
}

// within are the bounds of the sides: where a feature has a direction, they must not cross deeper in the tree.
func (s split) within(b bounds) (left, right bounds) {
	left, right = b, b
	middle := (s.left + s.right) / 2
	switch direction(trend.Feature(s.feature)) {
	case 1:
		left.high, right.low = middle, middle
	case -1:
		left.low, right.high = middle, middle
	}
	return left, right
}

// grow makes a tree.
func grow(examples []*example, edges [trend.FeatureCount][]float64, b bounds, depth int) *trend.Node {
	var total gradient
	var sums [trend.FeatureCount][fitBins + 1]gradient
	for _, e := range examples {
		g := e.gradient()
		total = total.plus(g)
		if depth > 0 {
			for k, bin := range e.bins {
				sums[k][bin] = sums[k][bin].plus(g)
			}
		}
	}
	if depth > 0 {
		if s, ok := bestSplit(&sums, &edges, total, b); ok {
			n := &trend.Node{Feature: trend.Feature(s.feature), Threshold: edges[s.feature][s.bin]}
			slices.SortStableFunc(examples, func(x, y *example) int {
				return cmp.Compare(side(x, s), side(y, s))
			})
			at, _ := slices.BinarySearchFunc(examples, 1, func(e *example, x int) int { return cmp.Compare(side(e, s), x) })
			left, right := s.within(b)
			n.Left, n.Right = grow(examples[:at], edges, left, depth-1), grow(examples[at:], edges, right, depth-1)
			return n
		}
	}
	return &trend.Node{Value: rounded(fitRate * b.step(total))}
}

func side(e *example, s split) int {
	if int(e.bins[s.feature]) <= s.bin {
		return 0
	}
	return 1
}

// bestSplit is the feature and the threshold that gain most.
func bestSplit(sums *[trend.FeatureCount][fitBins + 1]gradient, edges *[trend.FeatureCount][]float64, total gradient, b bounds) (best split, ok bool) {
	most := 1e-6
	for k := range sums {
		var left gradient
		for bin := range edges[k] {
			left = left.plus(sums[k][bin])
			right := total.minus(left)
			if left.n < fitLeast || right.n < fitLeast {
				continue
			}
			s := split{k, bin, b.step(left), b.step(right)}
			gain := left.gain() + right.gain() - total.gain()
			if gain > most && (s.right-s.left)*direction(trend.Feature(k)) >= 0 {
				most, best, ok = gain, s, true
			}
		}
	}
	return best, ok
}
