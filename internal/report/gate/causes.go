package gate

import (
	"fmt"
	"path"
	"slices"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/causes"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// cause is a function through which many functions grew.
type cause struct {
	frame *symbolize.Frame
	causes.Cause
	share float64 // of the growth of all functions
}

// causes are the functions that explain the growth since the latest earlier run, if the run failed.
// Functions that grew too little for a row count, too.
func (g *Report) causes() (out []cause) {
	base := g.Reference
	if len(g.Baselines) > 0 {
		base = g.Baselines[0]
	}
	if g.Verdict != gate.Fail || base == nil || g.Current == nil {
		return nil
	}
	p := growthPaths{functions: map[string]int{}, known: map[symbolize.Frame]int{}}
	p.add(g.Current, 1)
	p.add(base, -1)
	for _, c := range causes.Find(p.paths, p.growth) {
		share := float64(c.Growth) / float64(p.growth)
		if share < rootShare || !p.isRoot(c.Function) {
			out = append(out, cause{p.frames[c.Function], c, share})
		}
	}
	return out
}

// rootShare is the share of the growth and of the earlier bytes from which on everything depends on a
// function.
const rootShare = 0.95

// isRoot reports whether a function is the root of the program's work, such as the handler of all
// requests: main calls it, or nothing does, and nearly all memory of the earlier run is below it.
// Whatever grows, grows below such a function.
func (p *growthPaths) isRoot(function int) bool {
	var all, below, outer int64
	for _, path := range p.paths {
		if path.Growth >= 0 {
			continue // of the current run
		}
		all -= path.Growth
		if i := slices.Index(path.Functions, function); i >= 0 {
			below -= path.Growth
			if len(path.Functions)-1-i <= 1 {
				outer -= path.Growth
			}
		}
	}
	return float64(below) >= rootShare*float64(all) && 2*outer > below
}

// growthPaths are the call paths of two runs. Those of the earlier run count negative, so that a
// function has the growth of all call paths that it is on, without matching them.
type growthPaths struct {
	functions map[string]int          // by name
	known     map[symbolize.Frame]int // function; notCause for a frame that cannot be a cause
	names     identity.Names
	frames    []*symbolize.Frame
	paths     []causes.Path
	growth    int64
}

// notCause is the number of a frame that cannot be a cause: a runtime, or an allocator.
const notCause = -1

// add adds the sites of a run, times a sign.
func (p *growthPaths) add(r *baseline.Run, sign int64) {
	for i := range r.Sites {
		s := &r.Sites[i]
		next := causes.Path{Growth: sign * int64(s.Bytes), Site: -1}
		if f := blamed(s); f != nil {
			next.Site = p.number(f)
		}
		for k := range s.Frames {
			if n := p.candidate(&s.Frames[k]); n != notCause {
				next.Functions = append(next.Functions, n)
			}
		}
		p.paths = append(p.paths, next)
		p.growth += next.Growth
	}
}

// candidate returns the number of a function that may be a cause, else notCause.
func (p *growthPaths) candidate(f *symbolize.Frame) int {
	n, ok := p.known[*f]
	if !ok {
		n = notCause
		if c := siteview.ClassOf(f); c == class.Application || c == class.Library {
			n = p.number(f)
		}
		p.known[*f] = n
	}
	return n
}

// number returns the number of a function.
func (p *growthPaths) number(f *symbolize.Frame) int {
	key := path.Base(f.Module) + "\x00" + p.names.Normalize(f.Function)
	n, known := p.functions[key]
	if !known {
		n = len(p.frames)
		p.functions[key], p.frames = n, append(p.frames, f)
	}
	return n
}

// name is the function and its file.
func (c *cause) name() string {
	return text.Join(" ", text.ClipName(siteview.FunctionName(c.frame), 60), text.Position(c.frame.File, 0))
}

// explains is the part of the growth that is below the function.
func (c *cause) explains() string {
	return fmt.Sprintf("%.0f %% of the growth, %s", 100*min(1, c.share), units.Count(c.Sites, "function"))
}
