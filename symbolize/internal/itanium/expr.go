package itanium

// integers are the types of integer literals: what is written in front of the value, in parentheses, or behind it.
var integers = [...]struct {
	letter       byte
	cast, suffix string
}{
	{'w', "wchar_t", ""}, {'c', "char", ""}, {'a', "signed char", ""}, {'h', "unsigned char", ""}, {'s', "short", ""},
	{'t', "unsigned short", ""}, {'i', "", ""}, {'j', "", "u"}, {'l', "", "l"}, {'m', "", "ul"}, {'x', "", "ll"},
	{'y', "", "ull"}, {'n', "__int128", ""}, {'o', "unsigned __int128", ""},
}

// floats are the types of floating literals, with the number of hexadecimal digits of their bytes.
var floats = [...]struct {
	letter byte
	digits int
	name   string
}{{'f', 8, "float"}, {'d', 16, "double"}, {'e', 20, "long double"}}

// expr reads <expression>.
func (p *parser) expr() ref {
	p.enter()
	defer p.leave()
	global := p.acceptString("gs")
	if op := p.operator(); op != nil {
		return p.operation(op, global)
	}
	switch p.look() {
	case 'L':
		return p.primary()
	case 'T':
		return p.templateParam()
	case 'f':
		if c := p.peek(1); c == 'p' || c == 'L' && isDigit(p.peek(2)) {
			return p.functionParam()
		}
		return p.fold()
	}
	return p.wordExpr(global)
}

// wordExpr reads what begins with two letters that are no operator, or is a name.
func (p *parser) wordExpr(global bool) ref {
	switch {
	case p.acceptString("il"):
		return p.make(node{kind: kindInitList, list: p.list('E', (*parser).braced)})
	case p.acceptString("tl"):
		typ := p.typ()
		return p.make(node{kind: kindInitList, a: typ, list: p.list('E', (*parser).braced)})
	case p.acceptString("mc"):
		return p.memberCast()
	case p.acceptString("nx"):
		return p.make(node{kind: kindEnclosing, text: "noexcept ", a: p.expr()})
	case p.acceptString("so"):
		return p.subobject()
	case p.acceptString("sp"):
		return p.make(node{kind: kindExpansion, a: p.expr()})
	case p.acceptString("sZ"):
		return p.sizeofPack()
	case p.acceptString("sP"):
		list := p.make(node{kind: kindList, list: p.list('E', (*parser).templateArg)})
		return p.make(node{kind: kindEnclosing, text: "sizeof... ", a: list})
	case p.acceptString("tr"):
		return p.name0("throw")
	case p.acceptString("tw"):
		return p.make(node{kind: kindThrow, a: p.expr()})
	case p.accept('u'):
		return p.vendorExpr()
	}
	return p.unresolvedName(global)
}

// operation reads the operands of an operator.
func (p *parser) operation(op *operator, global bool) ref {
	n := node{text: op.symbol}
	switch op.form {
	case opBinary:
		n.kind = kindBinary
	case opPrefix:
		n.kind = kindPrefixOp
	case opPostfix:
		n.kind = kindPostfixOp
		if p.accept('_') {
			n.kind = kindPrefixOp
		}
	case opIndex:
		n.kind = kindIndex
	case opMember:
		n.kind = kindMember
	case opConditional:
		n.kind = kindConditional
	case opNamedCast:
		n.kind = kindCast
		n.a = p.typ()
		n.b = p.expr()
		return p.make(n)
	default:
		return p.wideOperation(op, n, global)
	}
	n.a = p.expr()
	if n.kind != kindPrefixOp && n.kind != kindPostfixOp {
		n.b = p.expr()
	}
	if n.kind == kindConditional {
		n.c = p.expr()
	}
	return p.make(n)
}

// wideOperation reads operations that have lists or types as operands.
func (p *parser) wideOperation(op *operator, n node, global bool) ref {
	switch op.form {
	case opNew:
		return p.newExpr(op, n, global)
	case opDelete:
		n.kind = kindDelete
		n.quals = newFlags(op, global)
		n.a = p.expr()
	case opCall:
		n.kind = kindCall
		n.a = p.expr()
		n.list = p.list('E', (*parser).expr)
	case opCCast:
		n.kind = kindCCast
		return p.cCast(n)
	case opOfType, opOfExpr:
		n.kind, n.flag = kindEnclosing, op.form == opOfType
		if n.flag {
			n.a = p.typ()
		} else {
			n.a = p.expr()
		}
	default:
		return p.fail()
	}
	return p.make(n)
}

func newFlags(op *operator, global bool) uint8 {
	var flags uint8
	if global {
		flags |= newGlobal
	}
	if op.code == "na" || op.code == "da" {
		flags |= newArray
	}
	return flags
}

// newExpr reads [gs] (nw | na) <expression>* _ <type> [pi <expression>*] E.
func (p *parser) newExpr(op *operator, n node, global bool) ref {
	n.kind, n.quals = kindNew, newFlags(op, global)
	if list := p.list('_', (*parser).expr); list.size() > 0 {
		n.a = p.make(node{kind: kindList, list: list})
	}
	n.b = p.typ()
	if p.acceptString("pi") {
		n.quals |= newInit
		n.list = p.list('E', (*parser).expr)
	} else {
		p.expect('E')
	}
	return p.make(n)
}

// cCast reads cv <type> (<expression> | _ <expression>* E).
func (p *parser) cCast(n node) ref {
	saved := p.tryArgs
	p.tryArgs = false
	n.a = p.typ()
	p.tryArgs = saved
	if p.accept('_') {
		n.list = p.list('E', (*parser).expr)
	} else {
		mark := len(p.stack)
		p.push(p.expr())
		n.list = p.pop(mark)
	}
	return p.make(n)
}

