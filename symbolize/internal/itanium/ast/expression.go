package ast

// expr prints expressions.
func (w *Printer) expr(n *Node) {
	switch n.Kind {
	case Binary:
		w.binary(n)
	case Index:
		w.operand(n.A)
		w.writeByte('[')
		w.whole(n.B)
		w.writeByte(']')
	case PostfixOp:
		w.operand(n.A)
		w.write(n.Text)
	case PrefixOp:
		w.prefix(n)
	case Conditional:
		w.conditional(n)
	case Member:
		w.member(n)
	case Subobject:
		w.subobject(n)
	case Enclosing:
		w.enclosingExpr(n)
	case Cast:
		w.cast(n)
	case SizeofPack:
		w.sizeofPack(n)
	case Call:
		w.call(n)
	case NewExpr:
		w.newExpr(n)
	case DeleteExpr:
		w.deleteExpr(n)
	case Param:
		w.param(n)
	case CCast:
		w.parenthesized(n.A)
		w.cCastOperands(n)
	case MemberCast:
		w.parenthesized(n.A)
		w.parenthesized(n.B)
	case Fold:
		w.fold(n)
	case Throw:
		w.write("throw ")
		w.whole(n.A)
	default:
		w.primary(n)
	}
}

// operand prints an operand. LLVM puts every operand in parentheses; c++filt does not for names.
func (w *Printer) operand(r Ref) {
	if w.style == GNU && w.isPlain(r) {
		w.whole(r)
	} else {
		w.parenthesized(r)
	}
}

// isPlain reports whether c++filt prints an operand without parentheses.
func (w *Printer) isPlain(r Ref) bool {
	switch w.nodes[w.resolve(r)].Kind {
	case Name, Scoped, InitList, Param:
		return true
	}
	return false
}

func (w *Printer) binary(n *Node) {
	angle := n.Text == ">" || w.style == GNU && n.Text == ">>"
	if angle {
		w.writeByte('(')
	}
	w.operand(n.A)
	w.infix(n.Text)
	w.operand(n.B)
	if angle {
		w.writeByte(')')
	}
}

// infix prints a binary operator.
func (w *Printer) infix(symbol string) {
	if w.style == GNU {
		w.write(symbol)
		return
	}
	w.writeByte(' ')
	w.write(symbol)
	w.writeByte(' ')
}

func (w *Printer) prefix(n *Node) {
	w.write(n.Text)
	if w.style != GNU {
		w.operand(n.A)
		return
	}
	r := w.resolve(n.A)
	if e := &w.nodes[r]; n.Text == "&" && e.Kind == Encoding && e.Quals == 0 {
		r = e.B // c++filt omits the parameters of &function
	}
	w.operand(r)
}

func (w *Printer) conditional(n *Node) {
	w.operand(n.A)
	w.write(w.spelled(" ? ", "?"))
	w.operand(n.B)
	w.write(" : ")
	w.operand(n.C)
}

// spelled returns the spelling of the current style.
func (w *Printer) spelled(llvm, gnuTools string) string {
	if w.style == GNU {
		return gnuTools
	}
	return llvm
}

func (w *Printer) member(n *Node) {
	switch {
	case w.style == LLVM && n.Text == "->*":
		w.parenthesized(n.A)
		w.write(" ->* ")
		w.parenthesized(n.B)
	case w.style == LLVM:
		w.join(n.A, n.Text, n.B)
	default:
		w.operand(n.A)
		w.write(n.Text)
		w.operand(n.B)
	}
}

func (w *Printer) subobject(n *Node) {
	w.whole(n.B)
	w.write(".<")
	w.whole(n.A)
	w.write(" at offset ")
	if n.Text == "" {
		w.writeByte('0')
	}
	w.value(n.Text)
	w.writeByte('>')
}

// value prints a number. The mangling writes a minus sign as n.
func (w *Printer) value(text string) {
	if text != "" && text[0] == 'n' {
		w.writeByte('-')
		text = text[1:]
	}
	w.write(text)
}

// enclosingExpr prints sizeof (x), decltype(x) and similar.
func (w *Printer) enclosingExpr(n *Node) {
	switch {
	case w.style == GNU && n.Text == "decltype":
		w.write("decltype ")
	case w.style == GNU && n.Text == "noexcept ":
		w.write("noexcept")
	case w.style == GNU && n.Text == "sizeof... ":
		w.write("sizeof...")
	default:
		w.write(n.Text)
	}
	w.parenthesized(n.A)
}

func (w *Printer) cast(n *Node) {
	w.write(n.Text)
	w.writeByte('<')
	if w.style == GNU {
		w.whole(n.A)
	} else {
		w.left(n.A)
	}
	w.writeByte('>')
	w.writeByte('(')
	if w.style == LLVM {
		w.left(n.B)
	} else {
		w.whole(n.B)
	}
	w.writeByte(')')
}

func (w *Printer) sizeofPack(n *Node) {
	if pack := &w.nodes[w.resolve(n.A)]; w.style == GNU && pack.Kind == Pack {
		w.writeInt(int32(pack.List.Size()))
		return
	}
	w.write("sizeof...")
	w.writeByte('(')
	w.expansion(n.A)
	w.writeByte(')')
}

