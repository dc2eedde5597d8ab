package itanium

import (
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/itanium/ast"
)

// parser reads a mangled name into a tree. It consists of one method for each rule of the grammar.
//
// After an error the parser is at the end of the name, so that all rules return soon. Only the
// outermost caller checks bad.
type parser struct {
	src   string
	pos   int
	at    int  // offset of the error
	bad   bool // src is malformed
	deep  bool // src is nested too deeply
	depth int

	ast.Tree
	stack []ast.Ref // elements of the lists that are being read
	subs  []target  // of the back references S_, S0_, …

	templateScopes
	mode Mode
}

// target is what a back reference may stand for.
type target struct {
	ast.Ref
	param bool // a template parameter or a decltype
}

// reset starts a new name. It keeps the memory of the last one.
func (p *parser) reset(src string, mode Mode) {
	p.src, p.pos, p.at, p.bad, p.deep, p.depth = src, 0, 0, false, false, 0
	p.mode = mode
	p.stack, p.subs = p.stack[:0], p.subs[:0]
	p.Tree.Reset()
	p.templateScopes.reset()
}

// failure returns the error after a failed parse.
func (p *parser) failure() error {
	if p.deep {
		return ErrTooLarge
	}
	return &SyntaxError{p.at}
}

// fail records an error at the current position. It returns no node, for rules to return.
func (p *parser) fail() ast.Ref {
	if !p.bad {
		p.bad, p.at = true, p.pos
	}
	p.pos = len(p.src)
	return 0
}

// enter counts a level of nesting, and leave ends it.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.deep = true
		p.fail()
	}
}

func (p *parser) leave() { p.depth-- }

// look returns the next byte, or 0 at the end.
func (p *parser) look() byte { return p.peek(0) }

// peek returns the byte n bytes ahead, or 0 after the end.
func (p *parser) peek(n int) byte {
	if p.pos+n < len(p.src) {
		return p.src[p.pos+n]
	}
	return 0
}

// accept consumes the next byte if it is c.
func (p *parser) accept(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// acceptString consumes s if it is next.
func (p *parser) acceptString(s string) bool {
	if strings.HasPrefix(p.src[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

// expect consumes c, and fails if it is not next.
func (p *parser) expect(c byte) {
	if !p.accept(c) {
		p.fail()
	}
}

// until is the condition of loops that end at c, which it consumes, or after an error.
func (p *parser) until(c byte) bool { return !p.bad && !p.accept(c) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads <number>: decimal digits, after n for a minus sign if negative is set. It returns ""
// if there is none.
func (p *parser) number(negative bool) string {
	start := p.pos
	if negative {
		p.accept('n')
	}
	if !isDigit(p.look()) {
		return ""
	}
	for isDigit(p.look()) {
		p.pos++
	}
	return p.src[start:p.pos]
}

// integer reads a decimal number. It fails if the number is greater than the length of the name.
func (p *parser) integer() int {
	n, start := 0, p.pos
	for isDigit(p.look()) && n <= len(p.src) {
		n = n*10 + int(p.src[p.pos]-'0')
		p.pos++
	}
	if p.pos == start || n > len(p.src) {
		p.fail()
		return 0
	}
	return n
}

// identifier reads <source-name>: a length, and that many bytes.
func (p *parser) identifier() string {
	n := p.integer()
	if n == 0 || n > len(p.src)-p.pos {
		p.fail()
		return ""
	}
	p.pos += n
	return p.src[p.pos-n : p.pos]
}

// sequence reads <seq-id>, a number in base 36, and reports whether there is one.
func (p *parser) sequence() (int, bool) {
	n, start := 0, p.pos
	for ; n <= len(p.src); p.pos++ {
		switch c := p.look(); {
		case isDigit(c):
			n = n*36 + int(c-'0')
		case c >= 'A' && c <= 'Z':
			n = n*36 + int(c-'A') + 10
		default:
			return n, p.pos > start
		}
	}
	return n, true
}

// push adds an element to the list that is being read.
func (p *parser) push(r ast.Ref) { p.stack = append(p.stack, r) }

// pop returns a list of the elements that were pushed since the stack had the length mark.
func (p *parser) pop(mark int) ast.Span {
	if mark == len(p.stack) {
		return ast.Span{}
	}
	lo := len(p.Lists)
	p.Lists = append(p.Lists, p.stack[mark:]...)
	p.stack = p.stack[:mark]
	return ast.Span{Lo: int32(lo), Hi: int32(len(p.Lists))}
}

// list reads elements up to c, which it consumes.
func (p *parser) list(c byte, element func(*parser) ast.Ref) ast.Span {
	mark := len(p.stack)
	for p.until(c) {
		p.push(element(p))
	}
	return p.pop(mark)
}

// remember makes a node the target of the next back reference.
func (p *parser) remember(r ast.Ref) ast.Ref {
	p.subs = append(p.subs, target{Ref: r})
	return r
}

// rememberParam is remember for a template parameter or a decltype.
func (p *parser) rememberParam(r ast.Ref) ast.Ref {
	p.subs = append(p.subs, target{r, true})
	return r
}

// text makes a node with a fixed text.
func (p *parser) text(s string) ast.Ref { return p.Make(ast.Node{Kind: ast.Name, Text: s}) }
