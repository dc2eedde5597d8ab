package trend

import (
	_ "embed" // the model is a file
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// model turns features into the probability that a series leaks. It is a sum of small decision trees, fitted by gradient
// boosting (Friedman 2001) to simulated processes whose leaks are known, on seeds that no measurement in docs/growth-benchmark.md uses:
//
//	go run ./scripts/leakbench -seeds 1-450 -wide-seeds 1-150 -snapshots 8,12,24,48 -fit diff/trend/model.txt
//
// No single statistic tells a leak from what looks like one, and no fixed order of tests does: what a flat end
// means depends on how many rises there were before, what a straight line means on whether allocation became faster.
//
// It is parsed when the first series that grew is judged: most commands judge none.
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
	Trees []*Node
}

// Node is a split, or a leaf where Left is nil.
type Node struct {
	Feature     Feature
	Threshold   float64 // less goes left
	Left, Right *Node
	Value       float64
}

// Probability is that of a leak.
func (m *Model) Probability(f *Features) float64 {
	sum := m.Base
	for _, t := range m.Trees {
		sum += t.Of(f)
	}
	return 1 / (1 + math.Exp(-sum))
}

// Of is what a tree says of features, in log-odds.
func (n *Node) Of(f *Features) float64 {
	for n.Left != nil {
		if f[n.Feature] < n.Threshold {
			n = n.Left
		} else {
			n = n.Right
		}
	}
	return n.Value
}

// String is the text of a model: a line "base NUMBER", then a line for each tree in preorder, where NAME<NUMBER is a split, followed by
// its left and its right side, and a number a leaf.
func (m *Model) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "base %.6g\n", m.Base)
	for _, t := range m.Trees {
		t.write(&b)
		b.WriteByte('\n')
	}
	return b.String()
}

func (n *Node) write(b *strings.Builder) {
	if n.Left == nil {
		fmt.Fprintf(b, "%.4g", n.Value)
		return
	}
	fmt.Fprintf(b, "%s<%.6g ", n.Feature, n.Threshold)
	n.Left.write(b)
	b.WriteByte(' ')
	n.Right.write(b)
}

// ParseModel reads what String writes; lines that begin with "#" are comments.
func ParseModel(text string) (*Model, error) {
	m := &Model{}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		var err error
		if fields[0] == "base" && len(fields) == 2 {
			m.Base, err = strconv.ParseFloat(fields[1], 64)
		} else {
			err = m.add(fields)
		}
		if err != nil {
			return nil, fmt.Errorf("model, line %d: %w", i+1, err)
		}
	}
	return m, nil
}

func (m *Model) add(fields []string) error {
	t, rest, err := parseNode(fields)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%q is too much", rest[0])
	}
	m.Trees = append(m.Trees, t)
	return err
}

func parseNode(fields []string) (n *Node, rest []string, err error) {
	if len(fields) == 0 {
		return nil, nil, errors.New("a tree ends early")
	}
	name, number, split := strings.Cut(fields[0], "<")
	if !split {
		v, err := strconv.ParseFloat(fields[0], 64)
		return &Node{Value: v}, fields[1:], err
	}
	f := slices.Index(featureNames[:], name)
	if f < 0 {
		return nil, nil, fmt.Errorf("unknown feature %q", name)
	}
	n = &Node{Feature: Feature(f)}
	if n.Threshold, err = strconv.ParseFloat(number, 64); err != nil {
		return nil, nil, err
	}
	if n.Left, rest, err = parseNode(fields[1:]); err != nil {
		return nil, nil, err
	}
	n.Right, rest, err = parseNode(rest)
	return n, rest, err
}
