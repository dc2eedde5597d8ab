package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/leaksim"
	"github.com/heaplapse/heaplapse/symbolize"
)

// outcome is one function of one process and what the detector says of it.
type outcome struct {
	leaksim.Function
	finding
}

// finding is what the detector says of a function.
type finding struct {
	label      string // "" where the result does not mention it
	called     bool   // a leak
	confidence float64
	rank       int // from 1 among the results, 0 for none
	stacks     int
	features   trend.Features
}

// examine simulates a process, writes it below dir and judges it by the real pipeline.
func examine(seed uint64, snapshots int, wide bool, dir string) ([]outcome, error) {
	p := leaksim.Simulate(seed, snapshots, wide)
	if err := p.Write(dir); err != nil {
		return nil, err
	}
	found, err := detect(dir)
	if err != nil {
		return nil, fmt.Errorf("seed %d, %d snapshots: %w", seed, snapshots, err)
	}
	var out []outcome
	for _, f := range p.Functions() {
		out = append(out, outcome{f, found[f.Name]})
		delete(found, f.Name)
	}
	for name := range found {
		known := slices.Contains(p.DustNames, name) || (p.Mode.Truncated && remains(name))
		if !known {
			return nil, fmt.Errorf("seed %d, %d snapshots: the result blames %s, which allocates nothing", seed, snapshots, name)
		}
	}
	return append(out, dustOutcomes(p, found)...), nil
}

// detect reads, symbolizes and judges a directory as `heaplapse growth --all` does.
func detect(dir string) (map[string]finding, error) {
	var columns sites.Collector
	series, err := series.Open([]string{dir}, series.Options{Visit: columns.Visit, Workers: 1})
	if err != nil {
		return nil, err
	}
	defer series.Close()
	symbols, err := symbolize.Resolve(context.Background(), series, symbolize.Options{Sysroot: filepath.Join(dir, "sysroot"), Workers: 1})
	if err != nil {
		return nil, err
	}
	result := growth.Judge(series, symbols, &columns, growth.Options{All: true})
	out := map[string]finding{}
	for i := range result.Sites {
		s := &result.Sites[i]
		name := blamed(symbols, s)
		f := finding{s.Label.String(), s.Label.IsLeak(), s.Confidence, i + 1, len(s.Members), s.Features}
		// A function may stand in the result more than once; its worst row is what it is called.
		if old, ok := out[name]; !ok || (f.called && !old.called) || (f.called == old.called && f.confidence > old.confidence) {
			if ok {
				f.rank = min(f.rank, old.rank)
			}
			out[name] = f
		}
	}
	return out, nil
}

// noStack stands for rows without addresses.
const noStack = "(no stack)"

// remains says whether a name is all that a cut file's last row may have left of a stack: nothing, or a container's frame.
func remains(name string) bool { return name == noStack || strings.HasPrefix(name, "std::") }

// blamed is the name of the function that a result is put down to.
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

// dustOutcomes are the dust's functions that the detector names: none of them leaks.
func dustOutcomes(p *leaksim.Process, found map[string]finding) []outcome {
	var out []outcome
	for _, name := range p.DustNames {
		if f, ok := found[name]; ok {
			out = append(out, outcome{p.DustFunction(name), f})
		}
	}
	return out
}

// inScratch runs examine in a temporary directory, or below keep if that is set.
func inScratch(seed uint64, snapshots int, wide bool, keep string) ([]outcome, error) {
	if keep != "" {
		name := "seed"
		if wide {
			name = "wide"
		}
		return examine(seed, snapshots, wide, filepath.Join(keep, fmt.Sprintf("%s%d-%d", name, seed, snapshots)))
	}
	dir, err := os.MkdirTemp("", "leakbench")
	if err != nil {
		return nil, err
	}
	out, err := examine(seed, snapshots, wide, dir)
	return out, errors.Join(err, os.RemoveAll(dir))
}
