package itanium

import "github.com/heaplapse/heaplapse/symbolize/internal/itanium/ast"

// expr reads <expression>.
func (p *parser) expr() ast.Ref {
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

// wordExpr reads an expression that begins with two letters other than an operator, or with a name.
func (p *parser) wordExpr(global bool) ast.Ref {
	switch {
	case p.acceptString("il"):
		return p.Make(ast.Node{Kind: ast.InitList, List: p.list('E', (*parser).braced)})
	case p.acceptString("tl"):
		typ := p.typ()
		return p.Make(ast.Node{Kind: ast.InitList, A: typ, List: p.list('E', (*parser).braced)})
	case p.acceptString("mc"):
		return p.memberCast()
	case p.acceptString("nx"):
		return p.Make(ast.Node{Kind: ast.Enclosing, Text: "noexcept ", A: p.expr()})
	case p.acceptString("so"):
		return p.subobject()
	case p.acceptString("sp"):
		return p.Make(ast.Node{Kind: ast.Expansion, A: p.expr()})
	case p.acceptString("sZ"):
		return p.sizeofPack()
	case p.acceptString("sP"):
		list := p.Make(ast.Node{Kind: ast.List, List: p.list('E', (*parser).templateArg)})
		return p.Make(ast.Node{Kind: ast.Enclosing, Text: "sizeof... ", A: list})
	case p.acceptString("tr"):
		return p.text("throw")
	case p.acceptString("tw"):
		return p.Make(ast.Node{Kind: ast.Throw, A: p.expr()})
	case p.accept('u'):
		return p.vendorExpr()
	}
	return p.unresolvedName(global)
}

// operation reads the operands of an operator.
func (p *parser) operation(op *operator, global bool) ast.Ref {
	n := ast.Node{Text: op.symbol}
	switch op.form {
	case opBinary:
		n.Kind = ast.Binary
	case opPrefix:
		n.Kind = ast.PrefixOp
	case opPostfix:
		n.Kind = ast.PostfixOp
		if p.accept('_') {
			n.Kind = ast.PrefixOp
		}
	case opIndex:
		n.Kind = ast.Index
	case opMember:
		n.Kind = ast.Member
	case opConditional:
		n.Kind = ast.Conditional
	case opNamedCast:
		n.Kind = ast.Cast
		n.A = p.typ()
		n.B = p.expr()
		return p.Make(n)
	default:
		return p.wideOperation(op, n, global)
	}
	n.A = p.expr()
	if n.Kind != ast.PrefixOp && n.Kind != ast.PostfixOp {
		n.B = p.expr()
	}
	if n.Kind == ast.Conditional {
		n.C = p.expr()
	}
	return p.Make(n)
}

// wideOperation reads an operation that has lists or types as operands.
func (p *parser) wideOperation(op *operator, n ast.Node, global bool) ast.Ref {
	switch op.form {
	case opNew:
		return p.newExpr(op, n, global)
	case opDelete:
		n.Kind = ast.DeleteExpr
		n.Quals = newFlags(op, global)
		n.A = p.expr()
	case opCall:
		n.Kind = ast.Call
		n.A = p.expr()
		n.List = p.list('E', (*parser).expr)
	case opCCast:
		n.Kind = ast.CCast
		return p.cCast(n)
	case opOfType, opOfExpr:
		n.Kind, n.Flag = ast.Enclosing, op.form == opOfType
		if n.Flag {
			n.A = p.typ()
		} else {
			n.A = p.expr()
		}
	default:
		return p.fail()
	}
	return p.Make(n)
}

func newFlags(op *operator, global bool) uint8 {
	var flags uint8
	if global {
		flags |= ast.NewGlobal
	}
	if op.code == "na" || op.code == "da" {
		flags |= ast.NewArray
	}
	return flags
}

// newExpr reads [gs] (nw | na) <expression>* _ <type> [pi <expression>*] E.
func (p *parser) newExpr(op *operator, n ast.Node, global bool) ast.Ref {
	n.Kind, n.Quals = ast.NewExpr, newFlags(op, global)
	if list := p.list('_', (*parser).expr); list.Size() > 0 {
		n.A = p.Make(ast.Node{Kind: ast.List, List: list})
	}
	n.B = p.typ()
	if p.acceptString("pi") {
		n.Quals |= ast.NewInit
		n.List = p.list('E', (*parser).expr)
	} else {
		p.expect('E')
	}
	return p.Make(n)
}

// cCast reads cv <type> (<expression> | _ <expression>* E).
func (p *parser) cCast(n ast.Node) ast.Ref {
	saved := p.tryArgs
	p.tryArgs = false
	n.A = p.typ()
	p.tryArgs = saved
	if p.accept('_') {
		n.List = p.list('E', (*parser).expr)
	} else {
		mark := len(p.stack)
		p.push(p.expr())
		n.List = p.pop(mark)
	}
	return p.Make(n)
}

// memberCast reads mc <type> <expression> [<offset>] E.
func (p *parser) memberCast() ast.Ref {
	n := ast.Node{Kind: ast.MemberCast, A: p.typ()}
	n.B = p.expr()
	p.number(true)
	p.expect('E')
	return p.Make(n)
}

// subobject reads so <type> <expression> [<offset>] (_ [<number>])* [p] E.
func (p *parser) subobject() ast.Ref {
	n := ast.Node{Kind: ast.Subobject, A: p.typ()}
	n.B = p.expr()
	n.Text = p.number(true)
	for p.accept('_') {
		p.number(false)
	}
	p.accept('p')
	p.expect('E')
	return p.Make(n)
}

func (p *parser) sizeofPack() ast.Ref {
	if p.look() == 'T' {
		return p.Make(ast.Node{Kind: ast.SizeofPack, A: p.templateParam()})
	}
	return p.Make(ast.Node{Kind: ast.Enclosing, Text: "sizeof... ", A: p.functionParam()})
}

// vendorExpr reads u <source-name> <template-arg>* E, and the older u8__uuidof (t <type> | z
// <expression>).
func (p *parser) vendorExpr() ast.Ref {
	n := ast.Node{Kind: ast.Call, A: p.sourceName()}
	mark := len(p.stack)
	switch uuid := p.Nodes[n.A].Text == "__uuidof"; {
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
	n.List = p.pop(mark)
	return p.Make(n)
}

// functionParam reads
//
//	<function-param> ::= fpT | fp <CV-qualifiers> [<number>] _
//	                   | fL <number> p <CV-qualifiers> [<number>] _
func (p *parser) functionParam() ast.Ref {
	if p.acceptString("fpT") {
		return p.text("this")
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
	return p.Make(ast.Node{Kind: ast.Param, Text: number, Count: p.ordinal(number)})
}

// braced reads
//
//	<braced-expression> ::= <expression> | di <source-name> <braced-expression>
//	                      | dx <expression> <braced-expression>
//	                    ::= dX <expression> <expression> <braced-expression>
func (p *parser) braced() ast.Ref {
	p.enter()
	defer p.leave()
	n := ast.Node{Kind: ast.Braced}
	switch {
	case p.acceptString("di"):
		n.A = p.sourceName()
	case p.acceptString("dx"):
		n.Flag = true
		n.A = p.expr()
	case p.acceptString("dX"):
		n.Kind = ast.BracedRange
		n.A = p.expr()
		n.B = p.expr()
		n.C = p.braced()
		return p.Make(n)
	default:
		return p.expr()
	}
	n.B = p.braced()
	return p.Make(n)
}

// fold reads <fold-expr> ::= f (l | r) <operator> <expression> | f (L | R) <operator> <expression>
// <expression>.
func (p *parser) fold() ast.Ref {
	p.expect('f')
	c := p.look()
	p.pos = min(p.pos+1, len(p.src))
	op := p.operator()
	if c != 'l' && c != 'r' && c != 'L' && c != 'R' || op == nil || !op.folds() {
		return p.fail()
	}
	n := ast.Node{Kind: ast.Fold, Text: op.symbol, Flag: c == 'l' || c == 'L'}
	n.A = p.expr()
	if c == 'L' || c == 'R' {
		n.B = p.expr()
	}
	if c == 'L' {
		n.A, n.B = n.B, n.A
	}
	return p.Make(n)
}

// primary reads
//
//	<expr-primary> ::= L <type> <number> E | L <type> <float> E | L <string type> E
//	                 | L <nullptr type> E | L <closure> E
//	               ::= L _Z <encoding> E
func (p *parser) primary() ast.Ref {
	p.expect('L')
	c := p.look()
	if typ, ok := ast.IntegerType(c); ok {
		p.pos++
		return p.literal(ast.Node{Kind: ast.Integer, Count: typ})
	}
	if typ, digits, ok := ast.FloatType(c); ok {
		p.pos++
		return p.float(typ, digits)
	}
	switch {
	case c == 'T':
		return p.fail()
	case p.acceptString("b0E"), p.acceptString("b1E"):
		return p.Make(ast.Node{Kind: ast.Bool, Flag: p.src[p.pos-2] == '1'})
	case p.acceptString("_Z"):
		e := p.encoding(false)
		p.expect('E')
		return e
	case c == 'A':
		typ := p.typ()
		p.expect('E')
		return p.Make(ast.Node{Kind: ast.String, A: typ})
	case p.acceptString("Dn"):
		p.expect('E')
		return p.Make(ast.Node{Kind: ast.Nullptr})
	case p.acceptString("Ul"):
		closure := p.closure()
		p.expect('E')
		return p.Make(ast.Node{Kind: ast.Lambda, A: closure})
	}
	return p.literal(ast.Node{Kind: ast.Enum, A: p.typ()})
}

// literal reads the value of an integer or an enumerator.
func (p *parser) literal(n ast.Node) ast.Ref {
	if n.Text = p.number(true); n.Text == "" {
		return p.fail()
	}
	p.expect('E')
	return p.Make(n)
}

// float reads the bytes of a floating literal, in hexadecimal, most significant first.
func (p *parser) float(typ int32, digits int) ast.Ref {
	start := p.pos
	for p.pos < len(p.src) && isHex(p.src[p.pos]) && p.pos-start < digits {
		p.pos++
	}
	if p.pos-start < digits {
		return p.fail()
	}
	n := ast.Node{Kind: ast.Float, Text: p.src[start:p.pos], Count: typ}
	p.expect('E')
	return p.Make(n)
}

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' }
