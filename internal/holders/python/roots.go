//go:build linux

package python

import (
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
)

// Roots returns modules and frames, which go before all other roots. graph.Build must have asked for the content of all
// blocks before.
func (in *Interpreter) Roots() (list []roots.Root) {
	in.findModules()
	in.findStacks()
	values := make([]uint64, len(in.modules))
	for i, m := range in.modules {
		values[i] = m.address
	}
	add := func(r graph.Root) {
		if len(r.Values) > 0 || r.Range.Size() > 0 {
			list = append(list, roots.Root{Root: r, Thread: -1})
		}
	}
	add(graph.Root{Phase: roots.Module, Runtime: true, Values: values})
	add(graph.Root{Phase: roots.Frame, Runtime: true, Values: in.found.frames})
	for _, f := range in.running() {
		add(graph.Root{Phase: roots.Frame, Runtime: true, Range: blocks.Range{Start: f.Start, End: f.stack}})
		add(graph.Root{Phase: roots.Temporary, Range: blocks.Range{Start: f.stack, End: f.End}})
	}
	return list
}

// running is the memory of a frame that runs.
type running struct {
	blocks.Range
	stack uint64 // where its variables end, and its stack begins
}

// running returns the frames that run.
func (in *Interpreter) running() (list []running) {
	for _, f := range in.found.frames {
		b, ok := in.blocks.Find(f)
		if !ok {
			continue
		}
		stack := min(max(in.read.Word(f+frameStack), f+in.frameLocals), b.End)
		list = append(list, running{Range: blocks.Range{Start: f + headSize, End: b.End}, stack: stack})
	}
	for _, s := range in.stacks {
		list = append(list, in.runningIn(s)...)
	}
	return list
}

// runningIn returns the frames in a part of a data stack. If they are many, variables are not told from other values.
func (in *Interpreter) runningIn(s stack) (list []running) {
	const many = 2000
	if len(s.frames) > many {
		return []running{{Range: s.Range, stack: s.End}}
	}
	for i, f := range s.frames {
		c := in.read.Word(f+in.frameCode) &^ tagBits
		variables := uint64(in.read.Number(c + in.variables))
		r := running{Range: blocks.Range{Start: f, End: s.End}}
		if i+1 < len(s.frames) {
			r.End = s.frames[i+1]
		}
		r.stack = min(f+in.frameWords+8*variables, r.End)
		list = append(list, r)
	}
	if len(list) == 0 {
		list = append(list, running{Range: s.Range, stack: s.Start})
	}
	return list
}
