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
	d.parser.reset(mangled, mode)
	root := d.parser.mangledName()
	if d.parser.bad {
		return dst, d.parser.failure()
	}
	style := llvm
	if mode == Simple {
		style = gnu
	}
	out, ok := d.printer.print(dst, &d.parser, root, style)
	if !ok {
		return dst, ErrTooLarge
	}
	return out, nil
}
