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

// Parameters of the fit. diff/trend/model.go describes the model.
const (
	fitTrees  = 1000
	fitLeaves = 63
	fitRate   = 0.03 // learning rate
	fitLeast  = 60   // minimum number of examples in a leaf
	fitRidge  = 10.0 // L2 regularization of leaves
	fitBins   = 64
	fitMost   = 2 // maximum of a leaf's log-odds, before the learning rate
	// Each tree uses a random part of the examples and of the features, so that no few examples and
	// no single feature decide (stochastic gradient boosting, Friedman 2002).
	fitExamples = 0.6
	fitFeatures = 0.45
)

// The probability of a leak must not decrease with the features in rising, nor increase with those
// in falling. The constraint keeps the model from learning the opposite from noise.
var (
	rising = []trend.Feature{
		trend.FeatureSignificance, trend.FeatureLateSignificance, trend.FeatureTailClarity, trend.FeatureSeparation,
		trend.FeatureLeakRatio, trend.FeatureLeakT, trend.FeatureAfterKneeT, trend.FeatureKneeByAllocT,
		trend.FeatureLineT, trend.FeatureTailRetention, trend.FeatureCycleLineT, trend.FeatureOtherImageZ,
		trend.FeatureBeside, trend.FeatureResidenceZ, trend.FeatureSecured, trend.FeatureLeakOrCurve,
	}
	falling = []trend.Feature{
		trend.FeatureGap, trend.FeaturePlateauLength, trend.FeatureSampling, trend.FeatureHighWater,
		trend.FeatureStop, trend.FeatureDrop,
	}
)

// direction returns 1 for a feature in rising, -1 for one in falling, and 0 for others.
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
	bins [trend.FeatureCount]uint8 // bin of each feature
	leak float64                   // 1 for a leak, otherwise 0
	odds float64                   // prediction of the trees so far, in log-odds
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

// examplesOf returns an example for each function that grew, except excluded ones.
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

// fit fits a model by gradient boosting with the logistic loss and Newton steps on binned features
// (Friedman 2001; Chen and Guestrin 2016).
func fit(examples []*example) *trend.Model {
	m := &trend.Model{}
	all := binEdges(examples)
	leaks := 0.0
	for _, e := range examples {
		leaks += e.leak
		for k := range e.bins {
			i, found := slices.BinarySearch(all[k], e.f[k])
			if found {
				i++ // a value equal to a threshold goes to the right
			}
			e.bins[k] = uint8(i)
		}
	}
	p := leaks / float64(len(examples))
	m.Base = math.Log(p / (1 - p))
	for _, e := range examples {
		e.addOdds(m.Base)
	}
	rng := leaksim.NewRand(1, 1)
	for range fitTrees {
		t := grow(drawExamples(rng, examples), drawFeatures(rng, all))
		for _, e := range examples {
			e.addOdds(t.Of(&e.f))
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

// drawFeatures returns a copy of the thresholds without those of some random features.
func drawFeatures(rng *rand.Rand, all edges) *edges {
	for k := range all {
		if !leaksim.Chance(rng, fitFeatures) {
			all[k] = nil
		}
	}
	return &all
}

// binEdges returns thresholds between the quantiles of each feature.
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

// rounded rounds a number to the precision of the model's file.
func rounded(x float64) float64 {
	var y float64
	_, _ = fmt.Sscanf(fmt.Sprintf("%.4g", x), "%g", &y)
	return y
}

// gradient is a sum of first and second derivatives of the loss, over n examples.
type gradient struct {
	g, h float64
	n    int
}

func (a gradient) plus(b gradient) gradient  { return gradient{a.g + b.g, a.h + b.h, a.n + b.n} }
func (a gradient) minus(b gradient) gradient { return gradient{a.g - b.g, a.h - b.h, a.n - b.n} }
func (a gradient) gain() float64             { return a.g * a.g / (a.h + fitRidge) }

// addOdds adds to the prediction of an example and updates its gradient.
func (e *example) addOdds(odds float64) {
	e.odds += odds
	p := 1 / (1 + math.Exp(-e.odds))
	e.gradient = gradient{e.leak - p, p * (1 - p), 1}
}

// bounds limits the value of a leaf, in log-odds.
type bounds struct{ low, high float64 }

func (b bounds) step(g gradient) float64 { return max(b.low, min(b.high, g.g/(g.h+fitRidge))) }

// split divides examples by a threshold. gain is the decrease of the loss, left and right are the
// values of the two sides.
type split struct {
	feature, bin      int
	gain, left, right float64
}

// within returns the bounds of the two sides. If the feature has a direction, the bounds keep it in
// all further splits.
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

// edges holds the thresholds of each feature.
type edges [trend.FeatureCount][]float64

// sums holds the sum of the gradients of each feature and bin.
type sums [trend.FeatureCount][fitBins]gradient

// branch is a node of a tree, with its examples.
type branch struct {
	examples    []*example
	sums        *sums // nil after divide
	total       gradient
	bounds      bounds
	best        split // its gain is 0 if the node cannot be divided
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

// sibling returns the other side of a node whose first side is given. It computes its sums by
// subtraction, in place.
func (n *branch) sibling(first *branch, examples []*example, e *edges, b bounds) *branch {
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

// choose sets the split with the highest gain.
func (n *branch) choose(e *edges) {
	for k := range e {
		var left gradient
		for bin := range e[k] {
			left = left.plus(n.sums[k][bin])
			right := n.total.minus(left)
			if left.n < fitLeast || right.n < fitLeast {
				continue
			}
			gain := left.gain() + right.gain() - n.total.gain()
			s := split{k, bin, gain, n.bounds.step(left), n.bounds.step(right)}
			if s.gain > max(n.best.gain, 1e-6) && (s.right-s.left)*direction(trend.Feature(k)) >= 0 {
				n.best = s
			}
		}
	}
}

// divide creates both sides of a node. It adds up the gradients of the smaller side only.
func (n *branch) divide(e *edges) {
	at := partition(n.examples, n.best)
	low, high := n.best.within(n.bounds)
	if left, right := n.examples[:at], n.examples[at:]; len(left) < len(right) {
		n.left = newBranch(left, e, low)
		n.right = n.sibling(n.left, right, e, high)
	} else {
		n.right = newBranch(right, e, high)
		n.left = n.sibling(n.right, left, e, low)
	}
	n.sums = nil
}

// partition moves the examples of the left side before those of the right side, and returns the
// number of the former. It keeps the order on each side.
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

// grow builds a tree. It divides the leaf with the highest gain until there are fitLeaves leaves.
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

// appendTo appends a node and those below it in preorder.
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
