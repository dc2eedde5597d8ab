package itanium

import "strings"

// builtins are <builtin-type>s of one letter.
var builtins = [256]string{
	'v': "void", 'w': "wchar_t", 'b': "bool", 'c': "char", 'a': "signed char", 'h': "unsigned char",
	's': "short", 't': "unsigned short", 'i': "int", 'j': "unsigned int", 'l': "long", 'm': "unsigned long",
	'x': "long long", 'y': "unsigned long long", 'n': "__int128", 'o': "unsigned __int128",
	'f': "float", 'd': "double", 'e': "long double", 'g': "__float128", 'z': "...",
}

// builtinsD are <builtin-type>s behind a D.
var builtinsD = [256]string{
	'd': "decimal64", 'e': "decimal128", 'f': "decimal32", 'h': "half", 'i': "char32_t", 's': "char16_t", 'u': "char8_t",
	'a': "auto", 'c': "decltype(auto)", 'n': nullptrType,
}

const (
	nullptrType     = "std::nullptr_t"
	complexSuffix   = " complex"
	imaginarySuffix = " imaginary"
)

// typ reads <type>, and remembers it if it is not of the language itself.
func (p *parser) typ() ref {
	p.enter()
	defer p.leave()
	c := p.look()
	if text := builtins[c]; text != "" {
		p.pos++
		return p.make(node{kind: kindBuiltin, text: text})
	}
	if c == 'D' {
		if r := p.builtinD(); r != 0 {
			return r
		}
	}
	if c == 'S' {
		return p.substitutedType()
	}
	return p.remember(p.compound(c))
}

// builtinD reads what is neither a compound type nor remembered behind D, or nothing.
func (p *parser) builtinD() ref {
	c := p.peek(1)
	if text := builtinsD[c]; text != "" {
		p.pos += 2
		return p.make(node{kind: kindBuiltin, text: text})
	}
	if c == 'F' {
		p.pos += 2
		return p.binaryFloat()
	}
	return 0
}

// binaryFloat reads DF <bits> _.
func (p *parser) binaryFloat() ref {
	bits := p.number(false)
	p.expect('_')
	return p.make(node{kind: kindBinaryFP, text: bits})
}

// substitutedType reads a type that begins with S: a back reference, which may stand for a template, or a name in std.
func (p *parser) substitutedType() ref {
	name, isSubst := p.unscopedName(nil, true)
	switch {
	case p.look() == 'I' && (!isSubst || p.tryArgs):
		if !isSubst {
			p.remember(name)
		}
		name = p.make(node{kind: kindTemplate, a: name, b: p.templateArgs(false)})
	case isSubst:
		return name
	}
	return p.remember(name)
}

// compound reads a type that others can refer back to.
func (p *parser) compound(c byte) ref {
	switch c {
	case 'r', 'V', 'K', 'U':
		return p.qualifiedType()
	case 'P', 'R', 'O', 'C', 'G':
		p.pos++
		return p.wrapped(c, p.typ())
	case 'u':
		p.pos++
		return p.name0(p.identifier())
	case 'D':
		return p.compoundD()
	case 'F':
		return p.functionType()
	case 'A':
		return p.arrayType()
	case 'M':
		p.pos++
		class := p.typ()
		return p.make(node{kind: kindMemberPointer, a: class, b: p.typ()})
	case 'T':
		if e := p.peek(1); e == 's' || e == 'u' || e == 'e' {
			return p.elaborated(e)
		}
		return p.paramType()
	}
	return p.name(nil)
}

func (p *parser) wrapped(c byte, inner ref) ref {
	switch c {
	case 'P':
		return p.make(node{kind: kindPointer, a: inner})
	case 'C':
		return p.make(node{kind: kindPostfix, a: inner, text: complexSuffix})
	case 'G':
		return p.make(node{kind: kindPostfix, a: inner, text: imaginarySuffix})
	}
	return p.make(node{kind: kindReference, a: inner, flag: c == 'O'})
}

func (p *parser) compoundD() ref {
	switch p.peek(1) {
	case 't', 'T':
		return p.decltype()
	case 'v':
		return p.vectorType()
	case 'p':
		p.pos += 2
		return p.make(node{kind: kindExpansion, a: p.typ()})
	case 'o', 'O', 'w', 'x':
		return p.functionType()
	}
	return p.name(nil)
}

// dimension reads <number> or <expression>.
func (p *parser) dimension() ref {
	if isDigit(p.look()) {
		return p.name0(p.number(false))
	}
	return p.expr()
}

func (p *parser) elaborated(c byte) ref {
	p.pos += 2
	text := map[byte]string{'s': "struct", 'u': "union", 'e': "enum"}[c]
	return p.make(node{kind: kindElaborated, text: text, a: p.name(nil)})
}

