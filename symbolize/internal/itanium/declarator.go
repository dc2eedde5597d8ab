package itanium

// leftOfType writes the left part of types and declarations.
func (w *printer) leftOfType(n *node) {
	switch n.kind {
	case kindVendorQual:
		w.whole(n.a)
		w.writeByte(' ')
		w.write(n.text)
		w.optional(n.b)
	case kindQualified:
		w.left(n.a)
		w.qualifiers(n.quals)
	case kindPostfix:
		w.left(n.a)
		w.write(w.postfix(n.text))
	case kindElaborated:
		w.write(n.text)
		w.writeByte(' ')
		w.whole(n.a)
	case kindObjCProto:
		w.whole(n.a)
		w.writeByte('<')
		w.write(n.text)
		w.writeByte('>')
	case kindPointer:
		w.pointer(n)
	case kindReference:
		w.reference(n, false)
	case kindMemberPointer:
		w.memberPointer(n)
	case kindArray:
		w.left(n.a)
	case kindFunction:
		w.left(n.a)
		if w.style != gnu || !w.has(n.a, traitRight) {
			w.writeByte(' ')
		}
	case kindNoexcept:
		w.write("noexcept")
		w.writeByte('(')
		w.whole(n.a)
		w.writeByte(')')
	case kindThrowSpec:
		w.write("throw")
		w.writeByte('(')
		w.list(n.list)
		w.writeByte(')')
	case kindEncoding:
		w.encoding(n)
	case kindEnableIf:
		w.write(" [enable_if:")
		w.list(n.list)
		w.writeByte(']')
	case kindVector, kindPixelVector:
		w.vector(n)
	case kindBinaryFP:
		w.write("_Float")
		w.write(n.text)
	default:
		w.leftOfDecl(n)
	}
}

// postfix is how what follows a type is spelled.
func (w *printer) postfix(text string) string {
	switch {
	case w.style == gnu && text == complexSuffix:
		return " _Complex"
	case w.style == gnu && text == imaginarySuffix:
		return " _Imaginary"
	}
	return text
}

// optional writes a node that may be missing.
func (w *printer) optional(r ref) {
	if r != 0 {
		w.whole(r)
	}
}

func (w *printer) parenthesized(r ref) {
	w.writeByte('(')
	w.whole(r)
	w.writeByte(')')
}

// right writes the right part of types and declarations.
func (w *printer) right(r ref) {
	if !w.step() {
		return
	}
	n := &w.nodes[r]
	w.depth++
	switch n.kind {
	case kindQualified:
		w.right(n.a)
	case kindPointer:
		w.pointerRight(n)
	case kindReference:
		w.reference(n, true)
	case kindMemberPointer:
		w.closeIfBound(n.b)
		w.right(n.b)
	case kindArray:
		w.arrayRight(n)
	case kindFunction, kindEncoding:
		w.functionRight(n)
	case kindPack:
		w.right(w.element(n))
	case kindArgument:
		if !w.inLambda {
			w.right(n.a)
		}
	case kindForward:
		w.guarded(n, (*printer).right)
	case kindTypeDecl, kindValueDecl, kindTemplateDecl, kindPackDecl:
		w.declRight(n)
	}
	w.depth--
}

func (w *printer) qualifiers(quals uint8) {
	if quals&qualConst != 0 {
		w.write(" const")
	}
	if quals&qualVolatile != 0 {
		w.write(" volatile")
	}
	if quals&qualRestrict != 0 {
		w.write(" restrict")
	}
}

func (w *printer) functionQualifiers(quals uint8) {
	w.qualifiers(quals)
	switch {
	case quals&qualLvalue != 0:
		w.write(" &")
	case quals&qualRvalue != 0:
		w.write(" &&")
	}
}

// isObjC says that a pointer is to objc_object<protocol>, which is written id<protocol>.
func (w *printer) isObjC(pointee ref) bool {
	n := &w.nodes[pointee]
	return n.kind == kindObjCProto && w.nodes[n.a].kind == kindName && w.nodes[n.a].text == "objc_object"
}

func (w *printer) pointer(n *node) {
	if w.isObjC(n.a) {
		w.write("id<")
		w.write(w.nodes[n.a].text)
		w.writeByte('>')
		return
	}
	w.left(n.a)
	w.openIfBound(n.a)
	w.writeByte('*')
}

func (w *printer) pointerRight(n *node) {
	if w.isObjC(n.a) {
		return
	}
	w.closeIfBound(n.a)
	w.right(n.a)
}

// openIfBound writes the parenthesis that * and & need before the brackets of an array or function.
func (w *printer) openIfBound(r ref) {
	array := w.has(r, traitArray)
	if array {
		w.writeByte(' ')
	}
	if array || w.has(r, traitFunction) {
		w.writeByte('(')
	}
}

func (w *printer) closeIfBound(r ref) {
	if w.has(r, traitArray) || w.has(r, traitFunction) {
		w.writeByte(')')
	}
}

