package itanium

import "strings"

// parser reads a mangled name into nodes. A failure is sticky: from then on no byte is left, so that each rule of the
// grammar ends at once, and only the outermost caller looks at it.
type parser struct {
	src   string
	pos   int
	at    int  // where it failed
	bad   bool // src is no name
	deep  bool // it failed for its depth
	depth int

	nodes []node
	lists []ref // elements of nodes
	stack []ref // elements of lists that are still read
	subs  []ref // what back references S_, S0_, … mean

	templateScopes
	mode Mode
}

// reset begins a new name, with the memory of the last one.
func (p *parser) reset(src string, mode Mode) {
	if cap(p.nodes) > keptNodes {
		p.nodes = nil
	}
	p.src, p.pos, p.at, p.bad, p.deep, p.depth = src, 0, 0, false, false, 0
	p.mode = mode
	p.nodes, p.lists, p.stack, p.subs = append(p.nodes[:0], node{}), p.lists[:0], p.stack[:0], p.subs[:0]
	p.templateScopes.reset()
}

// failure is what was wrong.
func (p *parser) failure() error {
	if p.deep {
		return ErrTooLarge
	}
	return &SyntaxError{p.at}
}

// fail gives up. It returns no node, for rules to return.
func (p *parser) fail() ref {
	if !p.bad {
		p.bad, p.at = true, p.pos
	}
	p.pos = len(p.src)
	return 0
}

// enter goes one level deeper; leave comes back.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.deep = true
		p.fail()
	}
}

func (p *parser) leave() { p.depth-- }

// look is the next byte, or 0 at the end.
func (p *parser) look() byte { return p.peek(0) }

// peek is the byte after n more.
func (p *parser) peek(n int) byte {
	if p.pos+n < len(p.src) {
		return p.src[p.pos+n]
	}
	return 0
}

