package itanium

import (
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/itanium/ast"
)

// name reads
//
//	<name> ::= N <nested-name> E | Z <local-name> | <unscoped-name> [<template-args>]
//	         | <substitution> <template-args>
//
// state is not nil only for the name of an encoding.
func (p *parser) name(state *nameState) ast.Ref {
	p.enter()
	defer p.leave()
	if p.look() == 'L' && (p.peek(1) == 'N' || p.peek(1) == 'Z') {
		p.pos++ // internal linkage, as old compilers wrote it
	}
	switch p.look() {
	case 'N':
		return p.nestedName(state)
	case 'Z':
		return p.localName(state)
	}
	name, isSubst := p.unscopedName(state, true)
	if p.look() == 'I' {
		if !isSubst {
			p.remember(name)
		}
		args := p.templateArgs(state != nil)
		if state != nil {
			state.templated = true
		}
		return p.Make(ast.Node{Kind: ast.Template, A: name, B: args})
	}
	if isSubst {
		return p.fail() // a back reference is a name only before template arguments
	}
	return name
}

// unscopedName reads <unscoped-name> ::= [St] <unqualified-name>. With subst it also accepts a back
// reference, which means the name of a template.
func (p *parser) unscopedName(state *nameState, subst bool) (name ast.Ref, isSubst bool) {
	var scope ast.Ref
	if p.acceptString("St") {
		scope = p.text("std")
	}
	if p.look() == 'S' {
		if subst && scope == 0 {
			return p.substitution(), true
		}
		return p.fail(), false
	}
	return p.unqualifiedName(state, scope), false
}

// localName reads
//
//	<local-name> ::= Z <encoding> E <name> [<discriminator>]
//	             ::= Z <encoding> E s [<discriminator>]
//	             ::= Z <encoding> E d [<number>] _ <name>
func (p *parser) localName(state *nameState) ast.Ref {
	p.expect('Z')
	n := ast.Node{Kind: ast.Local, A: p.encoding(false)}
	p.expect('E')
	if p.accept('s') {
		p.discriminator()
		n.B = p.text("string literal")
		return p.Make(n)
	}
	if p.accept('d') {
		n.Count = p.ordinal(p.number(true))
		p.expect('_')
		n.B = p.name(state)
		return p.Make(n)
	}
	n.B = p.name(state)
	p.discriminator()
	return p.Make(n)
}

// ordinal converts a number of the mangling, where none is the first and 0 is the second, to that
// of the GNU style, which starts at 1.
func (p *parser) ordinal(number string) int32 {
	n := int32(0)
	for _, c := range strings.TrimPrefix(number, "n") {
		if n = n*10 + c - '0'; n > 1<<24 {
			return n
		}
	}
	if number == "" {
		return 1
	}
	return n + 2
}

// discriminator skips <discriminator> ::= _ <digit> | __ <number> _, and the digits that old
// compilers wrote at the end of a symbol.
func (p *parser) discriminator() {
	start := p.pos
	switch {
	case p.look() == '_' && isDigit(p.peek(1)):
		p.pos += 2
	case p.look() == '_' && p.peek(1) == '_' && isDigit(p.peek(2)):
		p.pos += 2
		p.number(false)
		if !p.accept('_') {
			p.pos = start
		}
	case isDigit(p.look()):
		p.number(false)
		if p.pos < len(p.src) {
			p.pos = start
		}
	}
}

// unqualifiedName reads
//
//	<unqualified-name> ::= [L] <operator-name> | <source-name> | <unnamed-type-name>
//	                     | <ctor-dtor-name> [<abi-tags>]
//	                   ::= [L] DC <source-name>+ E
//
// and adds it to its scope, if that is not 0.
func (p *parser) unqualifiedName(state *nameState, scope ast.Ref) ast.Ref {
	n := ast.Node{Kind: ast.Scoped, A: scope}
	p.accept('L') // internal linkage
	if c := p.look(); scope != 0 && (c == 'C' || c == 'D' && p.peek(1) != 'C') {
		n.A = p.expandStd(scope)
	}
	n.B = p.abiTags(p.entity(state, n.A))
	if scope == 0 {
		return n.B
	}
	return p.Make(n)
}

// entity reads an unqualified name without internal linkage and ABI tags.
func (p *parser) entity(state *nameState, scope ast.Ref) ast.Ref {
	switch c := p.look(); {
	case c >= '1' && c <= '9':
		return p.sourceName()
	case c == 'U':
		return p.unnamedType(state)
	case p.acceptString("DC"):
		mark := len(p.stack)
		for ok := true; ok; ok = p.until('E') { // at least one
			p.push(p.sourceName())
		}
		return p.Make(ast.Node{Kind: ast.Binding, List: p.pop(mark)})
	case c == 'C' || c == 'D':
		if scope == 0 {
			return p.fail()
		}
		return p.structor(scope, state)
	}
	return p.operatorName(state)
}

