package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/trend/births"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/scripts/leaksim"
	"github.com/heaplapse/heaplapse/symbolize"
)

// outcome is a function of a process with the result of the detector.
type outcome struct {
	leaksim.Function
	finding
	population leaksim.Population
	// verdict, why and chance are those of the whole process.
	verdict verdict.Series
	why     verdict.Reason
	chance  float64
}

// finding is the result of the detector for a function.
type finding struct {
	label      string // "" if the result does not contain the function
	called     bool   // the detector reports a leak
	confidence float64
	rank       int // position in the result, from 1; 0 if the result does not contain the function
	stacks     int
	gained     int64
	held       int64 // in the last judged snapshot
	features   trend.Features
	births     *births.Features // nil if they are not known
	large      bool             // it grew enough to be reported
}

// examine writes a process to dir and runs the detector on the files.
func examine(p *leaksim.Process, dir string) ([]outcome, error) {
	if !p.Recorded() {
		return nil, nil
	}
	if err := p.Write(dir); err != nil {
		return nil, err
	}
	found, result, err := detect(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	var out []outcome
	for _, f := range p.Functions() {
		out = append(out, outcome{Function: f, finding: found[f.Name], population: p.Population})
		delete(found, f.Name)
	}
	for name := range found {
		known := slices.Contains(p.DustNames, name) || (p.Mode.Partial() && isTruncatedStack(name))
		if !known {
			return nil, fmt.Errorf("%s: the result blames %s, which does not allocate", p, name)
		}
	}
	out = append(out, dustOutcomes(p, found)...)
	for i := range out {
		out[i].verdict, out[i].why, out[i].chance = result.Verdict, result.Why, result.Chance
	}
	return out, nil
}

// detect runs the detector on a directory, as `heaplapse growth --all` does, and returns the
// finding for each function, and the result as a whole.
func detect(dir string) (map[string]finding, *growth.Result, error) {
	var columns sites.Collector
	series, err := series.Open([]string{dir}, series.Options{Visit: columns.Visit, Workers: 1})
	if err != nil {
		return nil, nil, err
	}
	defer series.Close()
	o := symbolize.Options{Sysroot: filepath.Join(dir, "sysroot"), Workers: 1}
	symbols, err := symbolize.Resolve(context.Background(), series, o)
	if err != nil {
		return nil, nil, err
	}
	judged := sites.JudgedRange(series, 0, 0)
	born, err := ages.Read(series, symbols, ages.Options{First: judged.First, Last: judged.Last})
	if err != nil {
		return nil, nil, err
	}
	result := growth.Judge(series, symbols, &columns, growth.Options{All: true, Ages: born})
	out := map[string]finding{}
	for i := range result.Sites {
		s := &result.Sites[i]
		name := blamed(symbols, s)
		f := finding{
			label: s.Label.String(), called: s.Label.IsLeak(), confidence: s.Confidence,
			rank: i + 1, stacks: len(s.Members), gained: s.Gained, held: s.Held, features: s.Features, births: s.Births,
			large: isLarge(&s.Verdict),
		}
		// If the result contains a function more than once, the worst site counts.
		old, ok := out[name]
		if !ok || (f.called && !old.called) || (f.called == old.called && f.confidence > old.confidence) {
			if ok {
				f.rank = min(f.rank, old.rank)
			}
			out[name] = f
		}
	}
	return out, result, nil
}

// isLarge reports whether a series grew enough to be called a leak or a suspect.
func isLarge(v *trend.Verdict) bool {
	return v.Features[trend.FeatureSize] >= 1 &&
		(v.Features[trend.FeatureDirectness] > 0 || v.Growth >= trend.DefaultMinGrowth)
}

const (
	// noStack is the name of a row without addresses.
	noStack = "(no stack)"
	// folded stands for the callers that massif omits.
	folded = "(folded samples)"
)

// isTruncatedStack reports whether a name can be that of a truncated row, which may have no frames
// or only that of a container.
func isTruncatedStack(name string) bool {
	return name == noStack || name == folded || strings.HasPrefix(name, "std::")
}

// blamed returns the name of the function to which a site is attributed.
func blamed(symbols *symbolize.Symbols, s *growth.Site) string {
	stack := symbols.Stack(symbols.SiteStack(s.Members[0]))
	if len(stack) == 0 {
		return noStack
	}
	l := &symbols.Locations[stack[s.Blame.Position]]
	if s.Blame.Frame < 0 || !l.Named() {
		return symbols.Label(l)
	}
	return l.Frames[s.Blame.Frame].Function
}

// dustOutcomes returns the functions of the dust in the result. None of them leaks.
func dustOutcomes(p *leaksim.Process, found map[string]finding) []outcome {
	var out []outcome
	for _, name := range p.DustNames {
		if f, ok := found[name]; ok {
			out = append(out, outcome{Function: p.DustFunction(name), finding: f, population: p.Population})
		}
	}
	return out
}

// inScratch calls examine with a temporary directory or, if keep is set, with a directory below
// keep.
func inScratch(p *leaksim.Process, keep string) ([]outcome, error) {
	if keep != "" {
		return examine(p, filepath.Join(keep, p.Dir()))
	}
	dir, err := os.MkdirTemp("", "leakbench")
	if err != nil {
		return nil, err
	}
	out, err := examine(p, dir)
	return out, errors.Join(err, os.RemoveAll(dir))
}