func (w *Printer) call(n *Node) {
	callee := w.resolve(n.A)
	if e := &w.nodes[callee]; w.style == GNU && e.Kind == Encoding && e.A == 0 {
		callee = e.B
	}
	switch {
	case w.style == GNU && !w.isPlain(callee) && w.nodes[callee].Kind != Encoding:
		w.parenthesized(callee)
	default:
		w.whole(callee)
	}
	w.writeByte('(')
	w.list(n.List)
	w.writeByte(')')
}

// newExpr prints new (…) T(…).
func (w *Printer) newExpr(n *Node) {
	if n.Quals&NewGlobal != 0 && w.style != LLVM {
		w.write("::")
	}
	w.write("new")
	if n.Quals&NewArray != 0 && w.style != GNU {
		w.write("[]")
	}
	w.writeByte(' ')
	if n.A != 0 {
		w.parenthesized(n.A)
	}
	if n.A != 0 && w.style == GNU {
		w.writeByte(' ')
	}
	w.whole(n.B)
	if n.List.Size() > 0 || w.style == GNU && n.Quals&NewInit != 0 {
		w.writeByte('(')
		w.list(n.List)
		w.writeByte(')')
	}
}

func (w *Printer) deleteExpr(n *Node) {
	if n.Quals&NewGlobal != 0 {
		w.write("::")
	}
	w.write("delete")
	array := n.Quals&NewArray != 0
	if array {
		w.write("[]")
	}
	if array || w.style != LLVM {
		w.writeByte(' ')
	}
	if w.style == GNU {
		w.operand(n.A)
		return
	}
	w.whole(n.A)
}

func (w *Printer) param(n *Node) {
	if w.style == GNU {
		w.write("{parm#")
		w.writeInt(n.Count)
		w.writeByte('}')
		return
	}
	w.write("fp")
	w.write(n.Text)
}

// cCastOperands prints the operands of (T)x and (T)(x, y).
func (w *Printer) cCastOperands(n *Node) {
	if w.style == GNU && n.List.Size() == 1 {
		w.operand(w.lists[n.List.Lo])
		return
	}
	w.writeByte('(')
	w.list(n.List)
	w.writeByte(')')
}

// fold prints (init op ... op pack) or (pack op ... op init).
func (w *Printer) fold(n *Node) {
	w.writeByte('(')
	if n.Flag {
		if n.B != 0 {
			w.foldInit(n.B)
			w.infix(n.Text)
		}
		w.write("...")
		w.infix(n.Text)
		w.foldPack(n.A)
	} else {
		w.foldPack(n.A)
		w.infix(n.Text)
		w.write("...")
		if n.B != 0 {
			w.infix(n.Text)
			w.foldInit(n.B)
		}
	}
	w.writeByte(')')
}

func (w *Printer) foldInit(r Ref) {
	switch {
	case w.style == LLVM:
		w.whole(r)
	case w.style == GNU && !w.isPlain(r):
		w.parenthesized(r)
	default:
		w.whole(r)
	}
}

func (w *Printer) foldPack(r Ref) {
	w.writeByte('(')
	w.expansion(r)
	w.writeByte(')')
}

// primary prints literals and lists.
func (w *Printer) primary(n *Node) {
	switch n.Kind {
	case InitList:
		w.initList(n)
	case Bool:
		if n.Flag {
			w.write("true")
		} else {
			w.write("false")
		}
	case Nullptr:
		w.write(w.spelled("nullptr", "decltype(nullptr)"))
	case String:
		w.stringLiteral(n)
	case Lambda:
		w.write("[]")
		w.signature(&w.nodes[n.A])
		w.write("{...}")
	case Enum:
		w.parenthesized(n.A)
		w.value(n.Text)
	case Integer:
		w.integer(n)
	case Float:
		w.float(n)
	case Braced:
		w.braced(n)
	case BracedRange:
		w.writeByte('[')
		w.join(n.A, " ... ", n.B)
		w.writeByte(']')
		w.bracedValue(n.C)
	}
}

func (w *Printer) stringLiteral(n *Node) {
	if w.style == GNU {
		w.parenthesized(n.A)
		return
	}
	w.write(`"<`)
	w.whole(n.A)
	w.write(`>"`)
}

func (w *Printer) integer(n *Node) {
	typ := &integers[n.Count]
	if typ.cast != "" {
		w.writeByte('(')
		w.write(typ.cast)
		w.writeByte(')')
	}
	w.value(n.Text)
	w.write(typ.suffix)
}

func (w *Printer) braced(n *Node) {
	if n.Flag {
		w.writeByte('[')
		w.whole(n.A)
		w.writeByte(']')
	} else {
		w.writeByte('.')
		w.whole(n.A)
	}
	w.bracedValue(n.B)
}

// bracedValue prints the value of a field or element. There is no = before another designator.
func (w *Printer) bracedValue(r Ref) {
	switch chained := w.nodes[r].Kind == Braced || w.nodes[r].Kind == BracedRange; {
	case chained:
		w.whole(r)
	case w.style == GNU:
		w.writeByte('=')
		w.operand(r)
	default:
		w.write(" = ")
		w.whole(r)
	}
}

func (w *Printer) initList(n *Node) {
	if n.A != 0 {
		if w.style != LLVM && w.quoted(n) {
			return
		}
		w.whole(n.A)
	}
	w.writeByte('{')
	w.list(n.List)
	w.writeByte('}')
}
