//go:build linux

package python

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/python/dicts"
)

// Offsets from 3.11 on.
const (
	frameFrame = 24 // address of the interpreter frame in a frame object
	frameTop   = 64 // number of words in use of an interpreter frame, 32 bits, or -1 if it runs; from 3.14 on, an address
	tagBits    = 3  // of a word of a frame, from 3.14 on

	threadPrevious    = 0
	threadNext        = 8
	threadInterpreter = 16

	chunkPrevious = 0
	chunkSize     = 8
	chunkTop      = 16
	chunkData     = 24

	maxThreads = 1 << 16
	maxStacks  = 1 << 16
	maxFrames  = 1 << 16 // of a part of a stack
	maxChunks  = 1 << 12
	maxChunk   = 1 << 30
)

// stack is a part of the data stack of a thread. It is full of interpreter frames, one behind the other.
type stack struct {
	blocks.Range
	frames []uint64 // addresses
}

// findStacks finds the data stacks of all threads, from 3.11 on.
func (in *Interpreter) findStacks() {
	if in.dataStack == 0 {
		return
	}
	seen := map[uint64]bool{}
	for _, thread := range in.someThreads() {
		for _, next := range [...]uint64{threadPrevious, threadNext} {
			seen[thread] = false
			for t := thread; t != 0 && !seen[t] && len(seen) < maxThreads; t = in.read.Word(t + next) {
				seen[t] = true
				in.addStack(t)
			}
		}
	}
	slices.SortFunc(in.stacks, func(a, b stack) int { return cmp.Compare(a.Start, b.Start) })
	in.stacks = slices.CompactFunc(in.stacks, func(a, before stack) bool { return a.Start < before.End })
}

// someThreads returns thread states: the first one is in the data of the interpreter, which has pointers to others.
func (in *Interpreter) someThreads() (list []uint64) {
	r := in.runtime
	for at := r.Start; at+8 <= r.End; at += 8 {
		if in.hasStack(at) {
			return []uint64{at}
		}
	}
	for at := r.Start; at+8 <= r.End; at += 8 {
		t := in.read.Word(at)
		if _, ok := in.blocks.Find(t); ok && in.hasStack(t) {
			list = append(list, t)
		}
	}
	return list
}

// hasStack reports whether there is a thread state at an address: it has an interpreter and a part of the data stack
// {chunk, first free word, end}.
func (in *Interpreter) hasStack(thread uint64) bool {
	chunk := in.read.Word(thread + in.dataStack)
	top, end := in.read.Word(thread+in.dataStack+8), in.read.Word(thread+in.dataStack+16)
	if chunk == 0 || chunk%page != 0 || top <= chunk || top > end || end-chunk > maxChunk ||
		end-chunk != in.read.Word(chunk+chunkSize) {
		return false
	}
	next, previous := in.read.Word(thread+threadNext), in.read.Word(thread+threadPrevious)
	return in.read.Word(thread+threadInterpreter) != 0 && (next == 0 || in.read.Word(next+threadPrevious) == thread) &&
		(previous == 0 || in.read.Word(previous+threadNext) == thread)
}

// addStack adds the parts of the data stack of a thread that are in use.
func (in *Interpreter) addStack(thread uint64) {
	if !in.hasStack(thread) || len(in.stacks) > maxStacks {
		return
	}
	chunk, top := in.read.Word(thread+in.dataStack), in.read.Word(thread+in.dataStack+8)
	for range maxChunks {
		previous := in.read.Word(chunk + chunkPrevious)
		start := chunk + chunkData
		if previous == 0 {
			start += 8 // the first word of the first chunk is not used
		}
		if end := chunk + in.read.Word(chunk+chunkSize); top > end || end-chunk > maxChunk {
			return
		}
		if start < top {
			r := blocks.Range{Start: start, End: top}
			in.stacks = append(in.stacks, stack{Range: r, frames: in.framesIn(r)})
		}
		if previous == 0 || previous%page != 0 {
			return
		}
		chunk = previous
		top = chunk + chunkData + 8*min(in.read.Word(chunk+chunkTop), maxChunk)
	}
}

