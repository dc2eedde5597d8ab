package trend

import (
	"crypto/sha256"
	_ "embed" // the model is a file
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/diff/trend/births"
)

// model turns features into the probability that a series leaks. It is a sum of decision trees,
// fitted by gradient boosting (Friedman 2001; LightGBM) to simulated processes whose leaks are
// known. Their seeds are none of those that docs/growth-benchmark.md measures with. `make model`
// fits it again.
//
// No single statistic distinguishes a leak from what looks like one, and no fixed order of tests
// does: what a flat end means depends on how many rises there were before, and what a straight line
// means depends on whether allocation became faster.
//
// The model is parsed when the first series that grew is judged. Most commands judge none.
var model = sync.OnceValue(func() []tree { return mustParse(modelText, featureNames()) })

// birthModel corrects the log-odds of model where births are known. It was fitted in the same way, to other processes.
var birthModel = sync.OnceValue(func() []tree { return mustParse(birthModelText, birthNames()) })

//go:embed model.txt
var modelText string

//go:embed births.txt
var birthModelText string

// featureNames are the names of all features, in their order.
func featureNames() (names []string) {
	for _, row := range table {
		names = append(names, row.Name)
	}
	return names
}

// birthNames are the same of births.
func birthNames() (names []string) {
	for f := range births.FeatureCount {
		names = append(names, f.String())
	}
	return names
}

// mustParse parses a model that is part of the program and has a test.
func mustParse(text string, names []string) []tree {
	m, err := parseModel(text, names)
	if err != nil {
		panic(err)
	}
	return m
}

// ModelVersion returns a hash of the model, with or without that of births: confidences of different models are not
// comparable.
func ModelVersion(born bool) string {
	text := modelText
	if born {
		text += birthModelText
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// Confidence returns the probability that a series with the given features leaks. born may be nil.
func Confidence(f *Features, born *births.Features) float64 {
	odds := logOdds(model(), f[:])
	if born != nil {
		odds += logOdds(birthModel(), born[:])
	}
	return probability(odds)
}

// probability is that of an event with the given logarithm of its odds.
func probability(logOdds float64) float64 { return 1 / (1 + math.Exp(-logOdds)) }

func logOdds(trees []tree, features []float64) (sum float64) {
	for _, t := range trees {
		sum += t.of(features)
	}
	return sum
}

// tree is a decision tree in preorder: the left side of a split is the node after it.
type tree []node

// node is a split or a leaf.
type node struct {
	value   float64 // threshold of a split, values up to it go left; value of a leaf, in log-odds
	right   int32   // index of the right side of a split, 0 for a leaf
	feature int32   // of a split
}

// of returns the value of a tree for some features, in log-odds.
func (t tree) of(features []float64) float64 {
	i := int32(0)
	for t[i].right > 0 {
		if features[t[i].feature] <= t[i].value {
			i++
		} else {
			i = t[i].right
		}
	}
	return t[i].value
}

// modelFile is a model that is being read. Most of the file is splits and leaves, which are small
// numbers: the thresholds of each feature are listed once.
type modelFile struct {
	names      []string    // of all features
	features   []int32     // in the order of the file
	thresholds [][]float64 // of each of them
	trees      []tree
}

// leafUnit is the value of a leaf of 1, in log-odds.
const leafUnit = 1e-4

// parseModel reads a model of features with some names. A line "feature NAME NUMBER…" lists the
// thresholds of a feature. Each other line is a tree in preorder: a split is FEATURE:THRESHOLD, both
// counted from 0 in the order of the lists, a leaf a number in units of leafUnit. Lines that begin
// with "#" are comments.
func parseModel(text string, names []string) ([]tree, error) {
	m := modelFile{names: names}
	for i := 1; text != ""; i++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if err := m.line(line); err != nil {
			return nil, fmt.Errorf("model, line %d: %w", i, err)
		}
	}
	return m.trees, nil
}

func (m *modelFile) line(line string) error {
	if list, ok := strings.CutPrefix(line, "feature "); ok {
		return m.feature(strings.Fields(list))
	}
	if line == "" || line[0] == '#' {
		return nil
	}
	t, err := m.tree(line)
	m.trees = append(m.trees, t)
	return err
}

// feature reads a list of thresholds.
func (m *modelFile) feature(fields []string) error {
	if len(fields) == 0 {
		return errors.New("a list of thresholds has no feature")
	}
	f := slices.Index(m.names, fields[0])
	if f < 0 {
		return fmt.Errorf("unknown feature %q", fields[0])
	}
	var list []float64
	for _, field := range fields[1:] {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return err
		}
		list = append(list, v)
	}
	m.features, m.thresholds = append(m.features, int32(f)), append(m.thresholds, list)
	return nil
}

// tree reads a tree. A node that follows a leaf is the right side of the last split that has none
// yet.
func (m *modelFile) tree(line string) (tree, error) {
	t := make(tree, 0, 1+strings.Count(line, " "))
	var open []int // splits that have no right side yet
	for line != "" {
		var field string
		field, line, _ = strings.Cut(line, " ")
		if i := len(t); i > 0 && t[i-1].right == 0 {
			if len(open) == 0 {
				return nil, fmt.Errorf("unexpected %q after the end of a tree", field)
			}
			t[open[len(open)-1]].right = int32(i)
			open = open[:len(open)-1]
		}
		n, err := m.node(field)
		if err != nil {
			return nil, err
		}
		if n.right != 0 {
			open = append(open, len(t))
		}
		t = append(t, n)
	}
	if len(open) > 0 {
		return nil, errors.New("a tree ends early")
	}
	return t, nil
}

// node reads a leaf, or a split whose right side is not known yet.
func (m *modelFile) node(text string) (n node, err error) {
	first, second, split := strings.Cut(text, ":")
	if !split {
		v, err := strconv.Atoi(text)
		return node{value: leafUnit * float64(v)}, err
	}
	f, err := index(first, len(m.features))
	if err != nil {
		return n, fmt.Errorf("feature of a split: %w", err)
	}
	i, err := index(second, len(m.thresholds[f]))
	if err != nil {
		return n, fmt.Errorf("threshold of a split: %w", err)
	}
	return node{value: m.thresholds[f][i], feature: m.features[f], right: -1}, nil
}

// index reads a number from 0 to n−1.
func index(text string, n int) (int, error) {
	i, err := strconv.Atoi(text)
	if err == nil && (i < 0 || i >= n) {
		err = fmt.Errorf("%d is not below %d", i, n)
	}
	return i, err
}