// paramType reads <template-param>, and the arguments of a template template parameter.
func (p *parser) paramType() ref {
	param := p.templateParam()
	if !p.tryArgs || p.look() != 'I' {
		return param
	}
	p.remember(param)
	return p.make(node{kind: kindTemplate, a: param, b: p.templateArgs(false)})
}

// cvQualifiers reads <CV-qualifiers> ::= [r] [V] [K].
func (p *parser) cvQualifiers() uint8 {
	var quals uint8
	if p.accept('r') {
		quals |= qualRestrict
	}
	if p.accept('V') {
		quals |= qualVolatile
	}
	if p.accept('K') {
		quals |= qualConst
	}
	return quals
}

// qualifiedType reads <qualified-type> ::= (U <source-name> [<template-args>])* <CV-qualifiers> <type>, where that is
// no function type, whose qualifiers are those of a member function.
func (p *parser) qualifiedType() ref {
	if p.functionFollows() {
		return p.functionType()
	}
	return p.qualified()
}

// functionFollows says that a function type is behind the CV qualifiers.
func (p *parser) functionFollows() bool {
	n := 0
	for _, c := range "rVK" {
		if p.peek(n) == byte(c) {
			n++
		}
	}
	return n > 0 && (p.peek(n) == 'F' || p.peek(n) == 'D' && strings.IndexByte("oOwx", p.peek(n+1)) >= 0)
}

func (p *parser) qualified() ref {
	p.enter()
	defer p.leave()
	if p.accept('U') {
		return p.vendorQualified()
	}
	quals := p.cvQualifiers()
	typ := p.typ()
	if quals == 0 {
		return typ
	}
	return p.make(node{kind: kindQualified, a: typ, quals: quals})
}

func (p *parser) vendorQualified() ref {
	name := p.identifier()
	if protocol, ok := strings.CutPrefix(name, "objcproto"); ok {
		digits := strings.TrimLeft(protocol, "0123456789")
		if digits == "" || digits == protocol {
			return p.fail()
		}
		return p.make(node{kind: kindObjCProto, a: p.qualified(), text: digits})
	}
	n := node{kind: kindVendorQual, text: name}
	if p.look() == 'I' {
		n.b = p.templateArgs(false)
	}
	n.a = p.qualified()
	return p.make(n)
}

// functionType reads
//
//	<function-type>  ::= [<CV-qualifiers>] [<exception-spec>] [Dx] F [Y] <type>+ [R | O] E
//	<exception-spec> ::= Do | DO <expression> E | Dw <type>+ E
func (p *parser) functionType() ref {
	n := node{kind: kindFunction, quals: p.cvQualifiers()}
	n.b = p.exceptions()
	p.acceptString("Dx")
	p.expect('F')
	p.accept('Y')
	n.a = p.typ()
	mark := len(p.stack)
	for p.until('E') {
		if p.accept('v') {
			continue
		}
		if p.acceptString("RE") {
			n.quals |= qualLvalue
			break
		}
		if p.acceptString("OE") {
			n.quals |= qualRvalue
			break
		}
		p.push(p.typ())
	}
	n.list = p.pop(mark)
	return p.make(n)
}

func (p *parser) exceptions() ref {
	switch {
	case p.acceptString("Do"):
		return p.name0("noexcept")
	case p.acceptString("DO"):
		e := p.expr()
		p.expect('E')
		return p.make(node{kind: kindNoexcept, a: e})
	case p.acceptString("Dw"):
		return p.make(node{kind: kindThrowSpec, list: p.list('E', (*parser).typ)})
	}
	return 0
}

// vectorType reads
//
//	<vector-type> ::= Dv <number> _ (<type> | p) | Dv [<expression>] _ <type>
func (p *parser) vectorType() ref {
	p.pos += 2
	n := node{kind: kindVector}
	numbered := isDigit(p.look())
	if p.look() != '_' {
		n.b = p.dimension()
	}
	p.expect('_')
	if numbered && p.accept('p') {
		return p.make(node{kind: kindPixelVector, a: n.b})
	}
	n.a = p.typ()
	return p.make(n)
}

// arrayType reads <array-type> ::= A [<number> | <expression>] _ <type>.
func (p *parser) arrayType() ref {
	p.pos++
	n := node{kind: kindArray}
	if p.look() != '_' {
		n.b = p.dimension()
	}
	p.expect('_')
	n.a = p.typ()
	return p.make(n)
}

// decltype reads <decltype> ::= (Dt | DT) <expression> E.
func (p *parser) decltype() ref {
	if !p.acceptString("Dt") && !p.acceptString("DT") {
		return p.fail()
	}
	e := p.expr()
	p.expect('E')
	return p.make(node{kind: kindEnclosing, text: "decltype", a: e})
}