// sourceName reads <source-name>. The name of an unnamed namespace begins with _GLOBAL__N.
func (p *parser) sourceName() ast.Ref {
	name := p.identifier()
	if strings.HasPrefix(name, "_GLOBAL__N") {
		name = "(anonymous namespace)"
	}
	return p.text(name)
}

// abiTags reads the tags of [[gnu::abi_tag]].
func (p *parser) abiTags(name ast.Ref) ast.Ref {
	for p.accept('B') {
		name = p.Make(ast.Node{Kind: ast.ABITag, A: name, Text: p.identifier()})
	}
	return name
}

// unnamedType reads
//
//	<unnamed-type-name> ::= Ut [<number>] _ | Ub [<number>] _ | <closure-type-name>
func (p *parser) unnamedType(state *nameState) ast.Ref {
	if state != nil {
		p.clear() // template parameters refer to the innermost template arguments
	}
	switch {
	case p.acceptString("Ut"):
		n := ast.Node{Kind: ast.Unnamed, Text: p.number(false)}
		p.expect('_')
		return p.Make(n)
	case p.acceptString("Ul"):
		return p.closure()
	case p.acceptString("Ub"):
		p.number(false)
		p.expect('_')
		return p.text("'block-literal'")
	}
	return p.fail()
}

// closure reads the rest of <closure-type-name>, after Ul:
//
//	<closure-type-name> ::= Ul <lambda-sig> E [<number>] _
//	<lambda-sig>        ::= <template-param-decl>* <type>+
func (p *parser) closure() ast.Ref {
	scope := p.enterLambda()
	n := ast.Node{Kind: ast.Closure}
	mark := len(p.stack)
	for p.isTemplateParamDecl() && !p.bad {
		p.push(p.templateParamDecl(scope.list))
	}
	if len(p.stack) > mark {
		n.A = p.Make(ast.Node{Kind: ast.List, List: p.pop(mark)})
	} else {
		p.dropLevel()
	}
	if !p.accept('v') {
		for ok := true; ok; ok = !p.bad && p.look() != 'E' {
			p.push(p.typ())
		}
	}
	n.List = p.pop(mark)
	p.expect('E')
	p.leaveLambda(scope)
	n.Text = p.number(false)
	p.expect('_')
	return p.Make(n)
}

// structor reads
//
//	<ctor-dtor-name> ::= C [I] (1|2|3|4|5) [<base class>] | D (0|1|2|4|5)
func (p *parser) structor(class ast.Ref, state *nameState) ast.Ref {
	n := ast.Node{Kind: ast.Ctor, A: class}
	inherited := false
	if p.accept('C') {
		inherited = p.accept('I')
	} else {
		p.expect('D')
		n.Flag = true
	}
	if c := p.look(); c < '0' || c > '5' || c == '0' && !n.Flag || c == '3' && n.Flag {
		return p.fail()
	}
	p.pos++
	if state != nil {
		state.structor = true
	}
	if inherited {
		n.B = p.name(state)
	}
	return p.Make(n)
}

// expandStd makes std::string be printed in full before a constructor:
// std::basic_string<…>::basic_string.
func (p *parser) expandStd(class ast.Ref) ast.Ref {
	if p.Nodes[class].Kind == ast.Std {
		p.Nodes = append(p.Nodes, p.Nodes[class])
		class = ast.Ref(len(p.Nodes) - 1)
		p.Nodes[class].Flag = true
	}
	return class
}

// nestedName reads
//
//	<nested-name> ::= N [<CV-qualifiers>] [<ref-qualifier>] <prefix> <unqualified-name> E
//	              ::= N [<CV-qualifiers>] [<ref-qualifier>] <prefix> <template-args> E
//	<prefix>      ::= <prefix> <unqualified-name> [M] | <prefix> <template-args>
//	                | <template-param> | <decltype> | <substitution>
func (p *parser) nestedName(state *nameState) ast.Ref {
	p.expect('N')
	p.nestedQualifiers(state)
	var name ast.Ref
	for p.until('E') {
		if state != nil {
			state.templated = false // only the last part matters
		}
		next, isSubst := p.nestedPart(state, name)
		if name = next; !isSubst {
			p.remember(name)
		}
		p.accept('M') // the initializer of a data member
	}
	if name == 0 || len(p.subs) == 0 {
		return p.fail()
	}
	p.subs = p.subs[:len(p.subs)-1] // the caller remembers the whole name
	return name
}

func (p *parser) nestedQualifiers(state *nameState) {
	quals := p.cvQualifiers()
	if p.accept('O') {
		quals |= ast.QualRvalue
	} else if p.accept('R') {
		quals |= ast.QualLvalue
	}
	if state != nil {
		state.quals = quals
	}
}

// nestedPart reads one part of a nested name after a prefix, and reports whether the part is a back
// reference.
func (p *parser) nestedPart(state *nameState, prefix ast.Ref) (name ast.Ref, isSubst bool) {
	switch c := p.look(); {
	case c == 'T':
		return p.first(prefix, p.templateParam()), false
	case c == 'I':
		return p.nestedArgs(state, prefix), false
	case c == 'D' && (p.peek(1) == 't' || p.peek(1) == 'T'):
		return p.first(prefix, p.decltype()), false
	case c == 'S':
		return p.nestedSubst(prefix)
	}
	return p.unqualifiedName(state, prefix), false
}

