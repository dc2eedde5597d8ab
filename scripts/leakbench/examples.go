package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/trend/births"
	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

// example is a function with its truth, and what the detector measured of it. A file of examples is
// what scripts/model fits the model to, and what the thresholds are chosen with.
type example struct {
	leak bool
	// large reports whether it grew enough to be called a leak or a suspect.
	large           bool
	seed            uint64
	snapshots       int
	population      leaksim.Population
	mode, behaviour string
	life            string
	features        trend.Features
	births          *births.Features // nil if they are not known
	confidence      float64
}

// examplesOf returns an example for each function, except excluded ones.
func examplesOf(all []outcome) []example {
	var out []example
	for i := range all {
		o := &all[i]
		if o.Verdict == leaksim.IsExcluded {
			continue
		}
		e := example{
			leak: o.Verdict == leaksim.IsLeak, large: o.large, seed: o.Seed, snapshots: o.Snapshots,
			population: o.population, mode: o.Mode, behaviour: o.Behaviour, life: o.Life,
			features: o.features, births: o.births, confidence: o.confidence,
		}
		out = append(out, e)
	}
	return out
}

// exampleColumns are the columns before the features.
const exampleColumns = 8

// oddsColumn is the name of the column between the features and those of the births: the log-odds without births.
const oddsColumn = "odds"

// writeExamples writes a line of names, then a line per example. Of the functions that hardly grew,
// which have no features, it writes only the leaks: the others are neither fitted nor reported. If births are known of
// any function, all lines have the numbers that describe them; they are 0 where births are not known.
func writeExamples(w io.Writer, examples []example) {
	out := bufio.NewWriter(w)
	defer func() { _ = out.Flush() }() // w stores the first error
	_, _ = out.WriteString("leak large seed snapshots population recording behaviour process")
	for f := range trend.FeatureCount {
		_, _ = out.WriteString(" " + f.String())
	}
	born := slices.ContainsFunc(examples, func(e example) bool { return e.births != nil })
	if born {
		_, _ = out.WriteString(" " + oddsColumn)
		for f := range births.FeatureCount {
			_, _ = out.WriteString(" " + f.String())
		}
	}
	_, _ = out.WriteString("\n")
	for i := range examples {
		e := &examples[i]
		if e.features[trend.FeaturePoints] == 0 && !e.leak {
			continue
		}
		_, _ = fmt.Fprintf(out, "%d %d %d %d %s %s %s %s",
			bit(e.leak), bit(e.large), e.seed, e.snapshots, e.population, e.mode, e.behaviour, e.life)
		for _, v := range e.features {
			_, _ = fmt.Fprintf(out, " %.6g", v)
		}
		if born {
			odds := trend.Confidence(&e.features, nil)
			_, _ = fmt.Fprintf(out, " %.6g", math.Log(odds/(1-odds)))
			for _, v := range cmp.Or(e.births, &births.Features{}) {
				_, _ = fmt.Fprintf(out, " %.6g", v)
			}
		}
		_, _ = out.WriteString("\n")
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// readExamples reads a file that writeExamples wrote, and judges its examples by the model.
func readExamples(path string) ([]example, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []example
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			continue
		}
		e, err := parseExample(strings.Fields(lines.Text()))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		out = append(out, e)
	}
	return out, lines.Err()
}

func parseExample(fields []string) (e example, err error) {
	const plain = exampleColumns + int(trend.FeatureCount)
	const withBirths = plain + 1 + int(births.FeatureCount)
	if len(fields) != plain && len(fields) != withBirths {
		return e, fmt.Errorf("want %d or %d columns, found %d", plain, withBirths, len(fields))
	}
	var errs [2]error
	e.leak, e.large = fields[0] == "1", fields[1] == "1"
	e.seed, errs[0] = strconv.ParseUint(fields[2], 10, 64)
	e.snapshots, errs[1] = strconv.Atoi(fields[3])
	e.population, e.mode, e.behaviour, e.life = leaksim.Population(fields[4]), fields[5], fields[6], fields[7]
	if err := parseNumbers(e.features[:], fields[exampleColumns:plain]); err != nil {
		return e, err
	}
	if len(fields) == withBirths {
		var born births.Features
		if err := parseNumbers(born[:], fields[plain+1:]); err != nil {
			return e, err
		}
		if born != (births.Features{}) {
			e.births = &born
		}
	}
	if e.features[trend.FeaturePoints] > 0 {
		e.confidence = trend.Confidence(&e.features, e.births)
	}
	return e, errors.Join(errs[:]...)
}

func parseNumbers(out []float64, fields []string) (err error) {
	for i, text := range fields {
		if out[i], err = strconv.ParseFloat(text, 64); err != nil {
			return err
		}
	}
	return nil
}
