package rustv0

import (
	"errors"
	"strconv"
	"strings"
)

// ErrMalformed means that a string is not a name of this mangling, or exceeds a limit.
var ErrMalformed = errors.New("not a Rust v0 name")

// Limits for hostile names, whose back references can repeat a text exponentially often. Real names
// have some tens of levels.
const (
	maxDepth = 500 // as in LLVM
	maxSteps = 1 << 16
	maxShown = 256 << 10
)

// Demangle demangles a linkage name without a suffix such as .llvm.1234.
func Demangle(linkage string) (string, error) {
	in, ok := strings.CutPrefix(linkage, "_R")
	if !ok {
		return "", ErrMalformed
	}
	r := reader{in: in}
	r.path(false, false)
	if r.pos < len(r.in) {
		r.mute++ // the crate that instantiated the function
		r.path(false, false)
	}
	if r.failed || r.pos < len(r.in) || len(r.out) == 0 {
		return "", ErrMalformed
	}
	return string(r.out), nil
}

// reader parses and prints a name in one pass. It consists of one method for each rule of the
// grammar. After an error the reader is at the end of the name, so that all rules return soon;
// Demangle checks failed at the end.
type reader struct {
	in        string
	pos       int
	out       []byte
	mute      int // if greater than 0, nothing is printed
	depth     int
	steps     int
	lifetimes uint64 // number of lifetimes that are bound by for<…>
	failed    bool
}

func (r *reader) fail() {
	r.failed = true
	r.pos = len(r.in)
}

func (r *reader) print(s string) {
	if r.mute > 0 || r.failed {
		return
	}
	if r.out = append(r.out, s...); len(r.out) > maxShown {
		r.fail()
	}
}

// enter counts a level of nesting and a step, and reports whether the limits permit them.
func (r *reader) enter() bool {
	r.depth++
	r.steps++
	if r.depth > maxDepth || r.steps > maxSteps {
		r.fail()
	}
	return !r.failed
}

func (r *reader) leave() { r.depth-- }

func (r *reader) next() byte {
	if r.pos >= len(r.in) {
		r.fail()
		return 0
	}
	r.pos++
	return r.in[r.pos-1]
}

func (r *reader) accept(c byte) bool {
	if r.pos >= len(r.in) || r.in[r.pos] != c {
		return false
	}
	r.pos++
	return true
}

// list reads items up to E and returns their number.
func (r *reader) list(separator string, item func()) (n int) {
	for ; !r.failed && !r.accept('E'); n++ {
		if n > 0 {
			r.print(separator)
		}
		item()
	}
	return n
}

// path reads <path>. Types have no :: before generic arguments. With leaveOpen, path omits the >
// after generic arguments, and reports whether it did.
func (r *reader) path(inType, leaveOpen bool) (open bool) {
	defer r.leave()
	if !r.enter() {
		return false
	}
	switch c := r.next(); c {
	case 'C':
		r.tagged('s')
		r.print(r.identifier())
	case 'M', 'X', 'Y':
		r.impl(c, inType)
	case 'N':
		r.nested(inType)
	case 'I':
		r.path(inType, false)
		if !inType {
			r.print("::")
		}
		r.print("<")
		r.list(", ", r.genericArg)
		if leaveOpen {
			return !r.failed
		}
		r.print(">")
	case 'B':
		r.backref(func() { open = r.path(inType, leaveOpen) })
	default:
		r.fail()
	}
	return open
}

// impl reads the rest of an inherent impl (M), a trait impl (X) or a trait definition (Y).
func (r *reader) impl(kind byte, inType bool) {
	if kind != 'Y' { // the path of the impl is not printed
		r.mute++
		r.tagged('s')
		r.path(inType, false)
		r.mute--
	}
	r.print("<")
	r.typ()
	if kind != 'M' {
		r.print(" as ")
		r.path(true, false)
	}
	r.print(">")
}

// nested reads a namespace, a path and an identifier. Upper-case namespaces are printed:
// {closure#0}, {shim:vtable#0}.
func (r *reader) nested(inType bool) {
	namespace := r.next()
	if !isLetter(namespace) {
		r.fail()
		return
	}
	r.path(inType, false)
	disambiguator := r.tagged('s')
	name := r.identifier()
	switch {
	case namespace >= 'a' && name != "":
		r.print("::" + name)
	case namespace < 'a':
		if name != "" {
			name = ":" + name
		}
		r.print("::{" + special(namespace) + name + "#" + strconv.FormatUint(disambiguator, 10) + "}")
	}
}

func special(namespace byte) string {
	switch namespace {
	case 'C':
		return "closure"
	case 'S':
		return "shim"
	}
	return string(rune(namespace))
}

func isLetter(c byte) bool { return (c|0x20) >= 'a' && (c|0x20) <= 'z' }

func (r *reader) genericArg() {
	switch {
	case r.accept('L'):
		r.lifetime(r.base62())
	case r.accept('K'):
		r.constant()
	default:
		r.typ()
	}
}

// backref reads a back reference, and calls again at its target if anything is printed.
func (r *reader) backref(again func()) {
	here := r.pos - 1
	to := r.base62()
	if r.failed || to >= uint64(here) {
		r.fail()
		return
	}
	if r.mute > 0 {
		return
	}
	back := r.pos
	r.pos = int(to)
	again()
	if !r.failed {
		r.pos = back
	}
}
