package itanium

import "strings"

// name reads
//
//	<name> ::= N <nested-name> E | Z <local-name> | <unscoped-name> [<template-args>] | <substitution> <template-args>
//
// state is nil unless it is the name of an encoding.
func (p *parser) name(state *nameState) ref {
	p.enter()
	defer p.leave()
	if p.look() == 'L' && (p.peek(1) == 'N' || p.peek(1) == 'Z') {
		p.pos++ // an older place for the mark of internal linkage
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
		return p.make(node{kind: kindTemplate, a: name, b: args})
	}
	if isSubst {
		return p.fail() // a back reference is a name only before template arguments
	}
	return name
}

// unscopedName reads <unscoped-name> ::= [St] <unqualified-name>, or the back reference that stands for a template's
// name, if that is allowed.
func (p *parser) unscopedName(state *nameState, subst bool) (name ref, isSubst bool) {
	var scope ref
	if p.acceptString("St") {
		scope = p.name0("std")
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
func (p *parser) localName(state *nameState) ref {
	p.expect('Z')
	n := node{kind: kindLocal, a: p.encoding(false)}
	p.expect('E')
	if p.accept('s') {
		p.discriminator()
		n.b = p.name0("string literal")
		return p.make(n)
	}
	if p.accept('d') {
		n.count = p.ordinal(p.number(true))
		p.expect('_')
		n.b = p.name(state)
		return p.make(n)
	}
	n.b = p.name(state)
	p.discriminator()
	return p.make(n)
}

// ordinal is what the GNU style shows for a number of the grammar, where none is the first and 0 the second.
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

// discriminator skips <discriminator> ::= _ <digit> | __ <number> _ , and the plain digits at a symbol's end that old
// compilers wrote.
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
//	<unqualified-name> ::= [L] <operator-name> | <source-name> | <unnamed-type-name> | <ctor-dtor-name> [<abi-tags>]
//	                   ::= [L] DC <source-name>+ E
//
// and puts it into its scope, if that is not 0.
func (p *parser) unqualifiedName(state *nameState, scope ref) ref {
	n := node{kind: kindScoped, a: scope}
	p.accept('L') // internal linkage
	if c := p.look(); scope != 0 && (c == 'C' || c == 'D' && p.peek(1) != 'C') {
		n.a = p.expandStd(scope)
	}
	n.b = p.abiTags(p.entity(state, n.a))
	if scope == 0 {
		return n.b
	}
	return p.make(n)
}

// entity reads an unqualified name without what stands around it.
func (p *parser) entity(state *nameState, scope ref) ref {
	switch c := p.look(); {
	case c >= '1' && c <= '9':
		return p.sourceName()
	case c == 'U':
		return p.unnamedType(state)
	case p.acceptString("DC"):
		mark := len(p.stack)
		for ok := true; ok; ok = p.until('E') { // one at least
			p.push(p.sourceName())
		}
		return p.make(node{kind: kindBinding, list: p.pop(mark)})
	case c == 'C' || c == 'D':
		if scope == 0 {
			return p.fail()
		}
		return p.structor(scope, state)
	}
	return p.operatorName(state)
}

// sourceName reads <source-name>. Compilers name unnamed namespaces _GLOBAL__N_ and more.
func (p *parser) sourceName() ref {
	name := p.identifier()
	if strings.HasPrefix(name, "_GLOBAL__N") {
		name = "(anonymous namespace)"
	}
	return p.name0(name)
}

// abiTags reads the tags of gcc's [[gnu::abi_tag]].
func (p *parser) abiTags(name ref) ref {
	for p.accept('B') {
		name = p.make(node{kind: kindABITag, a: name, text: p.identifier()})
	}
	return name
}

// unnamedType reads
//
//	<unnamed-type-name> ::= Ut [<number>] _ | Ub [<number>] _ | <closure-type-name>
func (p *parser) unnamedType(state *nameState) ref {
	if state != nil {
		p.clear() // template parameters are those of the innermost template arguments
	}
	switch {
	case p.acceptString("Ut"):
		n := node{kind: kindUnnamed, text: p.number(false)}
		p.expect('_')
		return p.make(n)
	case p.acceptString("Ul"):
		return p.closure()
	case p.acceptString("Ub"):
		p.number(false)
		p.expect('_')
		return p.name0("'block-literal'")
	}
	return p.fail()
}

// closure reads what follows Ul:
//
//	<closure-type-name> ::= Ul <lambda-sig> E [<number>] _
//	<lambda-sig>        ::= <template-param-decl>* [Q <requires clause>] <type>+ [Q <requires clause>]
func (p *parser) closure() ref {
	scope := p.enterLambda()
	n := node{kind: kindClosure}
	mark := len(p.stack)
	for p.isTemplateParamDecl() && !p.bad {
		p.push(p.templateParamDecl(scope.list))
	}
	if len(p.stack) > mark {
		n.a = p.make(node{kind: kindList, list: p.pop(mark)})
	} else {
		p.dropLevel()
	}
	if !p.accept('v') {
		for ok := true; ok; ok = !p.bad && p.look() != 'E' {
			p.push(p.typ())
		}
	}
	n.list = p.pop(mark)
	p.expect('E')
	p.leaveLambda(scope)
	n.text = p.number(false)
	p.expect('_')
	return p.make(n)
}

// structor reads
//
//	<ctor-dtor-name> ::= C [I] (1|2|3|4|5) [<base class>] | D (0|1|2|4|5)
func (p *parser) structor(class ref, state *nameState) ref {
	n := node{kind: kindCtor, a: class}
	inherited := false
	if p.accept('C') {
		inherited = p.accept('I')
	} else {
		p.expect('D')
		n.flag = true
	}
	if c := p.look(); c < '0' || c > '5' || c == '0' && !n.flag || c == '3' && n.flag {
		return p.fail()
	}
	p.pos++
	if state != nil {
		state.structor = true
	}
	if inherited {
		n.b = p.name(state)
	}
	return p.make(n)
}

// expandStd has std::string be written in full before its constructor's name, std::basic_string<…>::basic_string.
func (p *parser) expandStd(class ref) ref {
	if p.nodes[class].kind == kindStd {
		p.nodes = append(p.nodes, p.nodes[class])
		class = ref(len(p.nodes) - 1)
		p.nodes[class].flag = true
	}
	return class
}

// nestedName reads
//
//	<nested-name> ::= N [<CV-qualifiers>] [<ref-qualifier>] <prefix> <unqualified-name> E
//	              ::= N [<CV-qualifiers>] [<ref-qualifier>] <prefix> <template-args> E
//	<prefix>      ::= <prefix> <unqualified-name> [M] | <prefix> <template-args> | <template-param> | <decltype> | <substitution>
func (p *parser) nestedName(state *nameState) ref {
	p.expect('N')
	p.nestedQualifiers(state)
	var name ref
	for p.until('E') {
		if state != nil {
			state.templated = false // only the last part counts
		}
		next, isSubst := p.nestedPart(state, name)
		if name = next; !isSubst {
			p.remember(name)
		}
		p.accept('M') // of the initializer of a data member
	}
	if name == 0 || len(p.subs) == 0 {
		return p.fail()
	}
	p.subs = p.subs[:len(p.subs)-1] // the whole name is remembered by others
	return name
}

func (p *parser) nestedQualifiers(state *nameState) {
	quals := p.cvQualifiers()
	if p.accept('O') {
		quals |= qualRvalue
	} else if p.accept('R') {
		quals |= qualLvalue
	}
	if state != nil {
		state.quals = quals
	}
}

// nestedPart reads one part of a nested name behind those before it. A back reference is not remembered again.
func (p *parser) nestedPart(state *nameState, prefix ref) (name ref, isSubst bool) {
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

// first is a part that nothing can stand before.
func (p *parser) first(prefix, part ref) ref {
	if prefix != 0 {
		return p.fail()
	}
	return part
}

func (p *parser) nestedArgs(state *nameState, prefix ref) ref {
	if prefix == 0 {
		return p.fail()
	}
	args := p.templateArgs(state != nil)
	if state != nil {
		state.templated = true
	}
	return p.make(node{kind: kindTemplate, a: prefix, b: args})
}

// nestedSubst reads a back reference to a scope, which comes first.
func (p *parser) nestedSubst(prefix ref) (name ref, isSubst bool) {
	if p.acceptString("St") {
		return p.first(prefix, p.name0("std")), true
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
// behind gs. Simple ids are not remembered for back references.
func (p *parser) unresolvedName(global bool) ref {
	var scope ref
	switch {
	case p.acceptString("srN"):
		scope = p.unresolvedScope()
		for p.until('E') {
			scope = p.make(node{kind: kindScoped, a: scope, b: p.simpleID()})
		}
	case !p.acceptString("sr"):
		name := p.baseUnresolvedName()
		if global {
			name = p.make(node{kind: kindGlobal, a: name})
		}
		return name
	case isDigit(p.look()):
		scope = p.simpleID()
		if global {
			scope = p.make(node{kind: kindGlobal, a: scope})
		}
		for p.until('E') {
			scope = p.make(node{kind: kindScoped, a: scope, b: p.simpleID()})
		}
	default:
		scope = p.unresolvedScope()
	}
	return p.make(node{kind: kindScoped, a: scope, b: p.baseUnresolvedName()})
}

// unresolvedScope reads <unresolved-type> [<template-args>].
func (p *parser) unresolvedScope() ref {
	scope := p.unresolvedType()
	if p.look() == 'I' {
		scope = p.make(node{kind: kindTemplate, a: scope, b: p.templateArgs(false)})
	}
	return scope
}

// unresolvedType reads <unresolved-type> ::= <template-param> | <decltype> | <substitution>, and what gcc writes where it
// should write <simple-id>s, a type in std. LLVM refuses that.
func (p *parser) unresolvedType() ref {
	switch p.look() {
	case 'T':
		return p.remember(p.templateParam())
	case 'D':
		return p.remember(p.decltype())
	}
	if p.look() == 'S' && p.peek(1) == 't' {
		return p.typ()
	}
	return p.substitution()
}

// simpleID reads <simple-id> ::= <source-name> [<template-args>].
func (p *parser) simpleID() ref { return p.withArgs(p.sourceName()) }

// withArgs reads the template arguments that may follow a name.
func (p *parser) withArgs(name ref) ref {
	if p.look() != 'I' {
		return name
	}
	return p.make(node{kind: kindTemplate, a: name, b: p.templateArgs(false)})
}

// baseUnresolvedName reads
//
//	<base-unresolved-name> ::= <simple-id> | [on] <operator-name> [<template-args>] | dn <destructor-name>
func (p *parser) baseUnresolvedName() ref {
	if isDigit(p.look()) {
		return p.simpleID()
	}
	if p.acceptString("dn") {
		if isDigit(p.look()) {
			return p.make(node{kind: kindDtorName, a: p.simpleID()})
		}
		return p.make(node{kind: kindDtorName, a: p.unresolvedType()})
	}
	p.acceptString("on")
	return p.withArgs(p.operatorName(nil))
}
