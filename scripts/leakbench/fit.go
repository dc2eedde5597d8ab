package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/leaksim"
)

// The model that is fitted: see diff/trend/model.go.
const (
	fitTrees  = 1000
	fitLeaves = 63
	fitRate   = 0.03 // share of each tree's step that is taken
	fitLeast  = 60   // examples in a leaf
	fitRidge  = 10.0 // shrinks leaves
	fitBins   = 64
	fitMost   = 2 // log-odds that a leaf changes at most, before fitRate
	// Each tree sees a part of the examples and of the features, drawn anew: what only a few
	// examples say, or one feature by chance, does not decide (Friedman 2002).
	fitExamples = 0.6
	fitFeatures = 0.45
)

// rising are features of which more is never less of a leak, falling the opposite: chance must not
// teach the model otherwise, least of all where it saw few examples.
var (
	rising = []trend.Feature{
		trend.FeatureSignificance, trend.FeatureLateSignificance, trend.FeatureTailClarity, trend.FeatureSeparation,
		trend.FeatureLeakRatio, trend.FeatureLeakT, trend.FeatureAfterKneeT, trend.FeatureKneeByAllocT, trend.FeatureLineT, trend.FeatureTailRetention,
		trend.FeatureCycleLineT, trend.FeatureOtherImageZ, trend.FeatureBeside, trend.FeatureResidenceZ, trend.FeatureSecured, trend.FeatureLeakOrCurve,
	}
	falling = []trend.Feature{
		trend.FeatureGap,
		trend.FeaturePlateauLength,
		trend.FeatureSampling,
		trend.FeatureHighWater,
		trend.FeatureStop,
		trend.FeatureDrop,
	}
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
	gradient
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
		if o.Verdict == leaksim.IsExcluded || o.features[trend.FeaturePoints] == 0 {
			continue
		}
		e := &example{f: o.features}
		if o.Verdict == leaksim.IsLeak {
			e.leak = 1
		}
		out = append(out, e)
	}
	return out
}

// fit is gradient boosting with the logistic loss and Newton steps (Friedman 2001; Chen and
// Guestrin 2016) on binned features.
func fit(examples []*example) *trend.Model {
	m := &trend.Model{}
	all := binEdges(examples)
	leaks := 0.0
	for _, e := range examples {
		leaks += e.leak
		for k := range e.bins {
			i, own := slices.BinarySearch(all[k], e.f[k])
			if own {
				i++ // a threshold's own value goes right
			}
			e.bins[k] = uint8(i)
		}
	}
	p := leaks / float64(len(examples))
	m.Base = math.Log(p / (1 - p))
	for _, e := range examples {
		e.say(m.Base)
	}
	rng := leaksim.NewRand(1, 1)
	for range fitTrees {
		t := grow(drawExamples(rng, examples), drawFeatures(rng, all))
		for _, e := range examples {
			e.say(t.Of(&e.f))
		}
		m.Trees = append(m.Trees, t)
	}
	return m
}

func drawExamples(rng *rand.Rand, examples []*example) []*example {
	var out []*example
	for _, e := range examples {
		if leaksim.Chance(rng, fitExamples) {
			out = append(out, e)
		}
	}
	return out
}

// drawFeatures leaves some features without thresholds.
func drawFeatures(rng *rand.Rand, all edges) *edges {
	for k := range all {
		if !leaksim.Chance(rng, fitFeatures) {
			all[k] = nil
		}
	}
	return &all
}

