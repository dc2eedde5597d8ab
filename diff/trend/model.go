package trend

import (
	_ "embed" // the model is a file
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// model turns features into the probability that a series leaks. It is a sum of decision trees,
// fitted by gradient boosting (Friedman 2001) to simulated processes whose leaks are known. Their
// seeds are none of those that docs/growth-benchmark.md measures with:
//
//	go run ./scripts/leakbench -seeds 1-450,581-1899 -wide-seeds 1-250 -snapshots 8,12,24,48 -fit diff/trend/model.txt
//
// No single statistic distinguishes a leak from what looks like one, and no fixed order of tests
// does: what a flat end means depends on how many rises there were before, and what a straight line
// means depends on whether allocation became faster.
//
// The model is parsed when the first series that grew is judged. Most commands judge none.
var model = sync.OnceValue(func() *Model {
	m, err := ParseModel(modelText)
	if err != nil {
		panic(err) // the file is part of the program and has a test
	}
	return m
})

//go:embed model.txt
var modelText string

// Model is a sum of trees, in log-odds.
type Model struct {
	Base  float64
	Trees []Tree
}

// Tree is a decision tree in preorder: the left side of a split is the node after it.
type Tree []Node

// Node is a split or a leaf.
type Node struct {
	Value   float64 // threshold of a split, smaller values go left; value of a leaf, in log-odds
	Right   int32   // index of the right side of a split, 0 for a leaf
	Feature Feature // of a split
}

// Probability returns the probability of a leak.
func (m *Model) Probability(f *Features) float64 {
	sum := m.Base
	for _, t := range m.Trees {
		sum += t.Of(f)
	}
	return 1 / (1 + math.Exp(-sum))
}

// Of returns the value of a tree for some features, in log-odds.
func (t Tree) Of(f *Features) float64 {
	i := int32(0)
	for t[i].Right > 0 {
		if f[t[i].Feature] < t[i].Value {
			i++
		} else {
			i = t[i].Right
		}
	}
	return t[i].Value
}

// String returns the text of a model: a line "base NUMBER", then a line for each tree in preorder.
// A split is NAME<NUMBER, a leaf a number.
func (m *Model) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "base %.6g\n", m.Base)
	for _, t := range m.Trees {
		for i, n := range t {
			if i > 0 {
				b.WriteByte(' ')
			}
			if n.Right > 0 {
				fmt.Fprintf(&b, "%s<%.6g", n.Feature, n.Value)
			} else {
				fmt.Fprintf(&b, "%.4g", n.Value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ParseModel reads what String writes. Lines that begin with "#" are comments.
func ParseModel(text string) (*Model, error) {
	m := &Model{}
	features := make(map[string]Feature, FeatureCount)
	for f := range FeatureCount {
		features[f.String()] = f
	}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		var err error
		if fields[0] == "base" && len(fields) == 2 {
			m.Base, err = strconv.ParseFloat(fields[1], 64)
		} else {
			err = m.add(fields, features)
		}
		if err != nil {
			return nil, fmt.Errorf("model, line %d: %w", i+1, err)
		}
	}
	return m, nil
}

// add reads a tree. A node that follows a leaf is the right side of the last split that has none
// yet.
func (m *Model) add(fields []string, features map[string]Feature) error {
	t := make(Tree, 0, len(fields))
	var open []int // splits that have no right side yet
	for i, text := range fields {
		if i > 0 && t[i-1].Right == 0 {
			if len(open) == 0 {
				return fmt.Errorf("unexpected %q after the end of a tree", text)
			}
			t[open[len(open)-1]].Right = int32(i)
			open = open[:len(open)-1]
		}
		n, err := parseNode(text, features)
		if err != nil {
			return err
		}
		if n.Right != 0 {
			open = append(open, i)
		}
		t = append(t, n)
	}
	if len(open) > 0 {
		return errors.New("a tree ends early")
	}
	m.Trees = append(m.Trees, t)
	return nil
}

// parseNode reads a leaf, or a split whose right side is not known yet.
func parseNode(text string, features map[string]Feature) (n Node, err error) {
	name, number, split := strings.Cut(text, "<")
	if !split {
		number = name
	} else {
		f, known := features[name]
		if !known {
			return n, fmt.Errorf("unknown feature %q", name)
		}
		n = Node{Feature: f, Right: -1}
	}
	n.Value, err = strconv.ParseFloat(number, 64)
	return n, err
}
