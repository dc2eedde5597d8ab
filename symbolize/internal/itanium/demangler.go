package itanium

import (
	"errors"
	"fmt"
)

// Mode is how a name is shown.
type Mode uint8

// The ways to show names.
const (
	Full   Mode = iota // everything, as llvm-cxxfilt does
	Simple             // without parameters, return types and clone suffixes, in the style of c++filt: {lambda(int)#1}
)

// Bounds of what hostile names may cost. Names that compilers make stay far below.
const (
	MaxOutput = 1 << 20  // bytes of a name that is shown; see maxOutput
	maxDepth  = 1 << 11  // types, expressions and names inside each other
	maxSteps  = 1 << 20  // nodes visited by printing a name: some 20 ms
	keptNodes = 64 << 10 // nodes of 64 bytes that a Demangler holds on to between names
)

// maxOutput is how long a name may be when it is shown: back references make names of LLVM 30 times as long as they were,
// and crafted ones any number of times. What a file's names take is bounded by its size.
func maxOutput(mangled string) int { return min(MaxOutput, 16<<10+256*len(mangled)) }

// ErrTooLarge says that a name is nested too deeply, or would be too long.
var ErrTooLarge = errors.New("itanium: name is nested too deeply or too long")

// SyntaxError says that a string is no mangled name, or one of a dialect that this package does not know.
type SyntaxError struct{ Offset int } // of the byte that does not fit

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("itanium: no mangled name: offset %d", e.Offset)
}

// Demangler shows names, one at a time. Its zero value is ready. It keeps its memory from name to name; each goroutine
// needs its own.
type Demangler struct {
	parser  parser
	printer printer
}

// Append appends the shown name to dst. Errors are a *SyntaxError or ErrTooLarge; dst is returned as it was then.
// Names begin with _Z, or with up to three more underscores as on Apple's systems and in names of blocks.
func (d *Demangler) Append(dst []byte, mangled string, mode Mode) ([]byte, error) {
	root, err := d.parse(mangled, mode)
	if err != nil {
		return dst, err
	}
	out, ok := d.printer.print(dst, &d.parser, root, d.style(mode))
	if !ok {
		return dst, ErrTooLarge
	}
	return out, nil
}

// parse reads a name as LLVM 14 does, and what that refuses as LLVM 22 does, which takes other template parameters for those of
// functions in functions. If it refuses the name as well, what 14 makes of the manglings that are new to it counts.
func (d *Demangler) parse(mangled string, mode Mode) (ref, error) {
	old, err := d.read(mangled, mode, false)
	if err == nil && (mode == Simple || !d.parser.modern) {
		return old, nil
	}
	if newer, failure := d.read(mangled, mode, true); failure == nil || err != nil {
		return newer, failure
	}
	return d.read(mangled, mode, false)
}

func (d *Demangler) read(mangled string, mode Mode, scoped bool) (ref, error) {
	d.parser.reset(mangled, mode, scoped)
	root := d.parser.mangledName()
	if d.parser.bad {
		return 0, d.parser.failure()
	}
	return root, nil
}

// style is the spelling of the name that was parsed last.
func (d *Demangler) style(mode Mode) style {
	switch {
	case mode == Simple:
		return gnu
	case d.parser.modern, d.parser.scoped:
		return llvm22
	}
	return llvm14
}
