package itanium

// expr writes expressions.
func (w *printer) expr(n *node) {
	switch n.kind {
	case kindBinary:
		w.binary(n)
	case kindIndex:
		w.operand(n.a, n, false)
		w.open('[')
		w.anyOperand(n.b)
		w.close(']')
	case kindPostfixOp:
		w.operand(n.a, n, true)
		w.write(n.text)
	case kindPrefixOp:
		w.prefix(n)
	case kindConditional:
		w.conditional(n)
	case kindMember:
		w.member(n)
	case kindSubobject:
		w.subobject(n)
	case kindEnclosing:
		w.enclosingExpr(n)
	case kindCast:
		w.cast(n)
	case kindSizeofPack:
		w.sizeofPack(n)
	case kindCall:
		w.call(n)
	case kindNew:
		w.newExpr(n)
	case kindDelete:
		w.deleteExpr(n)
	case kindParam:
		w.param(n)
	case kindCCast:
		w.parenthesized(n.a)
		w.cCastOperands(n)
	case kindMemberCast:
		w.parenthesized(n.a)
		w.parenthesized(n.b)
	case kindFold:
		w.fold(n)
	case kindThrow:
		w.write("throw ")
		w.whole(n.a)
	default:
		w.primary(n)
	}
}

// operandOf writes an expression, in parentheses if it binds no tighter than p. LLVM 14 puts no parentheses where others depend on p.
func (w *printer) operandOf(r ref, p prec) {
	if w.style == llvm22 && w.nodes[r].prec >= p {
		w.parenthesized(r)
		return
	}
	w.whole(r)
}

// operand writes an operand of an operation: LLVM 14 puts each in parentheses, the GNU tools all but names, and LLVM 22
// those that bind less tightly, or strictly so.
func (w *printer) operand(r ref, of *node, strictly bool) {
	paren := w.style == llvm14 || w.style == gnu && !w.isPlain(r)
	if w.style == llvm22 {
		p := of.prec
		if strictly {
			p++
		}
		paren = w.nodes[r].prec >= p
	}
	if paren {
		w.parenthesized(r)
	} else {
		w.whole(r)
	}
}

// isPlain says that the GNU tools write an operand without parentheses.
func (w *printer) isPlain(r ref) bool {
	switch w.nodes[w.behind(r)].kind {
	case kindName, kindScoped, kindInitList, kindParam:
		return true
	}
	return false
}

// anyOperand writes an operand between brackets.
func (w *printer) anyOperand(r ref) { w.operandOf(r, precDefault) }

func (w *printer) binary(n *node) {
	angle := n.text == ">" || w.style != llvm14 && n.text == ">>"
	if w.style == llvm22 {
		angle = angle && w.parens == 0
	}
	if angle {
		w.open('(')
	}
	assign := n.prec == precAssign
	if assign && w.style == llvm22 {
		w.operandOf(n.a, precOrOr)
	} else {
		w.operand(n.a, n, !assign)
	}
	w.infix(n.text)
	w.operand(n.b, n, assign)
	if angle {
		w.close(')')
	}
}

// infix writes an operator between its operands.
func (w *printer) infix(symbol string) {
	switch {
	case w.style == gnu:
		w.write(symbol)
	case w.style == llvm22 && symbol == ",":
		w.write(", ")
	default:
		w.writeByte(' ')
		w.write(symbol)
		w.writeByte(' ')
	}
}

func (w *printer) prefix(n *node) {
	w.write(n.text)
	if w.style != gnu {
		w.operand(n.a, n, false)
		return
	}
	r := w.behind(n.a)
	if e := &w.nodes[r]; n.text == "&" && e.kind == kindEncoding && e.quals == 0 {
		r = e.b // the address of a function goes without its parameters
	}
	w.operand(r, n, false)
}

func (w *printer) conditional(n *node) {
	w.operand(n.a, n, false)
	w.write(w.spelled(" ? ", "?"))
	if w.style == llvm22 {
		w.anyOperand(n.b)
	} else {
		w.operand(n.b, n, false)
	}
	w.write(" : ")
	if w.style == llvm22 {
		w.operandOf(n.c, precAssign+1)
	} else {
		w.operand(n.c, n, false)
	}
}

// spelled is LLVM's or the GNU tools' spelling.
func (w *printer) spelled(llvm, gnuTools string) string {
	if w.style == gnu {
		return gnuTools
	}
	return llvm
}

