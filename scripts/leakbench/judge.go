package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// outcome is one function of one process: its truth, what was written of it, and what the detector says.
type outcome struct {
	seed      uint64
	snapshots int
	mode      string
	function  string
	behaviour string
	truth
	observed curve

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

// curve is what the files say of a function in the window: estimates, one per snapshot. What a cut file does not
// show is NaN. allocs are nil without cumulative counts.
type curve struct {
	seconds, bytes, objects, allocs, allocBytes []float64
}

// examine simulates a process, writes it below dir and judges it by the real pipeline.
func examine(seed uint64, snapshots int, wide bool, dir string) ([]outcome, error) {
	p := simulate(seed, snapshots, wide)
	if err := p.write(dir); err != nil {
		return nil, err
	}
	found, err := detect(dir)
	if err != nil {
		return nil, fmt.Errorf("seed %d, %d snapshots: %w", seed, snapshots, err)
	}
	out := p.outcomes()
	for i := range out {
		o := &out[i]
		if f, ok := found[o.function]; ok {
			o.finding = f
			delete(found, o.function)
		}
	}
	for name := range found {
		known := slices.Contains(p.dustNames, name) || (p.mode.cut && remains(name))
		if !known {
			return nil, fmt.Errorf("seed %d, %d snapshots: the result blames %s, which allocates nothing", seed, snapshots, name)
		}
	}
	return append(out, p.dustOutcomes(found)...), nil
}

// detect reads, symbolizes and judges a directory as `heaplapse growth --all` does.
func detect(dir string) (map[string]finding, error) {
	var columns sites.Collector
	series, err := series.Open([]string{dir}, series.Options{Visit: columns.Visit, Workers: 1})
	if err != nil {
		return nil, err
	}
	defer series.Close()
	symbols, err := symbolize.Resolve(series, symbolize.Options{Sysroot: filepath.Join(dir, "sysroot"), Workers: 1})
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

// outcomes are the functions with their truth and what was written of them, not judged yet.
func (p *process) outcomes() []outcome {
	shots := p.shots()
	first, last := window(shots)
	hidden := p.hidden(shots, first.image)
	var out []outcome
	for i := range first.image.sites {
		s := &first.image.sites[i]
		out = append(out, outcome{
			seed: p.seed, snapshots: p.snapshots, mode: p.mode.name, function: s.name, behaviour: s.behaviour.name,
			truth: truthOf(s, first, last, p.mode.period), observed: p.observe(s, shots, first.image, hidden),
		})
	}
	return out
}

// dustOutcomes are the dust's functions that the detector names: none of them leaks.
func (p *process) dustOutcomes(found map[string]finding) []outcome {
	var out []outcome
	for _, name := range p.dustNames {
		if f, ok := found[name]; ok {
			out = append(out, outcome{seed: p.seed, snapshots: p.snapshots, mode: p.mode.name, function: name, behaviour: "dust",
				truth: truth{verdict: isHarmless}, finding: f})
		}
	}
	return out
}

// hidden says for each snapshot of the window's image which units a cut file leaves out.
func (p *process) hidden(shots []shot, im *image) map[int]map[int]bool {
	if !p.mode.cut {
		return nil
	}
	texts := im.texts()
	out := map[int]map[int]bool{}
	for _, s := range shots {
		_, out[s.seq] = p.heapProfile(s, texts)
	}
	return out
}

// observe is the curve of a function as the files show it.
func (p *process) observe(s *site, shots []shot, im *image, hidden map[int]map[int]bool) curve {
	var c curve
	for _, sh := range shots {
		if sh.image != im {
			continue
		}
		c.seconds = append(c.seconds, sh.time.Sub(shots[0].time).Seconds())
		e := p.seen(s, sh, hidden[sh.seq])
		c.bytes, c.objects = append(c.bytes, e.bytes), append(c.objects, e.objects)
		if p.mode.period == 0 || p.mode.accum {
			c.allocs, c.allocBytes = append(c.allocs, e.allocs), append(c.allocBytes, e.allocBytes)
		}
	}
	return c
}

func (p *process) seen(s *site, sh shot, hidden map[int]bool) (e estimates) {
	for k := range s.stacks {
		unit := s.first + k
		switch {
		case hidden[unit]:
			return estimates{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		case p.mode.format == jemalloc:
			est := estimate(sh.image.classes[unit][sh.mark])
			objects, size := shown(est.objects, est.bytes)
			allocs, allocBytes := shown(est.allocs, est.allocBytes)
			e.add(estimates{objects, size, allocs, allocBytes})
		case p.mode.format == heapV2:
			e.add(estimate(sh.image.classes[unit][sh.mark]))
		default:
			q := sh.image.history[unit][sh.step]
			e.add(estimates{float64(q.live), float64(q.bytes), float64(q.allocs), float64(q.allocBytes)})
		}
	}
	return e
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
