package ast

// leftOfType prints the left part of types, and calls leftOfDecl for other nodes.
func (w *Printer) leftOfType(n *Node) {
	switch n.Kind {
	case VendorQual:
		w.whole(n.A)
		w.writeByte(' ')
		w.write(n.Text)
		w.optional(n.B)
	case Qualified:
		w.left(n.A)
		w.qualifiers(n.Quals)
	case Postfix:
		w.left(n.A)
		w.write(w.postfix(n.Text))
	case Elaborated:
		w.write(n.Text)
		w.writeByte(' ')
		w.whole(n.A)
	case ObjCProto:
		w.whole(n.A)
		w.writeByte('<')
		w.write(n.Text)
		w.writeByte('>')
	case Pointer:
		w.pointer(n)
	case Reference:
		w.reference(n, false)
	case MemberPointer:
		w.memberPointer(n)
	case Array:
		w.left(n.A)
	case Function:
		w.left(n.A)
		if w.style != GNU || !w.has(n.A, traitRight) {
			w.writeByte(' ')
		}
	case Noexcept:
		w.write("noexcept")
		w.writeByte('(')
		w.whole(n.A)
		w.writeByte(')')
	case ThrowSpec:
		w.write("throw")
		w.writeByte('(')
		w.list(n.List)
		w.writeByte(')')
	case Encoding:
		w.encoding(n)
	case EnableIf:
		w.write(" [enable_if:")
		w.list(n.List)
		w.writeByte(']')
	case Vector, PixelVector:
		w.vector(n)
	case BinaryFP:
		w.write("_Float")
		w.write(n.Text)
	default:
		w.leftOfDecl(n)
	}
}

// postfix returns the text after a type in the current style.
func (w *Printer) postfix(text string) string {
	switch {
	case w.style == GNU && text == ComplexSuffix:
		return " _Complex"
	case w.style == GNU && text == ImaginarySuffix:
		return " _Imaginary"
	}
	return text
}

// optional prints a node, if there is one.
func (w *Printer) optional(r Ref) {
	if r != 0 {
		w.whole(r)
	}
}

func (w *Printer) parenthesized(r Ref) {
	w.writeByte('(')
	w.whole(r)
	w.writeByte(')')
}

// right prints the right part of types and declarations.
func (w *Printer) right(r Ref) {
	if !w.step() {
		return
	}
	n := &w.nodes[r]
	w.depth++
	switch n.Kind {
	case Qualified:
		w.right(n.A)
	case Pointer:
		w.pointerRight(n)
	case Reference:
		w.reference(n, true)
	case MemberPointer:
		w.closeIfBound(n.B)
		w.right(n.B)
	case Array:
		w.arrayRight(n)
	case Function, Encoding:
		w.functionRight(n)
	case Pack:
		w.right(w.element(n))
	case Argument:
		if !w.inLambda {
			w.right(n.A)
		}
	case Forward:
		w.guarded(n, (*Printer).right)
	case TypeDecl, ValueDecl, TemplateDecl, PackDecl:
		w.declRight(n)
	}
	w.depth--
}

func (w *Printer) qualifiers(quals uint8) {
	if quals&QualConst != 0 {
		w.write(" const")
	}
	if quals&QualVolatile != 0 {
		w.write(" volatile")
	}
	if quals&QualRestrict != 0 {
		w.write(" restrict")
	}
}

func (w *Printer) functionQualifiers(quals uint8) {
	w.qualifiers(quals)
	switch {
	case quals&QualLvalue != 0:
		w.write(" &")
	case quals&QualRvalue != 0:
		w.write(" &&")
	}
}

// isObjC reports whether a type is objc_object<protocol>. A pointer to it is printed as
// id<protocol>.
func (w *Printer) isObjC(pointee Ref) bool {
	n := &w.nodes[pointee]
	return n.Kind == ObjCProto && w.nodes[n.A].Kind == Name && w.nodes[n.A].Text == "objc_object"
}

func (w *Printer) pointer(n *Node) {
	if w.isObjC(n.A) {
		w.write("id<")
		w.write(w.nodes[n.A].Text)
		w.writeByte('>')
		return
	}
	w.left(n.A)
	w.openIfBound(n.A)
	w.writeByte('*')
}

func (w *Printer) pointerRight(n *Node) {
	if w.isObjC(n.A) {
		return
	}
	w.closeIfBound(n.A)
	w.right(n.A)
}

// openIfBound prints the parenthesis that * and & need before arrays and functions.
func (w *Printer) openIfBound(r Ref) {
	array := w.has(r, traitArray)
	if array {
		w.writeByte(' ')
	}
	if array || w.has(r, traitFunction) {
		w.writeByte('(')
	}
}

func (w *Printer) closeIfBound(r Ref) {
	if w.has(r, traitArray) || w.has(r, traitFunction) {
		w.writeByte(')')
	}
}

// reference prints one part of a reference. References to references collapse.
func (w *Printer) reference(n *Node, right bool) {
	if n.busy {
		return
	}
	n.busy = true
	defer func() { n.busy = false }()
	target, rvalue := w.collapse(n)
	switch {
	case target == 0:
	case right:
		w.closeIfBound(target)
		w.right(target)
	default:
		w.left(target)
		w.openIfBound(target)
		if rvalue {
			w.write("&&")
		} else {
			w.writeByte('&')
		}
	}
}

