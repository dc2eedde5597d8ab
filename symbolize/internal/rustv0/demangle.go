package rustv0

import (
	"errors"
	"strconv"
	"strings"
)

// ErrMalformed says that a text is no name of this mangling.
var ErrMalformed = errors.New("not a Rust v0 name")

// Caps of a name. References back make the same text appear again and again; real names are nested some tens deep.
const (
	maxDepth = 500 // as in LLVM
	maxSteps = 1 << 16
	maxShown = 256 << 10
)

// Demangle is the name behind a linkage name without its suffix, such as .llvm.1234.
func Demangle(linkage string) (string, error) {
	in, ok := strings.CutPrefix(linkage, "_R")
	if !ok {
		return "", ErrMalformed
	}
	r := reader{in: in}
	r.path(false, false)
	if r.pos < len(r.in) {
		r.mute++ // the crate that instantiated it
		r.path(false, false)
	}
	if r.failed || r.pos < len(r.in) || len(r.out) == 0 {
		return "", ErrMalformed
	}
	return string(r.out), nil
}

// reader goes through a name once. After a failure it reads zeros; callers check at the end.
type reader struct {
	in        string
	pos       int
	out       []byte
	mute      int // above 0, nothing is printed
	depth     int
	steps     int
	lifetimes uint64 // that for<…> has bound here
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

// enter counts a level of nesting; false if there are too many, or too many steps so far.
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

// list reads items up to an E, and returns how many there were.
func (r *reader) list(separator string, item func()) (n int) {
	for ; !r.failed && !r.accept('E'); n++ {
		if n > 0 {
			r.print(separator)
		}
		item()
	}
	return n
}

// path reads a <path>. In types the :: before generic arguments is left out; leaveOpen leaves out the > behind them
// and says so.
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

// impl reads an inherent impl (M), one of a trait (X), or a trait's own item (Y).
func (r *reader) impl(kind byte, inType bool) {
	if kind != 'Y' { // where the impl stands
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

// nested reads a namespace, a path and an identifier. Upper-case namespaces are shown: {closure#0}, {shim:vtable#0}.
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

// backref reads what stands at an earlier place once more. Where nothing is printed it need not.
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
