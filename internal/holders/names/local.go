//go:build linux

package names

import (
	"context"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Local is memory of a stack in which a variable of a function has pointers.
type Local struct {
	blocks.Range
	// Frame is the index of the frame of the function.
	Frame int

	*placed
}

// placed is a variable in the memory of a frame, or a part of it.
type placed struct {
	*symbolize.LocalVariable
	file *file
	// start is the address of the variable. If isWhole is not set, only a part of it is there, and others are elsewhere.
	start   uint64
	isWhole bool
}

// find returns what the word of the variable at an address is.
func (l *placed) find(address uint64) (found, bool) {
	at := l.start
	if !l.isWhole {
		at = 0 // other words of the variable are elsewhere
	}
	l.file.left = maxWork
	return l.file.findInVariable(l.Ref, address-l.start, at)
}

// maxLocalWords limits the words of the variables of all frames that are looked at.
const maxLocalWords = 1 << 20

// Locals lists the memory of the frames of a stack in which variables have pointers, the outermost frame first. What
// may belong to different variables is left out.
func (p *Process) Locals(ctx context.Context, frames []unwind.Frame) (list []Local) {
	for i, f := range slices.Backward(frames) {
		if f.Module == nil || f.Module == p.Libc || f.CFA <= f.SP {
			continue
		}
		file := p.file(ctx, f.Module)
		if file == nil {
			continue
		}
		words := localWords{Process: p, file: file, at: map[uint64]localWord{}}
		words.inFrame = blocks.Range{Start: f.SP, End: f.CFA}
		values := valuesOf(f, i == 0)
		variables := p.localVariables(file, f.Call-f.Module.Base)
		for k := range variables {
			words.add(&variables[k], values)
		}
		list = append(list, words.ranges(i)...)
	}
	return list
}

// maxLocalAddresses limits the addresses whose variables are looked up.
const maxLocalAddresses = 1 << 10

// localVariables returns the variables of the functions at an address in a file.
func (p *Process) localVariables(f *file, address uint64) []symbolize.LocalVariable {
	if known, ok := f.locals[address]; ok || len(f.locals) == maxLocalAddresses {
		return known
	}
	if f.locals == nil {
		f.locals = map[uint64][]symbolize.LocalVariable{}
	}
	f.locals[address], _ = f.Locals(address) // an error means that there are fewer names
	return f.locals[address]
}

// preserved lists the numbers of the registers that a call preserves: rbx, rbp, rsp, r12 to r15.
var preserved = []uint64{3, 6, 7, 12, 13, 14, 15}

// valuesOf returns the values that are known of a frame.
func valuesOf(f unwind.Frame, innermost bool) symbolize.FrameValues {
	v := symbolize.FrameValues{CFA: f.CFA, Registers: map[uint64]uint64{}}
	for i, value := range f.Registers {
		if innermost || slices.Contains(preserved, uint64(i)) {
			v.Registers[uint64(i)] = value
		}
	}
	return v
}

// localWords collects the pointers of variables in a frame.
type localWords struct {
	*Process
	file    *file
	inFrame blocks.Range
	at      map[uint64]localWord
}

// localWord is a pointer. of is nil if variables disagree.
type localWord struct {
	of *placed
	to content
}

// add adds the pointers of a variable. Those of functions that are inlined come later: the outer name of the same
// pointer counts.
func (w *localWords) add(v *symbolize.LocalVariable, values symbolize.FrameValues) {
	for _, part := range v.Parts(values) {
		l := &placed{LocalVariable: v, file: w.file, start: part.Address - part.Offset, isWhole: part.Size == 0}
		size := part.Size
		if l.isWhole {
			size = w.file.size(v.Ref)
		}
		within := blocks.Range{Start: max(part.Address, w.inFrame.Start), End: min(part.Address+size, w.inFrame.End)}
		for at := (within.Start + 7) &^ 7; at+8 <= within.End && at >= within.Start; at += 8 {
			if w.localWords++; w.localWords > maxLocalWords {
				return
			}
			if f, ok := l.find(at); ok && f.pointer {
				w.addWord(at, localWord{l, f.to})
			}
		}
	}
}

func (w *localWords) addWord(at uint64, word localWord) {
	known, ok := w.at[at]
	switch {
	case !ok:
		w.at[at] = word
	case known.of != nil && !known.to.equal(word.to):
		w.at[at] = localWord{}
	}
}

// ranges returns the words, those of a variable that lie behind each other as one range.
func (w *localWords) ranges(frame int) (list []Local) {
	addresses := make([]uint64, 0, len(w.at))
	for a := range w.at {
		addresses = append(addresses, a)
	}
	slices.Sort(addresses)
	for _, a := range addresses {
		of := w.at[a].of
		if of == nil {
			continue
		}
		if n := len(list); n > 0 && list[n-1].End == a && list[n-1].placed == of {
			list[n-1].End += 8
			continue
		}
		list = append(list, Local{blocks.Range{Start: a, End: a + 8}, frame, of})
	}
	return list
}

// LocalVariable names the word at an address of a local variable.
func (p *Process) LocalVariable(l Local, address uint64) Variable {
	v := Variable{
		Module: l.file.module.Path, Address: address, Function: l.Function, Parameter: l.Parameter,
		word: word(p.Memory, address),
	}
	v.Variable = l.LocalVariable.Variable
	v.Type = Short(v.Type)
	if found, ok := l.find(address); ok {
		v.found, v.Path = found, found.path
		v.Type = l.file.name(found.shown)
	}
	return v
}