// binEdges are thresholds between the quantiles of each feature.
func binEdges(examples []*example) (all edges) {
	values := make([]float64, len(examples))
	for k := range all {
		for i, e := range examples {
			values[i] = e.f[k]
		}
		slices.Sort(values)
		for b := 1; b < fitBins; b++ {
			at := b * len(values) / fitBins
			if at == 0 || values[at] == values[at-1] && slices.Contains(all[k], values[at]) {
				continue
			}
			if edge := rounded(values[at]); edge > values[0] && !slices.Contains(all[k], edge) {
				all[k] = append(all[k], edge)
			}
		}
		slices.Sort(all[k])
	}
	return all
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

// say adds to what the model says of an example.
func (e *example) say(odds float64) {
	e.odds += odds
	p := 1 / (1 + math.Exp(-e.odds))
	e.gradient = gradient{e.leak - p, p * (1 - p), 1}
}

// bounds are what a leaf may say, in log-odds.
type bounds struct{ low, high float64 }

func (b bounds) step(g gradient) float64 { return max(b.low, min(b.high, g.g/(g.h+fitRidge))) }

// split is a place to divide examples, what it gains, and what the sides would say.
type split struct {
	feature, bin      int
	gain, left, right float64
}

// within are the bounds of the sides: where a feature has a direction, they must not cross deeper
// in the tree.
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

// edges are the thresholds of the features.
type edges [trend.FeatureCount][]float64

// sums are gradients by feature and bin.
type sums [trend.FeatureCount][fitBins]gradient

// branch is a node of a tree that grows, with its examples.
type branch struct {
	examples    []*example
	sums        *sums // nil once it is divided
	total       gradient
	bounds      bounds
	best        split // gain 0: it stays a leaf
	left, right *branch
}

func newBranch(examples []*example, e *edges, b bounds) *branch {
	n := &branch{examples: examples, bounds: b, sums: &sums{}}
	for _, x := range examples {
		n.total = n.total.plus(x.gradient)
		for k := range e {
			if e[k] != nil {
				n.sums[k][x.bins[k]] = n.sums[k][x.bins[k]].plus(x.gradient)
			}
		}
	}
	n.choose(e)
	return n
}

// besides is the other side of a branch that was divided: its sums are those that the first one
// leaves, and so it takes those over.
func (n *branch) besides(first *branch, examples []*example, e *edges, b bounds) *branch {
	o := &branch{examples: examples, bounds: b, sums: n.sums, total: n.total.minus(first.total)}
	for k := range e {
		if e[k] != nil {
			for bin, g := range first.sums[k] {
				o.sums[k][bin] = o.sums[k][bin].minus(g)
			}
		}
	}
	o.choose(e)
	return o
}

// choose finds the feature and the threshold that gain most.
func (n *branch) choose(e *edges) {
	for k := range e {
		var left gradient
		for bin := range e[k] {
			left = left.plus(n.sums[k][bin])
			right := n.total.minus(left)
			if left.n < fitLeast || right.n < fitLeast {
				continue
			}
			s := split{k, bin, left.gain() + right.gain() - n.total.gain(), n.bounds.step(left), n.bounds.step(right)}
			if s.gain > max(n.best.gain, 1e-6) && (s.right-s.left)*direction(trend.Feature(k)) >= 0 {
				n.best = s
			}
		}
	}
}

// divide makes two sides of a branch; sums are computed for the smaller one only.
func (n *branch) divide(e *edges) {
	at := partition(n.examples, n.best)
	low, high := n.best.within(n.bounds)
	if left, right := n.examples[:at], n.examples[at:]; len(left) < len(right) {
		n.left = newBranch(left, e, low)
		n.right = n.besides(n.left, right, e, high)
	} else {
		n.right = newBranch(right, e, high)
		n.left = n.besides(n.right, left, e, low)
	}
	n.sums = nil
}

// partition puts the examples of the left side first, both sides in their order, and returns how
// many there are.
func partition(examples []*example, s split) int {
	var right []*example
	at := 0
	for _, x := range examples {
		if int(x.bins[s.feature]) <= s.bin {
			examples[at] = x
			at++
		} else {
			right = append(right, x)
		}
	}
	copy(examples[at:], right)
	return at
}

// grow makes a tree: the leaf that gains most is divided until there are fitLeaves of them.
func grow(examples []*example, e *edges) trend.Tree {
	root := newBranch(examples, e, bounds{-fitMost, fitMost})
	leaves := []*branch{root}
	for len(leaves) < fitLeaves {
		i := 0
		for k, n := range leaves {
			if n.best.gain > leaves[i].best.gain {
				i = k
			}
		}
		n := leaves[i]
		if n.best.gain <= 0 {
			break
		}
		n.divide(e)
		leaves[i] = n.left
		leaves = append(leaves, n.right)
	}
	return root.appendTo(nil, e)
}

// appendTo appends a branch's nodes in preorder.
func (n *branch) appendTo(t trend.Tree, e *edges) trend.Tree {
	if n.left == nil {
		return append(t, trend.Node{Value: rounded(fitRate * n.bounds.step(n.total))})
	}
	at := len(t)
	t = append(t, trend.Node{Feature: trend.Feature(n.best.feature), Value: e[n.best.feature][n.best.bin]})
	t = n.left.appendTo(t, e)
	t[at].Right = int32(len(t))
	return n.right.appendTo(t, e)
}
