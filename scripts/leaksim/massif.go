package leaksim

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
	"github.com/heaplapse/heaplapse/scripts/leaksim/program"
	"github.com/heaplapse/heaplapse/scripts/leaksim/random"
)

// tracedModes returns the modes of the population Traced.
func tracedModes() []Mode {
	return []Mode{
		{name: "massif", images: 1, format: massif, missing: 0.3},
		{name: "massif-bytes", images: 1, format: massif, trigger: byAllocation},
	}
}

// massifOptions are the options of a run of massif.
type massifOptions struct {
	unit      string  // of the times: ms, i (instructions) or B (bytes allocated and freed)
	threshold float64 // in percent of the heap
}

const (
	// defaultThreshold is massif's --threshold.
	defaultThreshold = 1.0
	// instructionsPerSecond is the pace of a program in massif.
	instructionsPerSecond = 2e8
)

// massifOptions draws the options of the process. Snapshots that follow allocation are taken every so
// many bytes, the others every so many milliseconds or instructions.
func (p *Process) massifOptions() massifOptions {
	rng := random.New(p.id(), streamMassif)
	o := massifOptions{unit: "i", threshold: defaultThreshold}
	if random.Chance(rng, 0.5) {
		o.unit = "ms"
	}
	if p.Mode.trigger == byAllocation {
		o.unit = "B"
	}
	switch rng.IntN(3) {
	case 0:
		o.threshold = random.LogUniform(rng, 0.01, defaultThreshold)
	case 1:
		o.threshold = 0
	}
	return o
}

// workSteps returns n steps of a process image between which the process uses equal processor time.
func (p *Process) workSteps(im *image, n int) (out []int) {
	used := p.life.processorTime(random.New(p.id(), streamLife+1))
	first := im.before + im.grid.Index(2*behaviour.Dt) + 1
	last := min(im.before+im.grid.Steps(), len(used)) - 1
	for k := 1; k <= n; k++ {
		want := used[first] + float64(k)/float64(n)*(used[last]-used[first])
		step, _ := slices.BinarySearch(used[first:last], want)
		out = append(out, first+step-im.before)
	}
	return slices.Compact(out)
}

// writeMassif writes all snapshots into one file.
func (p *Process) writeMassif(dir string, shots []shot) error {
	o := p.massifOptions()
	var b strings.Builder
	fmt.Fprintf(&b, "desc: --detailed-freq=1 --time-unit=%s --threshold=%.2f\ncmd: %s\ntime_unit: %s\n",
		o.unit, o.threshold, program.ProgramPath, o.unit)
	for i, s := range shots {
		tree, lost := p.massifTree(s)
		p.lost[s.seq] = lost
		fmt.Fprintf(&b, "#-----------\nsnapshot=%d\n#-----------\ntime=%d\nmem_heap_B=%d\nmem_heap_extra_B=0\nmem_stacks_B=0\n"+
			"heap_tree=detailed\n%s", i, p.massifTime(o.unit, s, shots[0]), s.image.total()[s.step].Bytes, tree)
	}
	last := shots[len(shots)-1]
	path := filepath.Join(dir, p.fileName(last))
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.Chtimes(path, last.time, last.time)
}

// massifTime returns the time of a snapshot in the unit of the file.
func (p *Process) massifTime(unit string, s, first shot) int64 {
	switch unit {
	case "ms":
		return s.time.Sub(first.time).Milliseconds()
	case "i":
		return int64(s.cpu.Seconds() * instructionsPerSecond)
	}
	total := s.image.total()[s.step]
	return 2*total.AllocBytes - total.Bytes
}

// massifTree returns the tree of a snapshot, and the units whose function it omits.
func (p *Process) massifTree(s shot) (tree string, lost map[int]bool) {
	t := massifTree{program: p.program, base: s.image.base, lost: map[int]bool{}}
	var all []leaf
	for i := range s.image.sites {
		site := &s.image.sites[i]
		for k, stack := range site.stacks {
			if n := s.image.history[site.first+k][s.step].Bytes; n > 0 {
				all = append(all, leaf{site.first + k, site.name, stack, n})
				t.total += n
			}
		}
	}
	t.least = int64(math.Ceil(float64(t.total) * p.massifOptions().threshold / 100))
	t.node("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", all, 0)
	return t.text.String(), t.lost
}

// massifTree is a tree that is being written.
type massifTree struct {
	program *program.Program
	base    uint64
	text    strings.Builder
	total   int64
	least   int64 // callers with fewer bytes are omitted
	lost    map[int]bool
}

// leaf is a call path with memory in use.
type leaf struct {
	unit     int
	function string
	stack    []uint64
	bytes    int64
}

// node writes a line for some leaves that have their first depth frames in common, and the lines of
// their callers, the largest first.
func (t *massifTree) node(name string, leaves []leaf, depth int) {
	callers, omitted := t.callers(leaves, depth)
	lines := len(callers)
	if len(omitted) > 0 {
		lines++
	}
	fmt.Fprintf(&t.text, "%*sn%d: %d %s\n", depth, "", lines, sum(leaves), name)
	for _, c := range callers {
		address := c[0].stack[depth]
		t.node(fmt.Sprintf("0x%X: %s (in %s)", t.base+address, t.program.Name(address), program.ProgramPath), c, depth+1)
	}
	if len(omitted) > 0 {
		t.omit(omitted, depth)
	}
}

// callers groups leaves by their next caller. It returns those above the threshold, and the others.
func (t *massifTree) callers(leaves []leaf, depth int) (shown, omitted [][]leaf) {
	groups := map[uint64][]leaf{}
	var order []uint64
	for _, l := range leaves {
		if depth == len(l.stack) {
			continue // the outermost function
		}
		if groups[l.stack[depth]] == nil {
			order = append(order, l.stack[depth])
		}
		groups[l.stack[depth]] = append(groups[l.stack[depth]], l)
	}
	for _, a := range order {
		if g := groups[a]; sum(g) < t.least {
			omitted = append(omitted, g)
		} else {
			shown = append(shown, g)
		}
	}
	slices.SortStableFunc(shown, func(a, b []leaf) int { return int(sum(b) - sum(a)) })
	return shown, omitted
}

// omit writes a line for the callers below the threshold. Functions that are deeper than their depth are
// lost.
func (t *massifTree) omit(callers [][]leaf, depth int) {
	all := slices.Concat(callers...)
	for _, l := range all {
		known := slices.ContainsFunc(l.stack[:depth], func(a uint64) bool { return t.program.Name(a) == l.function })
		if !known {
			t.lost[l.unit] = true
		}
	}
	places := fmt.Sprintf("in %d places, all", len(callers))
	if len(callers) == 1 {
		places = "in 1 place,"
	}
	fmt.Fprintf(&t.text, "%*sn0: %d %s below massif's threshold (%.2f%%)\n", depth+1, "", sum(all), places,
		100*float64(t.least)/float64(t.total))
}

func sum(leaves []leaf) (n int64) {
	for _, l := range leaves {
		n += l.bytes
	}
	return n
}