// memberCast reads mc <type> <expression> [<offset>] E.
func (p *parser) memberCast() ref {
	n := node{kind: kindMemberCast, a: p.typ()}
	n.b = p.expr()
	p.number(true)
	p.expect('E')
	return p.make(n)
}

// subobject reads so <type> <expression> [<offset>] (_ [<number>])* [p] E.
func (p *parser) subobject() ref {
	n := node{kind: kindSubobject, a: p.typ()}
	n.b = p.expr()
	n.text = p.number(true)
	for p.accept('_') {
		p.number(false)
	}
	p.accept('p')
	p.expect('E')
	return p.make(n)
}

func (p *parser) sizeofPack() ref {
	if p.look() == 'T' {
		return p.make(node{kind: kindSizeofPack, a: p.templateParam()})
	}
	return p.make(node{kind: kindEnclosing, text: "sizeof... ", a: p.functionParam()})
}

// vendorExpr reads u <source-name> <template-arg>* E, and the older u8__uuidof (t <type> | z <expression>).
func (p *parser) vendorExpr() ref {
	n := node{kind: kindCall, a: p.sourceName()}
	mark := len(p.stack)
	switch uuid := p.nodes[n.a].text == "__uuidof"; {
	case p.bad:
	case uuid && p.accept('t'):
		p.push(p.typ())
	case uuid && p.accept('z'):
		p.push(p.expr())
	default:
		for p.until('E') {
			p.push(p.templateArg())
		}
	}
	n.list = p.pop(mark)
	return p.make(n)
}

// functionParam reads
//
//	<function-param> ::= fpT | fp <CV-qualifiers> [<number>] _ | fL <number> p <CV-qualifiers> [<number>] _
func (p *parser) functionParam() ref {
	if p.acceptString("fpT") {
		return p.name0("this")
	}
	if p.acceptString("fL") {
		if p.number(false) == "" {
			p.fail()
		}
		p.expect('p')
	} else if !p.acceptString("fp") {
		return p.fail()
	}
	p.cvQualifiers()
	number := p.number(false)
	p.expect('_')
	return p.make(node{kind: kindParam, text: number, count: p.ordinal(number)})
}

// braced reads
//
//	<braced-expression> ::= <expression> | di <source-name> <braced-expression> | dx <expression> <braced-expression>
//	                    ::= dX <expression> <expression> <braced-expression>
func (p *parser) braced() ref {
	p.enter()
	defer p.leave()
	n := node{kind: kindBraced}
	switch {
	case p.acceptString("di"):
		n.a = p.sourceName()
	case p.acceptString("dx"):
		n.flag = true
		n.a = p.expr()
	case p.acceptString("dX"):
		n.kind = kindBracedRange
		n.a = p.expr()
		n.b = p.expr()
		n.c = p.braced()
		return p.make(n)
	default:
		return p.expr()
	}
	n.b = p.braced()
	return p.make(n)
}

// fold reads <fold-expr> ::= f (l | r) <operator> <expression> | f (L | R) <operator> <expression> <expression>.
func (p *parser) fold() ref {
	p.expect('f')
	c := p.look()
	p.pos = min(p.pos+1, len(p.src))
	op := p.operator()
	if c != 'l' && c != 'r' && c != 'L' && c != 'R' || op == nil || !op.folds() {
		return p.fail()
	}
	n := node{kind: kindFold, text: op.symbol, flag: c == 'l' || c == 'L'}
	n.a = p.expr()
	if c == 'L' || c == 'R' {
		n.b = p.expr()
	}
	if c == 'L' {
		n.a, n.b = n.b, n.a
	}
	return p.make(n)
}

// primary reads
//
//	<expr-primary> ::= L <type> <number> E | L <type> <float> E | L <string type> E | L <nullptr type> E | L <closure> E
//	               ::= L _Z <encoding> E
func (p *parser) primary() ref {
	p.expect('L')
	c := p.look()
	for i := range integers {
		if integers[i].letter == c {
			p.pos++
			return p.literal(node{kind: kindInteger, count: int32(i)})
		}
	}
	for i := range floats {
		if floats[i].letter == c {
			p.pos++
			return p.float(i)
		}
	}
	switch {
	case c == 'T':
		return p.fail()
	case p.acceptString("b0E"), p.acceptString("b1E"):
		return p.make(node{kind: kindBool, flag: p.src[p.pos-2] == '1'})
	case p.acceptString("_Z"):
		e := p.encoding(false)
		p.expect('E')
		return e
	case c == 'A':
		typ := p.typ()
		p.expect('E')
		return p.make(node{kind: kindString, a: typ})
	case p.acceptString("Dn"):
		p.expect('E')
		return p.make(node{kind: kindNullptr})
	case p.acceptString("Ul"):
		closure := p.closure()
		p.expect('E')
		return p.make(node{kind: kindLambda, a: closure})
	}
	return p.literal(node{kind: kindEnum, a: p.typ()})
}

// literal reads the value of an integer or an enumerator.
func (p *parser) literal(n node) ref {
	if n.text = p.number(true); n.text == "" {
		return p.fail()
	}
	p.expect('E')
	return p.make(n)
}

// float reads the bytes of a floating literal, in hexadecimal, most significant first.
func (p *parser) float(i int) ref {
	start := p.pos
	for p.pos < len(p.src) && isHex(p.src[p.pos]) && p.pos-start < floats[i].digits {
		p.pos++
	}
	if p.pos-start < floats[i].digits {
		return p.fail()
	}
	n := node{kind: kindFloat, text: p.src[start:p.pos], count: int32(i)}
	p.expect('E')
	return p.make(n)
}

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' }
