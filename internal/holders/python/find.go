//go:build linux

package python

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Process is what is known of the process.
type Process struct {
	Memory   blocks.Memory
	Mappings []target.Mapping
	Modules  []*target.Module
	// Blocks has the blocks of all allocators.
	Blocks *blocks.Set
}

// Interpreter is CPython in a process. It implements [graph.Content]. It must not be used concurrently.
type Interpreter struct {
	layout
	read    blocks.Reader
	blocks  *blocks.Set
	symbols map[kind]uint64 // exported types
	kinds   map[uint64]kind // the same by address
	runtime target.Range    // _PyRuntime
	types   types
	low     []blocks.Range // data of modules at low addresses
	// passes are the windows of the two passes of graph.Build.
	passes [2]blocks.Window

	// found are modules and frames that Object has seen.
	found struct{ modules, frames []uint64 }
	// slack has the parts of blocks behind the items of lists and deques, by address if sorted is set.
	slack  []blocks.Range
	hashes []blocks.Range // the same for the hashes in the tables of sets
	sorted bool

	modules []module
	stacks  []stack
	// byVariable has the variables of modules by the addresses of their values; nil until it is asked for.
	byVariable map[uint64][]holding
}

// ErrUnknown is wrapped by the errors of Find if there is an interpreter that is not understood.
var ErrUnknown = errors.New("the Python interpreter is not understood")

// Find finds the interpreter. It returns nil if there is none.
func Find(p Process) (*Interpreter, error) {
	for _, m := range p.Modules {
		if m.Symbol("PyType_Type").Start != 0 {
			return find(p, m.Symbol)
		}
	}
	return nil, nil
}

// symbols returns where the interpreter has a symbol.
type symbols func(name string) target.Range

func find(p Process, symbol symbols) (*Interpreter, error) {
	in := &Interpreter{read: blocks.Reader{Memory: p.Memory}, blocks: p.Blocks, runtime: symbol("_PyRuntime")}
	minor := in.version(symbol)
	l, ok := layouts[minor]
	if !ok {
		if minor == 0 {
			return nil, fmt.Errorf("%w: its version is not known", ErrUnknown)
		}
		return nil, fmt.Errorf("%w: version 3.%d", ErrUnknown, minor)
	}
	in.layout = l
	if in.isFreeThreaded() {
		return nil, fmt.Errorf("%w: it is a free-threaded build", ErrUnknown)
	}
	in.symbols, in.kinds = map[kind]uint64{}, map[uint64]kind{}
	for k, name := range exported {
		if at := symbol(name).Start; at != 0 {
			in.symbols[k], in.kinds[at] = at, k
		}
	}
	// The type of all types tells whether the layout is right.
	t := in.symbols[typeKind]
	if in.read.Word(t+objectType) != t || in.read.Word(t+typeBasicSize) != l.typeSize || in.name(t) != "type" {
		return nil, fmt.Errorf("%w: a build of 3.%d with another layout", ErrUnknown, minor)
	}
	for i := range in.passes {
		in.passes[i] = blocks.Window{Memory: p.Memory, Within: blocks.Range{End: topmost}}
	}
	data := writableData(p.Mappings)
	for _, r := range data {
		if r.Start < 1<<40 {
			in.low = append(in.low, r)
		}
	}
	if in.hasDebugHooks() {
		return nil, fmt.Errorf("%w: its allocators have debug hooks (-X dev, PYTHONMALLOC=debug)", ErrUnknown)
	}
	in.findTypes(data)
	return in, nil
}

// version returns the minor version: by Py_Version from 3.11 on, before that by functions that were new in a
// version.
func (in *Interpreter) version(symbol symbols) int {
	if at := symbol("Py_Version").Start; at != 0 {
		if v := in.read.Word(at); v>>24 == 3 {
			return int(v >> 16 & 0xff)
		}
		return 0
	}
	for _, s := range []struct {
		name  string
		minor int
	}{{"Py_NewRef", 10}, {"PyFrame_GetCode", 9}, {"PyCode_NewWithPosOnlyArgs", 8}} {
		if symbol(s.name).Start != 0 {
			return s.minor
		}
	}
	return 0
}

// isFreeThreaded reads _Py_DebugOffsets at the start of _PyRuntime: a cookie, a version, and whether the build is
// free-threaded.
func (in *Interpreter) isFreeThreaded() bool {
	return in.minor >= 13 && in.read.Word(in.runtime.Start+16) != 0
}

// hasDebugHooks reports whether the interpreter writes 16 bytes before what it allocates: the size (most significant
// byte first), a letter for the allocator, and 7 bytes 0xfd. Then no object begins where it is expected.
func (in *Interpreter) hasDebugHooks() bool {
	const enough, forbidden, around = 16, 0xfdfdfdfdfdfdfd, 24
	words, found := &in.passes[0], 0
	for _, r := range in.blocks.Regions() {
		for b := range r.All() {
			if b.Free || b.Size() < headSize+in.typeSize {
				continue
			}
			if second, _ := words.Word(b.Start + 8); second>>8 != forbidden || !strings.ContainsRune("rmo", rune(second&0xff)) {
				continue
			}
			if first, _ := words.Word(b.Start); bits.ReverseBytes64(first) <= b.Size()-around {
				found++
			}
			if found == enough {
				return true
			}
		}
	}
	return false
}

// writableData returns the writable private mappings of files, each with the memory behind it, which is its .bss.
func writableData(mappings []target.Mapping) (list []blocks.Range) {
	for i, m := range mappings {
		switch {
		case len(m.Permissions) < 4 || m.Permissions[:2] != "rw" || m.Permissions[3] != 'p':
		case strings.HasPrefix(m.Path, "/"):
			list = append(list, blocks.Range{Start: m.Start, End: m.End})
		case m.Path == "" && i > 0 && mappings[i-1].End == m.Start && strings.HasPrefix(mappings[i-1].Path, "/"):
			const most = 16 << 20 // the kernel joins other memory to it
			list = append(list, blocks.Range{Start: m.Start, End: min(m.End, m.Start+most)})
		}
	}
	return list
}