// first returns a part that must be the first one.
func (p *parser) first(prefix, part ast.Ref) ast.Ref {
	if prefix != 0 {
		return p.fail()
	}
	return part
}

func (p *parser) nestedArgs(state *nameState, prefix ast.Ref) ast.Ref {
	if prefix == 0 {
		return p.fail()
	}
	args := p.templateArgs(state != nil)
	if state != nil {
		state.templated = true
	}
	return p.Make(ast.Node{Kind: ast.Template, A: prefix, B: args})
}

// nestedSubst reads a back reference to a scope, which must be the first part.
func (p *parser) nestedSubst(prefix ast.Ref) (name ast.Ref, isSubst bool) {
	if p.acceptString("St") {
		return p.first(prefix, p.text("std")), true
	}
	return p.first(prefix, p.substitution()), true
}

// unresolvedName reads
//
//	<unresolved-name> ::= [gs] <base-unresolved-name>
//	                  ::= sr <unresolved-type> [<template-args>] <base-unresolved-name>
//	                  ::= srN <unresolved-type> [<template-args>] <simple-id>* E <base-unresolved-name>
//	                  ::= [gs] sr <simple-id>+ E <base-unresolved-name>
//
// without gs. Simple IDs are not targets of back references. gcc writes sr <type> instead, where the
// type is no <unresolved-type>: its parts are targets.
func (p *parser) unresolvedName(global bool) ast.Ref {
	var scope ast.Ref
	switch {
	case p.isTypeScope():
		p.acceptString("sr")
		scope = p.typ()
	case p.acceptString("srN"):
		scope = p.unresolvedScope()
		for p.until('E') {
			scope = p.Make(ast.Node{Kind: ast.Scoped, A: scope, B: p.simpleID()})
		}
	case !p.acceptString("sr"):
		name := p.baseUnresolvedName()
		if global {
			name = p.Make(ast.Node{Kind: ast.Global, A: name})
		}
		return name
	case isDigit(p.look()):
		scope = p.simpleID()
		if global {
			scope = p.Make(ast.Node{Kind: ast.Global, A: scope})
		}
		for p.until('E') {
			scope = p.Make(ast.Node{Kind: ast.Scoped, A: scope, B: p.simpleID()})
		}
	default:
		scope = p.unresolvedScope()
	}
	return p.Make(ast.Node{Kind: ast.Scoped, A: scope, B: p.baseUnresolvedName()})
}

// unresolvedScope reads <unresolved-type> [<template-args>].
func (p *parser) unresolvedScope() ast.Ref {
	scope := p.unresolvedType()
	if p.look() == 'I' {
		scope = p.Make(ast.Node{Kind: ast.Template, A: scope, B: p.templateArgs(false)})
	}
	return scope
}

// isTypeScope reports whether sr <type> is next, where the type begins with a name or with a back
// reference to one.
func (p *parser) isTypeScope() bool {
	start := p.pos
	defer func() { p.pos = start }()
	if !p.acceptString("sr") {
		return false
	}
	nested := p.accept('N')
	if !p.accept('S') {
		return nested && isDigit(p.look())
	}
	if c := p.look(); c >= 'a' && c <= 'z' {
		return true // std
	}
	index := p.backReference()
	return index < len(p.subs) && !p.subs[index].param
}

// unresolvedType reads <unresolved-type> ::= <template-param> | <decltype> | <substitution>.
func (p *parser) unresolvedType() ast.Ref {
	switch p.look() {
	case 'T':
		return p.rememberParam(p.templateParam())
	case 'D':
		return p.rememberParam(p.decltype())
	}
	return p.substitution()
}

// simpleID reads <simple-id> ::= <source-name> [<template-args>].
func (p *parser) simpleID() ast.Ref { return p.withArgs(p.sourceName()) }

// withArgs reads the template arguments that may follow a name.
func (p *parser) withArgs(name ast.Ref) ast.Ref {
	if p.look() != 'I' {
		return name
	}
	return p.Make(ast.Node{Kind: ast.Template, A: name, B: p.templateArgs(false)})
}

// baseUnresolvedName reads
//
//	<base-unresolved-name> ::= <simple-id> | [on] <operator-name> [<template-args>]
//	                         | dn <destructor-name>
func (p *parser) baseUnresolvedName() ast.Ref {
	if isDigit(p.look()) {
		return p.simpleID()
	}
	if p.acceptString("dn") {
		if isDigit(p.look()) {
			return p.Make(ast.Node{Kind: ast.DtorName, A: p.simpleID()})
		}
		return p.Make(ast.Node{Kind: ast.DtorName, A: p.unresolvedType()})
	}
	p.acceptString("on")
	return p.withArgs(p.operatorName(nil))
}