func (w *printer) member(n *node) {
	switch {
	case w.style == llvm14 && n.text == "->*":
		w.parenthesized(n.a)
		w.write(" ->* ")
		w.parenthesized(n.b)
	case w.style == llvm14:
		w.join(n.a, n.text, n.b)
	default:
		w.operand(n.a, n, true)
		w.write(n.text)
		w.operand(n.b, n, false)
	}
}

func (w *printer) subobject(n *node) {
	w.whole(n.b)
	w.write(".<")
	w.whole(n.a)
	w.write(" at offset ")
	if n.text == "" {
		w.writeByte('0')
	}
	w.value(n.text)
	w.writeByte('>')
}

// value writes a number of the grammar, where n is the minus.
func (w *printer) value(text string) {
	if text != "" && text[0] == 'n' {
		w.writeByte('-')
		text = text[1:]
	}
	w.write(text)
}

// enclosingExpr writes sizeof (x), decltype(x) and their like.
func (w *printer) enclosingExpr(n *node) {
	switch {
	case w.style == gnu && n.text == "decltype":
		w.write("decltype ")
	case w.style == gnu && n.text == "noexcept ":
		w.write("noexcept")
	case w.style == gnu && n.text == "sizeof... ":
		w.write("sizeof...")
	default:
		w.write(n.text)
	}
	w.parenthesized(n.a)
}

func (w *printer) cast(n *node) {
	w.write(n.text)
	in := w.inTemplate
	w.inTemplate = true
	w.writeByte('<')
	if w.style == gnu {
		w.whole(n.a)
	} else {
		w.left(n.a)
	}
	w.writeByte('>')
	w.inTemplate = in
	w.open('(')
	if w.style == llvm14 {
		w.left(n.b)
	} else {
		w.anyOperand(n.b)
	}
	w.close(')')
}

func (w *printer) sizeofPack(n *node) {
	if pack := &w.nodes[w.behind(n.a)]; w.style == gnu && pack.kind == kindPack {
		w.writeInt(int32(pack.list.size()))
		return
	}
	w.write("sizeof...")
	w.open('(')
	w.expansion(n.a)
	w.close(')')
}

func (w *printer) call(n *node) {
	callee := w.behind(n.a)
	if e := &w.nodes[callee]; w.style == gnu && e.kind == kindEncoding && e.a == 0 {
		callee = e.b
	}
	switch {
	case n.flag && w.style != llvm14, w.style == gnu && !w.isPlain(callee) && w.nodes[callee].kind != kindEncoding:
		w.parenthesized(callee)
	default:
		w.whole(callee)
	}
	w.open('(')
	w.list(n.list)
	w.close(')')
}

// newExpr writes new (…) T(…).
func (w *printer) newExpr(n *node) {
	if n.quals&newGlobal != 0 && w.style != llvm14 {
		w.write("::")
	}
	w.write("new")
	if n.quals&newArray != 0 && w.style != gnu {
		w.write("[]")
	}
	switch {
	case n.a == 0:
		w.writeByte(' ')
	case w.style == llvm22:
		w.parenthesized(n.a)
		w.writeByte(' ')
	default:
		w.writeByte(' ')
		w.parenthesized(n.a)
	}
	if n.a != 0 && w.style == gnu {
		w.writeByte(' ')
	}
	w.whole(n.b)
	if n.list.size() > 0 || w.style == gnu && n.quals&newInit != 0 {
		w.open('(')
		w.list(n.list)
		w.close(')')
	}
}

func (w *printer) deleteExpr(n *node) {
	if n.quals&newGlobal != 0 {
		w.write("::")
	}
	w.write("delete")
	array := n.quals&newArray != 0
	if array {
		w.write("[]")
	}
	if array || w.style != llvm14 {
		w.writeByte(' ')
	}
	if w.style == gnu {
		w.operand(n.a, n, false)
		return
	}
	w.whole(n.a)
}

func (w *printer) param(n *node) {
	if w.style == gnu {
		w.write("{parm#")
		w.writeInt(n.count)
		w.writeByte('}')
		return
	}
	w.write("fp")
	w.write(n.text)
}

// cCastOperands writes what is converted, (T)x or (T)(x, y).
func (w *printer) cCastOperands(n *node) {
	if w.style == gnu && n.list.size() == 1 {
		w.operand(w.lists[n.list.lo], n, false)
		return
	}
	w.open('(')
	w.list(n.list)
	w.close(')')
}

