package itanium

import (
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/itanium/ast"
)

// mangledName reads a whole symbol:
//
//	<mangled-name> ::= _Z <encoding> [. <suffix of a clone>]
//	               ::= ___Z <encoding> _block_invoke [[_] <number>] [. <suffix>]
//
// Both may have one more underscore at the start, as on Apple's systems. With Simple, the
// parameters are not parsed.
func (p *parser) mangledName() ast.Ref {
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

// clone reads the suffix of a function that the compiler copied.
func (p *parser) clone(root ast.Ref) ast.Ref {
	suffix := p.src[p.pos:]
	p.pos = len(p.src)
	if p.mode == Simple {
		return root
	}
	return p.Make(ast.Node{Kind: ast.Clone, A: root, Text: suffix})
}

// blockInvocation reads the suffix of a function that the compiler made of a block.
func (p *parser) blockInvocation(encoding ast.Ref) ast.Ref {
	if p.mode == Simple && p.Nodes[encoding].Kind == ast.Encoding {
		encoding = p.Nodes[encoding].B
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
	return p.Make(ast.Node{Kind: ast.Special, Text: "invocation function for block in ", A: encoding})
}

// nameState is what an <encoding> needs to know about its <name>.
type nameState struct {
	structor  bool // constructor, destructor or conversion operator: its encoding has no return type
	templated bool // ends with template arguments: its encoding has a return type
	quals     uint8
	forward   int // index of its first reference to template arguments that follow
}

// endOfEncoding reports whether no parameters follow.
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
// With nameOnly it skips everything after the name. Template parameters refer to arguments in the
// encoding itself, never to those of an enclosing one.
func (p *parser) encoding(nameOnly bool) ast.Ref {
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

// function reads the type of a function, which follows its name.
func (p *parser) function(name ast.Ref, state *nameState) ast.Ref {
	n := ast.Node{Kind: ast.Encoding, B: name, Quals: state.quals}
	if p.acceptString("Ua9enable_ifI") {
		n.C = p.Make(ast.Node{Kind: ast.EnableIf, List: p.list('E', (*parser).templateArg)})
	}
	if !state.structor && state.templated {
		n.A = p.typ()
	}
	if !p.accept('v') {
		n.List = p.parameters()
	}
	return p.Make(n)
}

// parameters reads one or more types.
func (p *parser) parameters() ast.Span {
	mark := len(p.stack)
	for !p.bad {
		p.push(p.typ())
		if p.endOfEncoding() {
			break
		}
	}
	return p.pop(mark)
}

// specialName reads <special-name>: vtables, thunks and other entities that compilers generate.
func (p *parser) specialName() ast.Ref {
	if len(p.src)-p.pos < 2 {
		return p.fail()
	}
	text, read := specialRule(p.src[p.pos : p.pos+2])
	switch {
	case p.acceptString("GTt"):
		return p.Make(ast.Node{Kind: ast.Special, Text: "transaction clone for ", A: p.encoding(false)})
	case p.acceptString("GTn"):
		return p.Make(ast.Node{Kind: ast.Special, Text: "non-transaction clone for ", A: p.encoding(false)})
	case read == nil:
		return p.thunk()
	}
	p.pos += 2
	what := read(p)
	if text == "" {
		return what
	}
	return p.Make(ast.Node{Kind: ast.Special, Text: text, A: what})
}

// specialRule returns the description of a special name that begins with two letters, and the rule
// that reads the rest. The rule is nil for thunks.
func specialRule(code string) (text string, read func(*parser) ast.Ref) {
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
		return ast.ThreadWrapper, (*parser).plainName
	case "TH":
		return ast.ThreadInit, (*parser).plainName
	case "GV":
		return "guard variable for ", (*parser).plainName
	case "GR":
		return "reference temporary for ", (*parser).temporary
	case "TC":
		return "", (*parser).constructionVtable
	}
	return "", nil
}

// thunk reads
//
//	<special-name> ::= T <call-offset> <encoding>
//	               ::= Tc <call-offset> <call-offset> <encoding>
//	<call-offset>  ::= h <number> _
//	               ::= v <number> _ <number> _
func (p *parser) thunk() ast.Ref {
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
	return p.Make(ast.Node{Kind: ast.Special, Text: text, A: p.encoding(false)})
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

func (p *parser) plainName() ast.Ref { return p.name(nil) }

// temporary reads GR <object name> [[<seq-id>] _].
func (p *parser) temporary() ast.Ref {
	name := p.name(nil)
	_, numbered := p.sequence()
	if !p.accept('_') && numbered {
		p.fail()
	}
	return name
}

// constructionVtable reads TC <class> <number> _ <base>.
func (p *parser) constructionVtable() ast.Ref {
	class := p.typ()
	if p.number(true) == "" {
		p.fail()
	}
	p.expect('_')
	return p.Make(ast.Node{Kind: ast.CtorVtable, A: p.typ(), B: class})
}