// accept consumes a byte, if it is the next one.
func (p *parser) accept(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// acceptString consumes s, if it is what follows.
func (p *parser) acceptString(s string) bool {
	if strings.HasPrefix(p.src[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

// expect consumes a byte that has to be there.
func (p *parser) expect(c byte) {
	if !p.accept(c) {
		p.fail()
	}
}

// until is the condition of loops over what ends with c, which it consumes.
func (p *parser) until(c byte) bool { return !p.bad && !p.accept(c) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads <number>: decimal digits, after an n for minus if that is allowed. It is empty if there is none.
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

// integer reads a decimal number that counts something of the name, and so is at most its length.
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

// identifier reads <source-name>: a length, and so many bytes.
func (p *parser) identifier() string {
	n := p.integer()
	if n == 0 || n > len(p.src)-p.pos {
		p.fail()
		return ""
	}
	p.pos += n
	return p.src[p.pos-n : p.pos]
}

// sequence reads <seq-id>, a number in base 36. It says whether there is one.
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

// push keeps an element of a list that is being read.
func (p *parser) push(r ref) { p.stack = append(p.stack, r) }

// pop makes a list of what was pushed since the stack was so long.
func (p *parser) pop(mark int) span {
	if mark == len(p.stack) {
		return span{}
	}
	lo := len(p.lists)
	p.lists = append(p.lists, p.stack[mark:]...)
	p.stack = p.stack[:mark]
	return span{int32(lo), int32(len(p.lists))}
}

// list reads elements until c, which it consumes.
func (p *parser) list(c byte, element func(*parser) ref) span {
	mark := len(p.stack)
	for p.until(c) {
		p.push(element(p))
	}
	return p.pop(mark)
}

// remember makes a node one that back references can mean.
func (p *parser) remember(r ref) ref {
	p.subs = append(p.subs, r)
	return r
}

func (p *parser) name0(text string) ref { return p.make(node{kind: kindName, text: text}) }

// mangledName reads a whole symbol:
//
//	<mangled-name> ::= _Z <encoding> [. <suffix of a clone>]
//	               ::= ___Z <encoding> _block_invoke [[_] <number>] [. <suffix>]
//
// Apple's linker puts an underscore before both. Simple leaves out the parameters, and does not look at them.
func (p *parser) mangledName() ref {
	under := len(p.src) - len(strings.TrimLeft(p.src, "_"))
	p.pos = under
	if under < 1 || under > 4 || !p.accept('Z') {
		return p.fail()
	}
	block := under > 2
	root := p.encoding(p.mode == Simple && !block)
	if block {
		root = p.blockInvocation(root)
	} else if p.look() == '.' {
		root = p.clone(root)
	}
	if p.pos < len(p.src) {
		return p.fail()
	}
	return root
}

// clone reads the suffix of a copy that the compiler made of a function.
func (p *parser) clone(root ref) ref {
	suffix := p.src[p.pos:]
	p.pos = len(p.src)
	if p.mode == Simple {
		return root
	}
	return p.make(node{kind: kindClone, a: root, text: suffix})
}

// blockInvocation reads what follows the encoding of a block's function.
func (p *parser) blockInvocation(encoding ref) ref {
	if p.mode == Simple && p.nodes[encoding].kind == kindEncoding {
		encoding = p.nodes[encoding].b
	}
	if !p.acceptString("_block_invoke") {
		return p.fail()
	}
	numbered := p.accept('_')
	if p.number(false) == "" && numbered {
		return p.fail()
	}
	if p.look() == '.' {
		p.pos = len(p.src)
	}
	return p.make(node{kind: kindSpecial, text: "invocation function for block in ", a: encoding})
}

// nameState is what a <name> tells the <encoding> that it is part of.
type nameState struct {
	structor  bool // constructor, destructor or conversion: without return type
	templated bool // ends with template arguments: with return type
	quals     uint8
	forward   int // the first of its references to template arguments that follow
}

// endOfEncoding says that no parameters follow.
func (p *parser) endOfEncoding() bool {
	switch p.look() {
	case 0, 'E', '.', '_':
		return true
	}
	return false
}

// encoding reads
//
//	<encoding> ::= <name> [<bare-function-type>]
//	           ::= <special-name>
//
// and, if nameOnly, skips all after the name. Template parameters are those of the encoding, not of what it is in.
func (p *parser) encoding(nameOnly bool) ref {
	p.enter()
	defer p.leave()
	saved := p.templateScopes.enter()
	defer p.templateScopes.leave(saved)
	if c := p.look(); c == 'G' || c == 'T' {
		return p.specialName()
	}
	state := nameState{forward: len(p.forward)}
	name := p.name(&state)
	p.resolveForward(state.forward)
	switch {
	case p.bad || p.endOfEncoding():
		return name
	case nameOnly:
		p.pos = len(p.src)
		return name
	}
	return p.function(name, &state)
}

// function reads the type of a function behind its name.
func (p *parser) function(name ref, state *nameState) ref {
	n := node{kind: kindEncoding, b: name, quals: state.quals}
	if p.acceptString("Ua9enable_ifI") {
		n.c = p.make(node{kind: kindEnableIf, list: p.list('E', (*parser).templateArg)})
	}
	if !state.structor && state.templated {
		n.a = p.typ()
	}
	if !p.accept('v') {
		n.list = p.parameters()
	}
	return p.make(n)
}

// parameters reads one type at least.
func (p *parser) parameters() span {
	mark := len(p.stack)
	for !p.bad {
		p.push(p.typ())
		if p.endOfEncoding() {
			break
		}
	}
	return p.pop(mark)
}

// specialName reads <special-name>: what compilers make beside the program's functions and variables.
func (p *parser) specialName() ref {
	if len(p.src)-p.pos < 2 {
		return p.fail()
	}
	text, read := specialRule(p.src[p.pos : p.pos+2])
	switch {
	case p.acceptString("GTt"):
		return p.make(node{kind: kindSpecial, text: "transaction clone for ", a: p.encoding(false)})
	case p.acceptString("GTn"):
		return p.make(node{kind: kindSpecial, text: "non-transaction clone for ", a: p.encoding(false)})
	case read == nil:
		return p.thunk()
	}
	p.pos += 2
	what := read(p)
	if text == "" {
		return what
	}
	return p.make(node{kind: kindSpecial, text: text, a: what})
}

// specialRule is what a type or a name of the program is made for, by the two letters in front of it, and how it is read.
func specialRule(code string) (text string, read func(*parser) ref) {
	switch code {
	case "TV":
		return "vtable for ", (*parser).typ
	case "TT":
		return "VTT for ", (*parser).typ
	case "TI":
		return "typeinfo for ", (*parser).typ
	case "TS":
		return "typeinfo name for ", (*parser).typ
	case "TA":
		return "template parameter object for ", (*parser).templateArg
	case "TW":
		return threadWrapper, (*parser).plainName
	case "TH":
		return threadInit, (*parser).plainName
	case "GV":
		return "guard variable for ", (*parser).plainName
	case "GR":
		return "reference temporary for ", (*parser).temporary
	case "TC":
		return "", (*parser).constructionVtable
	}
	return "", nil
}

const (
	threadWrapper = "thread-local wrapper routine for "
	threadInit    = "thread-local initialization routine for "
)

// thunk reads
//
//	<special-name> ::= T <call-offset> <encoding>
//	               ::= Tc <call-offset> <call-offset> <encoding>
//	<call-offset>  ::= h <number> _
//	               ::= v <number> _ <number> _
func (p *parser) thunk() ref {
	p.expect('T')
	text := "non-virtual thunk to "
	switch p.look() {
	case 'v':
		text = "virtual thunk to "
	case 'c':
		text = "covariant return thunk to "
		p.pos++
		p.callOffset()
	}
	p.callOffset()
	return p.make(node{kind: kindSpecial, text: text, a: p.encoding(false)})
}

func (p *parser) callOffset() {
	numbers := 1
	if p.accept('v') {
		numbers = 2
	} else {
		p.expect('h')
	}
	for range numbers {
		if p.number(true) == "" {
			p.fail()
		}
		p.expect('_')
	}
}

func (p *parser) plainName() ref { return p.name(nil) }

// temporary reads GR <object name> [[<seq-id>] _].
func (p *parser) temporary() ref {
	name := p.name(nil)
	_, numbered := p.sequence()
	if !p.accept('_') && numbered {
		p.fail()
	}
	return name
}

// constructionVtable reads TC <class> <number> _ <base>.
func (p *parser) constructionVtable() ref {
	class := p.typ()
	if p.number(true) == "" {
		p.fail()
	}
	p.expect('_')
	return p.make(node{kind: kindCtorVtable, a: p.typ(), b: class})
}
