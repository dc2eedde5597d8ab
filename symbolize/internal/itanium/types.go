package itanium

import (
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/itanium/ast"
)

// builtins maps a letter to its <builtin-type>.
var builtins = [256]string{
	'v': "void", 'w': "wchar_t", 'b': "bool", 'c': "char", 'a': "signed char", 'h': "unsigned char",
	's': "short", 't': "unsigned short", 'i': "int", 'j': "unsigned int", 'l': "long", 'm': "unsigned long",
	'x': "long long", 'y': "unsigned long long", 'n': "__int128", 'o': "unsigned __int128",
	'f': "float", 'd': "double", 'e': "long double", 'g': "__float128", 'z': "...",
}

// builtinsD maps the letter after D to its <builtin-type>.
var builtinsD = [256]string{
	'd': "decimal64", 'e': "decimal128", 'f': "decimal32", 'h': "half", 'i': "char32_t", 's': "char16_t", 'u': "char8_t",
	'a': "auto", 'c': "decltype(auto)", 'n': ast.NullptrType,
}

// typ reads <type>, and remembers it unless it is built in.
func (p *parser) typ() ast.Ref {
	p.enter()
	defer p.leave()
	c := p.look()
	if text := builtins[c]; text != "" {
		p.pos++
		return p.Make(ast.Node{Kind: ast.Builtin, Text: text})
	}
	if c == 'D' {
		if r := p.builtinD(); r != 0 {
			return r
		}
	}
	if c == 'S' {
		return p.substitutedType()
	}
	if p.isParam() {
		return p.rememberParam(p.compound(c))
	}
	return p.remember(p.compound(c))
}

// isParam reports whether a template parameter or a decltype is next.
func (p *parser) isParam() bool {
	next := p.peek(1)
	switch p.look() {
	case 'T':
		return next == '_' || next == 'L' || isDigit(next)
	case 'D':
		return next == 't' || next == 'T'
	}
	return false
}

// builtinD reads a built-in type that begins with D, or nothing.
func (p *parser) builtinD() ast.Ref {
	c := p.peek(1)
	if text := builtinsD[c]; text != "" {
		p.pos += 2
		return p.Make(ast.Node{Kind: ast.Builtin, Text: text})
	}
	if c == 'F' {
		p.pos += 2
		return p.binaryFloat()
	}
	return 0
}

// binaryFloat reads DF <bits> _.
func (p *parser) binaryFloat() ast.Ref {
	bits := p.number(false)
	p.expect('_')
	return p.Make(ast.Node{Kind: ast.BinaryFP, Text: bits})
}

// substitutedType reads a type that begins with S: a back reference, which may be to a template, or
// a name in std.
func (p *parser) substitutedType() ast.Ref {
	name, isSubst := p.unscopedName(nil, true)
	switch {
	case p.look() == 'I' && (!isSubst || p.tryArgs):
		if !isSubst {
			p.remember(name)
		}
		name = p.Make(ast.Node{Kind: ast.Template, A: name, B: p.templateArgs(false)})
	case isSubst:
		return name
	}
	return p.remember(name)
}

// compound reads a type that is not built in.
func (p *parser) compound(c byte) ast.Ref {
	switch c {
	case 'r', 'V', 'K', 'U':
		return p.qualifiedType()
	case 'P', 'R', 'O', 'C', 'G':
		p.pos++
		return p.wrapped(c, p.typ())
	case 'u':
		p.pos++
		return p.text(p.identifier())
	case 'D':
		return p.compoundD()
	case 'F':
		return p.functionType()
	case 'A':
		return p.arrayType()
	case 'M':
		p.pos++
		class := p.typ()
		return p.Make(ast.Node{Kind: ast.MemberPointer, A: class, B: p.typ()})
	case 'T':
		if e := p.peek(1); e == 's' || e == 'u' || e == 'e' {
			return p.elaborated(e)
		}
		return p.paramType()
	}
	return p.name(nil)
}

func (p *parser) wrapped(c byte, inner ast.Ref) ast.Ref {
	switch c {
	case 'P':
		return p.Make(ast.Node{Kind: ast.Pointer, A: inner})
	case 'C':
		return p.Make(ast.Node{Kind: ast.Postfix, A: inner, Text: ast.ComplexSuffix})
	case 'G':
		return p.Make(ast.Node{Kind: ast.Postfix, A: inner, Text: ast.ImaginarySuffix})
	}
	return p.Make(ast.Node{Kind: ast.Reference, A: inner, Flag: c == 'O'})
}

func (p *parser) compoundD() ast.Ref {
	switch p.peek(1) {
	case 't', 'T':
		return p.decltype()
	case 'v':
		return p.vectorType()
	case 'p':
		p.pos += 2
		return p.Make(ast.Node{Kind: ast.Expansion, A: p.typ()})
	case 'o', 'O', 'w', 'x':
		return p.functionType()
	}
	return p.name(nil)
}

// dimension reads <number> or <expression>.
func (p *parser) dimension() ast.Ref {
	if isDigit(p.look()) {
		return p.text(p.number(false))
	}
	return p.expr()
}

