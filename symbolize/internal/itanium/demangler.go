package itanium

import (
	"errors"
	"fmt"

	"github.com/heaplapse/heaplapse/symbolize/internal/itanium/ast"
)

// Mode selects what is printed of a name.
type Mode uint8

// The modes.
const (
	Full   Mode = iota // everything, as llvm-cxxfilt 14 prints it
	Simple             // no parameters, return types and clone suffixes; spelled as c++filt does: {lambda(int)#1}
)

// Limits for hostile names. Compilers stay far below them.
const (
	MaxOutput = 1 << 20 // length of a demangled name in bytes; see maxOutput
	maxDepth  = 1 << 11 // nesting of types, expressions and names
)

// maxOutput returns the maximum length of a demangled name. Back references make real names up to
// 30 times as long, and crafted names longer without limit. The result is proportional to the
// length of the mangled name, so that the names of a file need memory in proportion to its size.
func maxOutput(mangled string) int { return min(MaxOutput, 16<<10+256*len(mangled)) }

// ErrTooLarge means that a name is nested too deeply, or that the demangled name is too long.
var ErrTooLarge = errors.New("itanium: name is nested too deeply or too long")

// SyntaxError means that a string is not a mangled name, or uses a mangling that this package does
// not know.
type SyntaxError struct{ Offset int } // of the first byte that does not fit

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("itanium: not a mangled name: unexpected byte at offset %d", e.Offset)
}

// Demangler demangles names. Its zero value is ready to use. It keeps its memory from name to name;
// each goroutine needs its own.
type Demangler struct {
	parser  parser
	printer ast.Printer
}

// Append demangles a name and appends the result to dst. A name begins with one to four underscores
// and Z. An error is a *SyntaxError or ErrTooLarge, and comes with dst unchanged.
func (d *Demangler) Append(dst []byte, mangled string, mode Mode) ([]byte, error) {
	d.parser.reset(mangled, mode)
	root := d.parser.mangledName()
	if d.parser.bad {
		return dst, d.parser.failure()
	}
	style := ast.LLVM
	if mode == Simple {
		style = ast.GNU
	}
	out, ok := d.printer.Append(dst, &d.parser.Tree, root, style, maxOutput(mangled))
	if !ok {
		return dst, ErrTooLarge
	}
	return out, nil
}
