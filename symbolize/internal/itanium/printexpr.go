package itanium

// expr writes expressions.
func (w *printer) expr(n *node) {
	switch n.kind {
	case kindBinary:
		w.binary(n)
	case kindIndex:
		w.operand(n.a)
		w.writeByte('[')
		w.whole(n.b)
		w.writeByte(']')
	case kindPostfixOp:
		w.operand(n.a)
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

// operand writes an operand of an operation: LLVM puts each in parentheses, the GNU tools all but names.
func (w *printer) operand(r ref) {
	if w.style == gnu && w.isPlain(r) {
		w.whole(r)
	} else {
		w.parenthesized(r)
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

func (w *printer) binary(n *node) {
	angle := n.text == ">" || w.style == gnu && n.text == ">>"
	if angle {
		w.writeByte('(')
	}
	w.operand(n.a)
	w.infix(n.text)
	w.operand(n.b)
	if angle {
		w.writeByte(')')
	}
}

// infix writes an operator between its operands.
func (w *printer) infix(symbol string) {
	if w.style == gnu {
		w.write(symbol)
		return
	}
	w.writeByte(' ')
	w.write(symbol)
	w.writeByte(' ')
}

func (w *printer) prefix(n *node) {
	w.write(n.text)
	if w.style != gnu {
		w.operand(n.a)
		return
	}
	r := w.behind(n.a)
	if e := &w.nodes[r]; n.text == "&" && e.kind == kindEncoding && e.quals == 0 {
		r = e.b // the address of a function goes without its parameters
	}
	w.operand(r)
}

func (w *printer) conditional(n *node) {
	w.operand(n.a)
	w.write(w.spelled(" ? ", "?"))
	w.operand(n.b)
	w.write(" : ")
	w.operand(n.c)
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
	case w.style == llvm && n.text == "->*":
		w.parenthesized(n.a)
		w.write(" ->* ")
		w.parenthesized(n.b)
	case w.style == llvm:
		w.join(n.a, n.text, n.b)
	default:
		w.operand(n.a)
		w.write(n.text)
		w.operand(n.b)
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
	w.writeByte('<')
	if w.style == gnu {
		w.whole(n.a)
	} else {
		w.left(n.a)
	}
	w.writeByte('>')
	w.writeByte('(')
	if w.style == llvm {
		w.left(n.b)
	} else {
		w.whole(n.b)
	}
	w.writeByte(')')
}

func (w *printer) sizeofPack(n *node) {
	if pack := &w.nodes[w.behind(n.a)]; w.style == gnu && pack.kind == kindPack {
		w.writeInt(int32(pack.list.size()))
		return
	}
	w.write("sizeof...")
	w.writeByte('(')
	w.expansion(n.a)
	w.writeByte(')')
}

func (w *printer) call(n *node) {
	callee := w.behind(n.a)
	if e := &w.nodes[callee]; w.style == gnu && e.kind == kindEncoding && e.a == 0 {
		callee = e.b
	}
	switch {
	case w.style == gnu && !w.isPlain(callee) && w.nodes[callee].kind != kindEncoding:
		w.parenthesized(callee)
	default:
		w.whole(callee)
	}
	w.writeByte('(')
	w.list(n.list)
	w.writeByte(')')
}

// newExpr writes new (…) T(…).
func (w *printer) newExpr(n *node) {
	if n.quals&newGlobal != 0 && w.style != llvm {
		w.write("::")
	}
	w.write("new")
	if n.quals&newArray != 0 && w.style != gnu {
		w.write("[]")
	}
	w.writeByte(' ')
	if n.a != 0 {
		w.parenthesized(n.a)
	}
	if n.a != 0 && w.style == gnu {
		w.writeByte(' ')
	}
	w.whole(n.b)
	if n.list.size() > 0 || w.style == gnu && n.quals&newInit != 0 {
		w.writeByte('(')
		w.list(n.list)
		w.writeByte(')')
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
	if array || w.style != llvm {
		w.writeByte(' ')
	}
	if w.style == gnu {
		w.operand(n.a)
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
		w.operand(w.lists[n.list.lo])
		return
	}
	w.writeByte('(')
	w.list(n.list)
	w.writeByte(')')
}

// fold writes (init op ... op pack), or the other way round.
func (w *printer) fold(n *node) {
	w.writeByte('(')
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
	w.writeByte(')')
}

func (w *printer) foldInit(r ref) {
	switch {
	case w.style == llvm:
		w.whole(r)
	case w.style == gnu && !w.isPlain(r):
		w.parenthesized(r)
	default:
		w.whole(r)
	}
}

func (w *printer) foldPack(r ref) {
	w.writeByte('(')
	w.expansion(r)
	w.writeByte(')')
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
		w.writeByte('(')
		w.write(typ.cast)
		w.writeByte(')')
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
		w.operand(r)
	default:
		w.write(" = ")
		w.whole(r)
	}
}

func (w *printer) initList(n *node) {
	if n.a != 0 {
		if w.style != llvm && w.quoted(n) {
			return
		}
		w.whole(n.a)
	}
	w.writeByte('{')
	w.list(n.list)
	w.writeByte('}')
}
