package trend

import (
	"crypto/sha256"
	_ "embed" // the model is a file
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// model turns features into the probability that a series leaks. It is a sum of decision trees, fitted
// by gradient boosting (Friedman 2001; LightGBM) to simulated processes whose leaks are known. Their
// seeds are none of those that docs/growth-benchmark.md measures with. `make model` fits it again.
//
// No single statistic distinguishes a leak from what looks like one, and no fixed order of tests
// does: what a flat end means depends on how many rises there were before, and what a straight line
// means depends on whether allocation became faster.
//
// The model is parsed when the first series that grew is judged. Most commands judge none.
var model = sync.OnceValue(func() []tree {
	m, err := parseModel(modelText)
	if err != nil {
		panic(err) // the file is part of the program and has a test
	}
	return m
})

//go:embed model.txt
var modelText string

// ModelVersion returns a hash of the model: confidences of different models are not comparable.
func ModelVersion() string {
	sum := sha256.Sum256([]byte(modelText))
	return hex.EncodeToString(sum[:6])
}

// Confidence returns the probability that a series with the given features leaks.
func Confidence(f *Features) float64 { return probability(logOdds(model(), f)) }

// probability is that of an event with the given logarithm of its odds.
func probability(logOdds float64) float64 { return 1 / (1 + math.Exp(-logOdds)) }

func logOdds(trees []tree, f *Features) (sum float64) {
	for _, t := range trees {
		sum += t.of(f)
	}
	return sum
}

// tree is a decision tree in preorder: the left side of a split is the node after it.
type tree []node

// node is a split or a leaf.
type node struct {
	value   float64 // threshold of a split, values up to it go left; value of a leaf, in log-odds
	right   int32   // index of the right side of a split, 0 for a leaf
	feature Feature // of a split
}

// of returns the value of a tree for some features, in log-odds.
func (t tree) of(f *Features) float64 {
	i := int32(0)
	for t[i].right > 0 {
		if f[t[i].feature] <= t[i].value {
			i++
		} else {
			i = t[i].right
		}
	}
	return t[i].value
}

// parseModel reads a line for each tree, in preorder: a split is NAME<=NUMBER, a leaf a number. Lines
// that begin with "#" are comments.
func parseModel(text string) (trees []tree, err error) {
	features := make(map[string]Feature, FeatureCount)
	for f := range FeatureCount {
		features[f.String()] = f
	}
	for i, line := range strings.Split(text, "\n") {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0][0] != '#' {
			t, err := parseTree(fields, features)
			if err != nil {
				return nil, fmt.Errorf("model, line %d: %w", i+1, err)
			}
			trees = append(trees, t)
		}
	}
	return trees, nil
}

// parseTree reads a tree. A node that follows a leaf is the right side of the last split that has none
// yet.
func parseTree(fields []string, features map[string]Feature) (tree, error) {
	t := make(tree, 0, len(fields))
	var open []int // splits that have no right side yet
	for i, text := range fields {
		if i > 0 && t[i-1].right == 0 {
			if len(open) == 0 {
				return nil, fmt.Errorf("unexpected %q after the end of a tree", text)
			}
			t[open[len(open)-1]].right = int32(i)
			open = open[:len(open)-1]
		}
		n, err := parseNode(text, features)
		if err != nil {
			return nil, err
		}
		if n.right != 0 {
			open = append(open, i)
		}
		t = append(t, n)
	}
	if len(open) > 0 {
		return nil, errors.New("a tree ends early")
	}
	return t, nil
}

// parseNode reads a leaf, or a split whose right side is not known yet.
func parseNode(text string, features map[string]Feature) (n node, err error) {
	name, number, split := strings.Cut(text, "<=")
	if !split {
		number = name
	} else {
		f, known := features[name]
		if !known {
			return n, fmt.Errorf("unknown feature %q", name)
		}
		n = node{feature: f, right: -1}
	}
	n.value, err = strconv.ParseFloat(number, 64)
	return n, err
}
