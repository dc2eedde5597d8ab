package itanium

import "strconv"

// style is how things are spelled.
type style uint8

const (
	llvm style = iota
	gnu
)

// printer writes the text of nodes. Declarations are written from the inside out, and so types have a left and a right
// part, of which the name of what they declare is in the middle: int (*x)[3].
type printer struct {
	nodes []node
	lists []ref
	style style

	out      []byte
	start    int   // of this name in out
	limit    int   // of its length
	copied   []ref // nodes that know where their text is, in the order of its ends
	steps    int
	depth    int
	tooLarge bool

	packIndex, packMax int32 // the element of the packs that is printed, and how many there are; or noPack
	inLambda           bool  // in the parameters of a lambda
	unnamed            bool  // the parameters of a template template parameter are printed, whose names the GNU tools leave out
}

// noPack says that no pack has been met in an expansion.
const noPack = -1

// print appends the text of a node.
func (w *printer) print(dst []byte, p *parser, root ref, s style) ([]byte, bool) {
	*w = printer{nodes: p.nodes, lists: p.lists, style: s, out: dst, start: len(dst), limit: maxOutput(p.src), copied: w.copied[:0], packIndex: noPack, packMax: noPack}
	w.whole(root)
	out := w.out
	w.out, w.nodes, w.lists = nil, nil, nil
	return out, !w.tooLarge && len(out)-w.start <= w.limit
}

// step counts the work, and says whether to go on.
func (w *printer) step() bool {
	w.steps++
	if w.steps > maxSteps || w.depth > maxDepth*4 || len(w.out)-w.start > w.limit {
		w.tooLarge = true
	}
	return !w.tooLarge
}

func (w *printer) write(s string) { w.out = append(w.out, s...) }

func (w *printer) writeByte(c byte) { w.out = append(w.out, c) }

func (w *printer) writeInt(n int32) { w.out = strconv.AppendInt(w.out, int64(n), 10) }

// last is the byte that was written last.
func (w *printer) last() byte {
	if len(w.out) == w.start {
		return 0
	}
	return w.out[len(w.out)-1]
}

// rewind takes back what was written behind an offset of out.
func (w *printer) rewind(to int) {
	w.out = w.out[:to]
	for n := len(w.copied); n > 0 && int(w.nodes[w.copied[n-1]].out.hi) > to; n-- {
		w.nodes[w.copied[n-1]].out = span{}
		w.copied = w.copied[:n-1]
	}
}

// whole writes a node with its left and right part.
func (w *printer) whole(r ref) {
	w.left(r)
	if w.nodes[r].right != no {
		w.right(r)
	}
}

// minCopied is the length from which texts are copied.
const minCopied = 16

// left writes the left part of a node, which is all of it but for types and declarations. It is copied if it is all, does
// not vary, and has been written before.
func (w *printer) left(r ref) {
	n := &w.nodes[r]
	if n.out.hi > 0 {
		w.out = append(w.out, w.out[n.out.lo:n.out.hi]...)
		return
	}
	if !w.step() {
		return
	}
	w.depth++
	from := len(w.out)
	w.leftOf(n)
	w.depth--
	if n.varies == 0 && n.right == no && len(w.out)-from >= minCopied && len(w.out) < 1<<30 {
		n.out = span{int32(from), int32(len(w.out))}
		w.copied = append(w.copied, r)
	}
}