// reference writes one side of a reference. References to references collapse.
func (w *printer) reference(n *node, right bool) {
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

// collapse is what references to references refer to, and whether by &&. It is 0 for those that refer to themselves.
func (w *printer) collapse(n *node) (target ref, rvalue bool) {
	target, rvalue = n.a, n.flag
	for range w.nodes {
		s := &w.nodes[w.syntax(target)]
		if s.kind != kindReference {
			return target, rvalue
		}
		if !w.step() {
			return 0, false
		}
		target, rvalue = s.a, rvalue && s.flag
	}
	return 0, false
}

// syntax is the node that packs and forward references stand for.
func (w *printer) syntax(r ref) ref {
	switch n := &w.nodes[r]; n.kind {
	case kindArgument:
		if !w.inLambda {
			return w.syntax(n.a)
		}
	case kindPack:
		if e := w.element(n); e != 0 && w.step() {
			return w.syntax(e)
		}
	case kindForward:
		if n.busy {
			return r
		}
		n.busy = true
		r = w.syntax(n.a)
		n.busy = false
	}
	return r
}

func (w *printer) memberPointer(n *node) {
	w.left(n.b)
	if w.has(n.b, traitArray) || w.has(n.b, traitFunction) {
		w.writeByte('(')
	} else {
		w.writeByte(' ')
	}
	w.whole(n.a)
	w.write("::*")
}

func (w *printer) arrayRight(n *node) {
	if w.last() != ']' {
		w.writeByte(' ')
	}
	w.writeByte('[')
	w.optional(n.b)
	w.writeByte(']')
	w.right(n.a)
}

// encoding writes a function's return type and name; functionRight what follows.
func (w *printer) encoding(n *node) {
	if n.a != 0 {
		w.left(n.a)
		if !w.has(n.a, traitRight) {
			w.writeByte(' ')
		}
	}
	w.whole(n.b)
}

func (w *printer) functionRight(n *node) {
	w.writeByte('(')
	w.list(n.list)
	w.writeByte(')')
	if n.a != 0 {
		w.right(n.a)
	}
	w.functionQualifiers(n.quals)
	if n.kind == kindFunction {
		if n.b != 0 {
			w.writeByte(' ')
			w.whole(n.b)
		}
		return
	}
	w.optional(n.c)
}

func (w *printer) vector(n *node) {
	switch {
	case n.kind == kindPixelVector:
		w.write("pixel vector[")
		w.whole(n.a)
		w.writeByte(']')
	case w.style == gnu:
		w.whole(n.a)
		w.write(" __vector(")
		w.optional(n.b)
		w.writeByte(')')
	default:
		w.whole(n.a)
		w.write(" vector[")
		w.optional(n.b)
		w.writeByte(']')
	}
}

// traitName is one of a node's traits.
type traitName uint8

const (
	traitRight traitName = iota
	traitArray
	traitFunction
)

func (n *node) trait(t traitName) trait {
	switch t {
	case traitArray:
		return n.array
	case traitFunction:
		return n.function
	}
	return n.right
}

// has says whether a node has a trait, with the packs' element that is printed.
func (w *printer) has(r ref, t traitName) bool {
	n := &w.nodes[r]
	if known := n.trait(t); known != unknown || !w.step() {
		return known == yes
	}
	switch n.kind {
	case kindArgument:
		return !w.inLambda && w.has(n.a, t)
	case kindPack:
		return w.has(w.element(n), t)
	case kindForward:
		if n.busy {
			return false
		}
		n.busy = true
		answer := w.has(n.a, t)
		n.busy = false
		return answer
	case kindMemberPointer:
		return w.has(n.b, t)
	}
	return w.has(n.a, t)
}

// leftOfDecl writes the left part of a template parameter's declaration.
func (w *printer) leftOfDecl(n *node) {
	switch n.kind {
	case kindSynthetic:
		w.write(n.text)
		if w.style == gnu {
			w.writeInt(n.count)
		} else if n.count > 0 {
			w.writeInt(n.count - 1)
		}
	case kindAuto:
		w.auto(n)
	case kindTypeDecl:
		w.write(w.spelled("typename ", "typename"))
	case kindValueDecl:
		w.left(n.b)
		if w.style != gnu && !w.has(n.b, traitRight) {
			w.writeByte(' ')
		}
	case kindTemplateDecl:
		w.templateDecl(n)
	case kindPackDecl:
		w.left(n.a)
		w.write("...")
	default:
		w.expr(n)
	}
}

// auto writes the type of a generic lambda's parameter, which the GNU tools number.
func (w *printer) auto(n *node) {
	w.write("auto")
	if w.style == gnu {
		w.writeByte(':')
		w.writeInt(n.count + 1)
	}
}

func (w *printer) templateDecl(n *node) {
	unnamed := w.unnamed
	w.unnamed = true
	w.write("template<")
	w.list(n.list)
	w.unnamed = unnamed
	w.write(w.spelled("> typename ", "> class"))
}

func (w *printer) declRight(n *node) {
	switch n.kind {
	case kindTypeDecl:
		w.declName(n.a, true)
	case kindValueDecl:
		w.declName(n.a, !w.has(n.b, traitRight))
		w.right(n.b)
	case kindTemplateDecl:
		w.declName(n.a, true)
	case kindPackDecl:
		w.right(n.a)
	}
}

// declName writes the name of a parameter. Behind the type the GNU tools leave a blank, or the name out.
func (w *printer) declName(name ref, behind bool) {
	if w.style == gnu && behind {
		if w.unnamed {
			return
		}
		w.writeByte(' ')
	}
	w.whole(name)
}