// frameAt returns the interpreter frame that contains an address of the data stack, or 0.
func (in *Interpreter) frameAt(address uint64) uint64 {
	for _, s := range in.stacks {
		if !s.Contains(address) {
			continue
		}
		if n, found := slices.BinarySearch(s.frames, address); found {
			return address
		} else if n > 0 {
			return s.frames[n-1]
		}
	}
	return 0
}

// frameObjectAt returns the frame that runs and contains an address, up to 3.10, or 0. Frames were found by address.
func (in *Interpreter) frameObjectAt(address uint64) uint64 {
	n, _ := slices.BinarySearch(in.found.frames, address)
	if n == 0 {
		return 0
	}
	return in.found.frames[n-1]
}

// framesIn returns the interpreter frames in a part of the data stack.
func (in *Interpreter) framesIn(r blocks.Range) (list []uint64) {
	for at := r.Start; at < r.End && len(list) < maxFrames; {
		c, ok := in.codeAt(in.read.Word(at + in.frameCode))
		if !ok {
			break // it is being made
		}
		list = append(list, at)
		words := uint64(in.read.Number(c.address+in.variables)) + uint64(in.read.Number(c.address+in.stackSize))
		at += in.frameWords + 8*words
	}
	return list
}

// code is a function of the program.
type code struct {
	in      *Interpreter
	address uint64
}

// codeAt returns the code at an address, which may be a word of a frame.
func (in *Interpreter) codeAt(address uint64) (code, bool) {
	address &^= tagBits
	o, ok := in.object(address)
	return code{in, address}, ok && o.kind == codeKind
}

// name returns its name, qualified from 3.11 on.
func (c code) name() string {
	if name := c.in.str(c.in.read.Word(c.address + c.in.codeName)); isQualified(name) {
		return name
	}
	return "…"
}

// String returns its name, with the file and the line of its definition.
func (c code) String() string {
	file := fileName(c.in.str(c.in.read.Word(c.address + c.in.codeFile)))
	if file == "" {
		return c.name()
	}
	return fmt.Sprintf("%s (%s:%d)", c.name(), file, c.in.read.Number(c.address+c.in.codeLine))
}

// variable returns the name of a variable by its index in a frame, or "".
func (c code) variable(i uint64) string {
	lists := []uint64{codeVariables}
	if c.in.minor <= 10 {
		lists = []uint64{codeLocals, codeCells, codeFree}
	}
	for _, list := range lists {
		tuple := c.in.read.Word(c.address + list)
		n := c.in.read.Word(tuple + size)
		if i < n {
			return identifier(c.in.str(c.in.read.Word(tuple + c.in.tupleItems + 8*i)))
		}
		if i -= n; n > dicts.MaxEntries {
			break
		}
	}
	return ""
}

// free returns the name of a variable of an enclosing function by its index in the closure, or "".
func (c code) free(i uint64) string {
	if c.in.minor <= 10 {
		tuple := c.in.read.Word(c.address + codeFree)
		if i < c.in.read.Word(tuple+size) {
			return identifier(c.in.str(c.in.read.Word(tuple + c.in.tupleItems + 8*i)))
		}
		return ""
	}
	// They are the last variables.
	n := uint64(c.in.read.Number(c.address + c.in.variables))
	free := uint64(c.in.read.Number(c.address + c.in.variables + codeFreeBehind))
	if i >= free || free > n {
		return ""
	}
	return c.variable(n - free + i)
}

// Offsets in code.
const (
	codeLocals = 72 // up to 3.10: tuples of names
	codeFree   = 80
	codeCells  = 88

	codeVariables  = 96 // from 3.11 on: all of them
	codeFreeBehind = 16 // number of variables of enclosing functions, behind the number of all
)

// identifier returns a name, or "…" if it is no identifier.
func identifier(name string) string {
	if isIdentifier(name) {
		return name
	}
	return "…"
}