func (p *parser) elaborated(c byte) ast.Ref {
	p.pos += 2
	text := map[byte]string{'s': "struct", 'u': "union", 'e': "enum"}[c]
	return p.Make(ast.Node{Kind: ast.Elaborated, Text: text, A: p.name(nil)})
}

// paramType reads <template-param>, and the arguments of a template template parameter.
func (p *parser) paramType() ast.Ref {
	param := p.templateParam()
	if !p.tryArgs || p.look() != 'I' {
		return param
	}
	p.rememberParam(param)
	return p.Make(ast.Node{Kind: ast.Template, A: param, B: p.templateArgs(false)})
}

// cvQualifiers reads <CV-qualifiers> ::= [r] [V] [K].
func (p *parser) cvQualifiers() uint8 {
	var quals uint8
	if p.accept('r') {
		quals |= ast.QualRestrict
	}
	if p.accept('V') {
		quals |= ast.QualVolatile
	}
	if p.accept('K') {
		quals |= ast.QualConst
	}
	return quals
}

// qualifiedType reads <qualified-type> ::= (U <source-name> [<template-args>])* <CV-qualifiers>
// <type>. The qualifiers of a function type are those of a member function.
func (p *parser) qualifiedType() ast.Ref {
	if p.functionFollows() {
		return p.functionType()
	}
	return p.qualified()
}

// functionFollows reports whether CV qualifiers and a function type are next.
func (p *parser) functionFollows() bool {
	n := 0
	for _, c := range "rVK" {
		if p.peek(n) == byte(c) {
			n++
		}
	}
	return n > 0 && (p.peek(n) == 'F' || p.peek(n) == 'D' && strings.IndexByte("oOwx", p.peek(n+1)) >= 0)
}

func (p *parser) qualified() ast.Ref {
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
	return p.Make(ast.Node{Kind: ast.Qualified, A: typ, Quals: quals})
}

func (p *parser) vendorQualified() ast.Ref {
	name := p.identifier()
	if protocol, ok := strings.CutPrefix(name, "objcproto"); ok {
		digits := strings.TrimLeft(protocol, "0123456789")
		if digits == "" || digits == protocol {
			return p.fail()
		}
		return p.Make(ast.Node{Kind: ast.ObjCProto, A: p.qualified(), Text: digits})
	}
	n := ast.Node{Kind: ast.VendorQual, Text: name}
	if p.look() == 'I' {
		n.B = p.templateArgs(false)
	}
	n.A = p.qualified()
	return p.Make(n)
}

// functionType reads
//
//	<function-type>  ::= [<CV-qualifiers>] [<exception-spec>] [Dx] F [Y] <type>+ [R | O] E
//	<exception-spec> ::= Do | DO <expression> E | Dw <type>+ E
func (p *parser) functionType() ast.Ref {
	n := ast.Node{Kind: ast.Function, Quals: p.cvQualifiers()}
	n.B = p.exceptions()
	p.acceptString("Dx")
	p.expect('F')
	p.accept('Y')
	n.A = p.typ()
	mark := len(p.stack)
	for p.until('E') {
		if p.accept('v') {
			continue
		}
		if p.acceptString("RE") {
			n.Quals |= ast.QualLvalue
			break
		}
		if p.acceptString("OE") {
			n.Quals |= ast.QualRvalue
			break
		}
		p.push(p.typ())
	}
	n.List = p.pop(mark)
	return p.Make(n)
}

func (p *parser) exceptions() ast.Ref {
	switch {
	case p.acceptString("Do"):
		return p.text("noexcept")
	case p.acceptString("DO"):
		e := p.expr()
		p.expect('E')
		return p.Make(ast.Node{Kind: ast.Noexcept, A: e})
	case p.acceptString("Dw"):
		return p.Make(ast.Node{Kind: ast.ThrowSpec, List: p.list('E', (*parser).typ)})
	}
	return 0
}

// vectorType reads
//
//	<vector-type> ::= Dv <number> _ (<type> | p) | Dv [<expression>] _ <type>
func (p *parser) vectorType() ast.Ref {
	p.pos += 2
	n := ast.Node{Kind: ast.Vector}
	numbered := isDigit(p.look())
	if p.look() != '_' {
		n.B = p.dimension()
	}
	p.expect('_')
	if numbered && p.accept('p') {
		return p.Make(ast.Node{Kind: ast.PixelVector, A: n.B})
	}
	n.A = p.typ()
	return p.Make(n)
}

// arrayType reads <array-type> ::= A [<number> | <expression>] _ <type>.
func (p *parser) arrayType() ast.Ref {
	p.pos++
	n := ast.Node{Kind: ast.Array}
	if p.look() != '_' {
		n.B = p.dimension()
	}
	p.expect('_')
	n.A = p.typ()
	return p.Make(n)
}

// decltype reads <decltype> ::= (Dt | DT) <expression> E.
func (p *parser) decltype() ast.Ref {
	if !p.acceptString("Dt") && !p.acceptString("DT") {
		return p.fail()
	}
	e := p.expr()
	p.expect('E')
	return p.Make(ast.Node{Kind: ast.Enclosing, Text: "decltype", A: e})
}