// leftOf writes names here, and hands types and expressions to others.
func (w *printer) leftOf(n *node) {
	switch n.kind {
	case kindName:
		w.write(n.text)
	case kindBuiltin:
		w.builtin(n)
	case kindList, kindArgPack:
		w.list(n.list)
	case kindClone:
		w.clone(n)
	case kindABITag:
		w.left(n.a)
		w.write("[abi:")
		w.write(n.text)
		w.writeByte(']')
	case kindConversion:
		w.write("operator ")
		w.whole(n.a)
	case kindLiteralOp:
		w.write(`operator"" `)
		w.whole(n.a)
	case kindSpecial:
		w.write(w.special(n.text))
		w.whole(n.a)
	case kindCtorVtable:
		w.write("construction vtable for ")
		w.join(n.a, "-in-", n.b)
	case kindScoped:
		w.join(n.a, "::", n.b)
	case kindLocal:
		w.local(n)
	case kindGlobal:
		if w.style == gnu { // LLVM forgets it
			w.write("::")
		}
		w.whole(n.a)
	case kindTemplate:
		w.template(n)
	case kindTemplateArgs:
		w.templateArgs(n)
	case kindPack:
		w.left(w.element(n))
	case kindExpansion:
		w.expansion(n.a)
	case kindArgument:
		w.argument(n)
	case kindForward:
		w.guarded(n, (*printer).left)
	case kindStd:
		w.std(n)
	case kindCtor:
		w.structor(n)
	case kindDtorName:
		w.writeByte('~')
		w.left(n.a)
	case kindUnnamed:
		w.unnamedType(n)
	case kindClosure:
		w.closure(n)
	case kindBinding:
		w.writeByte('[')
		w.list(n.list)
		w.writeByte(']')
	default:
		w.leftOfType(n)
	}
}

// join writes two nodes with something between.
func (w *printer) join(a ref, between string, b ref) {
	w.whole(a)
	w.write(between)
	w.whole(b)
}

func (w *printer) builtin(n *node) {
	if w.style == gnu && n.text == nullptrType {
		w.write("decltype(nullptr)")
		return
	}
	w.write(n.text)
}

// special is what is written in front of what a special name belongs to.
func (w *printer) special(text string) string {
	switch {
	case w.style == gnu && text == threadWrapper:
		return "TLS wrapper function for "
	case w.style == gnu && text == threadInit:
		return "TLS init function for "
	}
	return text
}

// list writes elements with commas, but for those that write nothing: expansions of empty packs.
func (w *printer) list(list span) {
	first := true
	for _, e := range w.lists[list.lo:list.hi] {
		before := len(w.out)
		if !first {
			w.write(", ")
		}
		after := len(w.out)
		w.whole(e)
		if len(w.out) == after {
			w.rewind(before)
			continue
		}
		first = false
	}
}

// local writes the name of what is in a function. The GNU style leaves out the function's return type, and numbers default arguments.
func (w *printer) local(n *node) {
	if w.style != gnu {
		w.join(n.a, "::", n.b)
		return
	}
	inLambda := w.inLambda
	w.inLambda = false // others have other parameters
	w.enclosing(n.a)
	w.inLambda = inLambda
	w.write("::")
	if n.count > 0 {
		w.write("{default arg#")
		w.writeInt(n.count)
		w.write("}::")
	}
	w.whole(n.b)
}

// enclosing writes the function that a local name is in, without its return type and parameters.
func (w *printer) enclosing(r ref) {
	n := &w.nodes[r]
	if n.kind != kindEncoding {
		w.whole(r)
		return
	}
	w.whole(n.b)
	w.write("()")
	w.functionQualifiers(n.quals)
}

// clone writes f() (.isra.0.cold).
func (w *printer) clone(n *node) {
	w.whole(n.a)
	w.write(" (")
	w.write(n.text)
	w.writeByte(')')
}

func (w *printer) template(n *node) {
	w.whole(n.a)
	if w.style == gnu && w.last() == '<' {
		w.writeByte(' ') // operator< <int>
	}
	w.whole(n.b)
}

func (w *printer) templateArgs(n *node) {
	w.writeByte('<')
	w.list(n.list)
	if w.last() == '>' {
		w.writeByte(' ')
	}
	w.writeByte('>')
}

// element is the element of a pack that is printed; 0 if it has no such.
func (w *printer) element(n *node) ref {
	if w.packMax == noPack {
		w.packMax, w.packIndex = int32(n.list.size()), 0
	}
	if int(w.packIndex) < n.list.size() {
		return w.lists[n.list.lo+w.packIndex]
	}
	return 0
}