// fold writes (init op ... op pack), or the other way round.
func (w *printer) fold(n *node) {
	w.open('(')
	if n.flag {
		if n.b != 0 {
			w.foldInit(n.b)
			w.infix(n.text)
		}
		w.write("...")
		w.infix(n.text)
		w.foldPack(n.a)
	} else {
		w.foldPack(n.a)
		w.infix(n.text)
		w.write("...")
		if n.b != 0 {
			w.infix(n.text)
			w.foldInit(n.b)
		}
	}
	w.close(')')
}

func (w *printer) foldInit(r ref) {
	switch {
	case w.style == llvm14:
		w.whole(r)
	case w.style == gnu && !w.isPlain(r):
		w.parenthesized(r)
	default:
		w.operandOf(r, precCast+1)
	}
}

func (w *printer) foldPack(r ref) {
	w.open('(')
	w.expansion(r)
	w.close(')')
}

// primary writes literals and lists.
func (w *printer) primary(n *node) {
	switch n.kind {
	case kindInitList:
		w.initList(n)
	case kindBool:
		if n.flag {
			w.write("true")
		} else {
			w.write("false")
		}
	case kindNullptr:
		w.write(w.spelled("nullptr", "decltype(nullptr)"))
	case kindString:
		w.stringLiteral(n)
	case kindLambda:
		w.write("[]")
		w.signature(&w.nodes[n.a])
		w.write("{...}")
	case kindEnum:
		w.parenthesized(n.a)
		w.value(n.text)
	case kindInteger:
		w.integer(n)
	case kindFloat:
		w.float(n)
	case kindBraced:
		w.braced(n)
	case kindBracedRange:
		w.writeByte('[')
		w.join(n.a, " ... ", n.b)
		w.writeByte(']')
		w.bracedValue(n.c)
	default:
		w.requirement(n)
	}
}

func (w *printer) stringLiteral(n *node) {
	if w.style == gnu {
		w.parenthesized(n.a)
		return
	}
	w.write(`"<`)
	w.whole(n.a)
	w.write(`>"`)
}

func (w *printer) integer(n *node) {
	typ := &integers[n.count]
	if typ.cast != "" {
		w.open('(')
		w.write(typ.cast)
		w.close(')')
	}
	w.value(n.text)
	w.write(typ.suffix)
}

func (w *printer) braced(n *node) {
	if n.flag {
		w.writeByte('[')
		w.whole(n.a)
		w.writeByte(']')
	} else {
		w.writeByte('.')
		w.whole(n.a)
	}
	w.bracedValue(n.b)
}

// bracedValue writes what a field or element is set to; chains go without =.
func (w *printer) bracedValue(r ref) {
	switch chained := w.nodes[r].kind == kindBraced || w.nodes[r].kind == kindBracedRange; {
	case chained:
		w.whole(r)
	case w.style == gnu:
		w.writeByte('=')
		w.operand(r, &node{}, false)
	default:
		w.write(" = ")
		w.whole(r)
	}
}

func (w *printer) initList(n *node) {
	if n.a != 0 {
		if w.style != llvm14 && w.quoted(n) {
			return
		}
		w.whole(n.a)
	}
	w.writeByte('{')
	w.list(n.list)
	w.writeByte('}')
}

// requirement writes the parts of requires expressions.
func (w *printer) requirement(n *node) {
	switch n.kind {
	case kindRequires:
		w.requires(n)
	case kindExprNeed:
		w.exprNeed(n)
	case kindTypeNeed:
		w.write(" typename ")
		w.whole(n.a)
		w.writeByte(';')
	case kindNestedNeed:
		w.write(" requires ")
		w.whole(n.a)
		w.writeByte(';')
	}
}

func (w *printer) requires(n *node) {
	w.write("requires")
	if n.a != 0 && w.nodes[n.a].list.size() > 0 {
		w.writeByte(' ')
		w.parenthesized(n.a)
	}
	w.writeByte(' ')
	w.open('{')
	for _, need := range w.lists[n.list.lo:n.list.hi] {
		w.whole(need)
	}
	w.writeByte(' ')
	w.close('}')
}

func (w *printer) exprNeed(n *node) {
	braces := n.flag || n.b != 0
	w.writeByte(' ')
	if braces {
		w.open('{')
	}
	w.whole(n.a)
	if braces {
		w.close('}')
	}
	if n.flag {
		w.write(" noexcept")
	}
	if n.b != 0 {
		w.write(" -> ")
		w.whole(n.b)
	}
	w.writeByte(';')
}
