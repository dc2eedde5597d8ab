package heaptrack

import (
	"math"

	"github.com/heaplapse/heaplapse/heapfile/internal/recording"
)

// tables are the strings, calls, stacks and kinds of allocations of a recording. Each entry refers
// only to entries before it, so stacks have an end.
type tables struct {
	strings []string
	calls   []call
	stacks  []stack
	kinds   []kind
	// mapped are the loaded modules of a raw recording, and known its calls by address.
	mapped []segment
	known  map[uint64]uint32
	exe    string
}

// call is an address on a stack.
type call struct {
	address uint64
	module  string
	frames  []recording.FrameName
}

type stack struct {
	call, caller uint32 // from 1; 0 is none
	depth        uint16
}

// kind is a size that is allocated at a stack.
type kind struct {
	size  int64
	stack uint32
}

// segment is a range of addresses at which a module is loaded.
type segment struct {
	begin, end, base uint64
	module           string
}

// Limits. heaptrack keeps 64 frames of a stack and refers to its tables by numbers of 32 bits.
const (
	maxDepth   = 256
	maxEntries = math.MaxUint32
	maxSize    = 1 << 48 // of an allocation: no machine has more addresses
)

func newTables() tables {
	return tables{known: map[uint64]uint32{}}
}

// text returns a string by its number; "" for 0.
func (t *tables) text(n uint64) (s string, ok bool) {
	switch {
	case n == 0:
		return "", true
	case n > uint64(len(t.strings)):
		return "", false
	}
	return t.strings[n-1], true
}

func (r *reader) addString(f fields) error {
	text := f.rest
	if r.format >= 3 {
		var ok bool
		if text, ok = f.sized(); !ok {
			return r.lines.Errorf("the string is shorter than its length says")
		}
	}
	r.strings = append(r.strings, string(text))
	return nil
}

// addCall reads `i ADDRESS MODULE [FUNCTION [FILE LINE]] [FUNCTION FILE LINE]…`.
func (r *reader) addCall(f fields) error {
	var address, module uint64
	if !f.numbers(&address, &module) {
		return r.malformed("address and module")
	}
	name, ok := r.text(module)
	if !ok {
		return r.undefined("string", module)
	}
	c := call{address: address, module: name}
	for len(f.rest) > 0 {
		var function, file, line uint64
		if !f.numbers(&function) || (len(f.rest) > 0 && !f.numbers(&file, &line)) {
			return r.malformed("function, file and line")
		}
		frame := recording.FrameName{Line: int64(line & math.MaxInt32)}
		if frame.Function, ok = r.text(function); !ok {
			return r.undefined("string", function)
		}
		if frame.File, ok = r.text(file); !ok {
			return r.undefined("string", file)
		}
		c.frames = append(c.frames, frame)
	}
	r.calls = append(r.calls, c)
	return nil
}

// addStack reads `t CALL PARENT`, in a raw recording `t ADDRESS PARENT`.
func (r *reader) addStack(f fields) error {
	var n, parent uint64
	if !f.numbers(&n, &parent) {
		return r.malformed("call and parent")
	}
	if r.raw {
		n = uint64(r.rawCall(n))
	}
	switch {
	case n > uint64(len(r.calls)):
		return r.undefined("call", n)
	case parent > uint64(len(r.stacks)):
		return r.undefined("stack", parent)
	case len(r.stacks) == maxEntries:
		return r.lines.Errorf("too many stacks")
	}
	s := stack{call: uint32(n), caller: uint32(parent), depth: 1}
	if parent > 0 {
		s.depth += r.stacks[parent-1].depth
	}
	if s.depth > maxDepth {
		return r.lines.Errorf("the stack has more than %d frames", maxDepth)
	}
	r.stacks = append(r.stacks, s)
	return nil
}

// rawCall returns the number of the call at an address of the process.
func (t *tables) rawCall(address uint64) uint32 {
	if n, ok := t.known[address]; ok {
		return n
	}
	c := call{address: address}
	for _, s := range t.mapped {
		if s.begin <= address && address < s.end {
			c.address, c.module = address-s.base, s.module
			break
		}
	}
	t.calls = append(t.calls, c)
	t.known[address] = uint32(len(t.calls))
	return uint32(len(t.calls))
}

// addModule reads `m [LENGTH] MODULE BASE [ADDRESS SIZE]…`.
func (r *reader) addModule(f fields) error {
	r.raw = true
	name, ok := r.name(&f)
	if !ok {
		return r.malformed("a module")
	}
	if name == "-" {
		r.mapped = nil
		clear(r.known)
		return nil
	}
	if name == "x" {
		name = r.exe
	}
	base, ok := f.number()
	if !ok {
		return r.malformed("a base address")
	}
	for len(f.rest) > 0 {
		var address, size uint64
		if !f.numbers(&address, &size) {
			return r.malformed("address and size")
		}
		begin := base + address
		r.mapped = append(r.mapped, segment{begin, begin + size, base, name})
	}
	return nil
}

// name returns the next field, the name of a file.
func (r *reader) name(f *fields) (string, bool) {
	if r.format >= 3 {
		text, ok := f.sized()
		return string(text), ok && len(text) > 0
	}
	text, ok := f.word()
	return string(text), ok
}

// addKind reads `a SIZE STACK`.
func (r *reader) addKind(f fields) error {
	var size, n uint64
	if !f.numbers(&size, &n) {
		return r.malformed("size and stack")
	}
	k, err := r.kind(size, n)
	if err == nil {
		r.kinds = append(r.kinds, k)
	}
	return err
}

func (r *reader) kind(size, stack uint64) (kind, error) {
	switch {
	case size > maxSize:
		return kind{}, r.lines.Errorf("an allocation of %d bytes", size)
	case stack > uint64(len(r.stacks)):
		return kind{}, r.undefined("stack", stack)
	}
	return kind{int64(size), uint32(stack)}, nil
}