// collapse returns the type that a chain of references refers to, and reports whether the collapsed
// reference is &&. The type is 0 if the chain is a cycle.
func (w *Printer) collapse(n *Node) (target Ref, rvalue bool) {
	target, rvalue = n.A, n.Flag
	for range w.nodes {
		s := &w.nodes[w.syntax(target)]
		if s.Kind != Reference {
			return target, rvalue
		}
		if !w.step() {
			return 0, false
		}
		target, rvalue = s.A, rvalue && s.Flag
	}
	return 0, false
}

// syntax returns the node that a pack, an argument or a forward reference refers to.
func (w *Printer) syntax(r Ref) Ref {
	switch n := &w.nodes[r]; n.Kind {
	case Argument:
		if !w.inLambda {
			return w.syntax(n.A)
		}
	case Pack:
		if e := w.element(n); e != 0 && w.step() {
			return w.syntax(e)
		}
	case Forward:
		if n.busy {
			return r
		}
		n.busy = true
		r = w.syntax(n.A)
		n.busy = false
	}
	return r
}

func (w *Printer) memberPointer(n *Node) {
	w.left(n.B)
	if w.has(n.B, traitArray) || w.has(n.B, traitFunction) {
		w.writeByte('(')
	} else {
		w.writeByte(' ')
	}
	w.whole(n.A)
	w.write("::*")
}

func (w *Printer) arrayRight(n *Node) {
	if w.last() != ']' {
		w.writeByte(' ')
	}
	w.writeByte('[')
	w.optional(n.B)
	w.writeByte(']')
	w.right(n.A)
}

// encoding prints the return type and the name of a function; functionRight prints the rest.
func (w *Printer) encoding(n *Node) {
	if n.A != 0 {
		w.left(n.A)
		if !w.has(n.A, traitRight) {
			w.writeByte(' ')
		}
	}
	w.whole(n.B)
}

func (w *Printer) functionRight(n *Node) {
	w.writeByte('(')
	w.list(n.List)
	w.writeByte(')')
	if n.A != 0 {
		w.right(n.A)
	}
	w.functionQualifiers(n.Quals)
	if n.Kind == Function {
		if n.B != 0 {
			w.writeByte(' ')
			w.whole(n.B)
		}
		return
	}
	w.optional(n.C)
}

func (w *Printer) vector(n *Node) {
	switch {
	case n.Kind == PixelVector:
		w.write("pixel vector[")
		w.whole(n.A)
		w.writeByte(']')
	case w.style == GNU:
		w.whole(n.A)
		w.write(" __vector(")
		w.optional(n.B)
		w.writeByte(')')
	default:
		w.whole(n.A)
		w.write(" vector[")
		w.optional(n.B)
		w.writeByte(']')
	}
}

// traitName selects a trait of a node.
type traitName uint8

const (
	traitRight traitName = iota
	traitArray
	traitFunction
)

func (n *Node) trait(t traitName) trait {
	switch t {
	case traitArray:
		return n.array
	case traitFunction:
		return n.function
	}
	return n.right
}

// has reports whether a node has a trait, given the current element of packs.
func (w *Printer) has(r Ref, t traitName) bool {
	n := &w.nodes[r]
	if known := n.trait(t); known != unknown || !w.step() {
		return known == yes
	}
	switch n.Kind {
	case Argument:
		return !w.inLambda && w.has(n.A, t)
	case Pack:
		return w.has(w.element(n), t)
	case Forward:
		if n.busy {
			return false
		}
		n.busy = true
		answer := w.has(n.A, t)
		n.busy = false
		return answer
	case MemberPointer:
		return w.has(n.B, t)
	}
	return w.has(n.A, t)
}

// leftOfDecl prints the left part of declarations of template parameters, and calls expr for other
// nodes.
func (w *Printer) leftOfDecl(n *Node) {
	switch n.Kind {
	case Synthetic:
		w.write(n.Text)
		if w.style == GNU {
			w.writeInt(n.Count)
		} else if n.Count > 0 {
			w.writeInt(n.Count - 1)
		}
	case Auto:
		w.auto(n)
	case TypeDecl:
		w.write(w.spelled("typename ", "typename"))
	case ValueDecl:
		w.left(n.B)
		if w.style != GNU && !w.has(n.B, traitRight) {
			w.writeByte(' ')
		}
	case TemplateDecl:
		w.templateDecl(n)
	case PackDecl:
		w.left(n.A)
		w.write("...")
	default:
		w.expr(n)
	}
}

// auto prints the type of a parameter of a generic lambda. c++filt numbers it.
func (w *Printer) auto(n *Node) {
	w.write("auto")
	if w.style == GNU {
		w.writeByte(':')
		w.writeInt(n.Count + 1)
	}
}

func (w *Printer) templateDecl(n *Node) {
	unnamed := w.unnamed
	w.unnamed = true
	w.write("template<")
	w.list(n.List)
	w.unnamed = unnamed
	w.write(w.spelled("> typename ", "> class"))
}

func (w *Printer) declRight(n *Node) {
	switch n.Kind {
	case TypeDecl:
		w.declName(n.A, true)
	case ValueDecl:
		w.declName(n.A, !w.has(n.B, traitRight))
		w.right(n.B)
	case TemplateDecl:
		w.declName(n.A, true)
	case PackDecl:
		w.right(n.A)
	}
}

// declName prints the name of a template parameter. If it follows the type, c++filt prints a space,
// or omits the name.
func (w *Printer) declName(name Ref, afterType bool) {
	if w.style == GNU && afterType {
		if w.unnamed {
			return
		}
		w.writeByte(' ')
	}
	w.whole(name)
}