// expansion writes a pattern once for each element of the packs in it.
func (w *printer) expansion(pattern ref) {
	index, size := w.packIndex, w.packMax
	w.packIndex, w.packMax = noPack, noPack
	start := len(w.out)
	w.whole(pattern)
	switch w.packMax {
	case noPack: // of function parameters
		if w.style == gnu && !w.isPlain(pattern) {
			w.rewind(start)
			w.parenthesized(pattern)
		}
		w.write("...")
	case 0:
		w.rewind(start)
	}
	for i := int32(1); i < w.packMax && w.step(); i++ {
		w.write(", ")
		w.packIndex = i
		w.whole(pattern)
	}
	w.packIndex, w.packMax = index, size
}

// argument writes what a template parameter stands for.
func (w *printer) argument(n *node) {
	if w.inLambda {
		w.auto(n)
		return
	}
	w.left(n.a)
}

// behind is what a template parameter stands for where it is not auto, and any other node itself.
func (w *printer) behind(r ref) ref {
	for !w.inLambda && w.nodes[r].kind == kindArgument {
		r = w.nodes[r].a
	}
	return r
}

// guarded does something to what a forward reference stands for, unless that is being done: ill-formed names have cycles.
func (w *printer) guarded(n *node, do func(*printer, ref)) {
	if n.busy {
		return
	}
	n.busy = true
	do(w, n.a)
	n.busy = false
}

// std writes a name of the library that has a mangling of its own.
func (w *printer) std(n *node) {
	name := stdNames[n.count]
	w.write("std::")
	if !n.flag || name.base == name.short {
		w.write(name.short)
		return
	}
	w.write(name.base)
	w.write("<char, std::char_traits<char>")
	w.write(name.args)
	w.write(" >")
}

func (w *printer) structor(n *node) {
	if n.flag {
		w.writeByte('~')
	}
	w.baseName(n.a)
}

// baseName writes a class's name without scopes and template arguments.
func (w *printer) baseName(r ref) {
	switch n := &w.nodes[r]; n.kind {
	case kindName:
		w.write(n.text)
	case kindScoped:
		w.baseName(n.b)
	case kindTemplate, kindGlobal, kindABITag, kindArgument:
		w.baseName(n.a)
	case kindStd:
		if n.flag {
			w.write(stdNames[n.count].base)
		} else {
			w.write(stdNames[n.count].short)
		}
	default:
		if w.style == gnu {
			w.left(r)
		}
	}
}

// unnamedType writes an unnamed type: LLVM shows the number of its mangling, the GNU tools count from 1.
func (w *printer) unnamedType(n *node) {
	if w.style == gnu {
		w.write("{unnamed type#")
		w.writeInt(gnuOrdinal(n.text))
		w.writeByte('}')
		return
	}
	w.write("'unnamed")
	w.write(n.text)
	w.writeByte('\'')
}

// gnuOrdinal counts from 1 what the grammar counts from nothing and 0.
func gnuOrdinal(number string) int32 {
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return 1
	}
	return int32(n) + 2
}

func (w *printer) closure(n *node) {
	if w.style == gnu {
		w.write("{lambda")
		w.signature(n)
		w.writeByte('#')
		w.writeInt(gnuOrdinal(n.text))
		w.writeByte('}')
		return
	}
	w.write("'lambda")
	w.write(n.text)
	w.writeByte('\'')
	w.signature(n)
}

// signature writes the parameters of a lambda.
func (w *printer) signature(n *node) {
	if n.a != 0 {
		w.writeByte('<')
		w.whole(n.a)
		w.writeByte('>')
	}
	inLambda := w.inLambda
	w.inLambda = true
	w.writeByte('(')
	w.list(n.list)
	w.writeByte(')')
	w.inLambda = inLambda
}
