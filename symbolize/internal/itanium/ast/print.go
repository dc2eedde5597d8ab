package ast

import "strconv"

// Style is one of two spellings of names.
type Style uint8

// The styles.
const (
	LLVM Style = iota // as llvm-cxxfilt 14 prints names
	GNU               // as c++filt prints them
)

// Limits of printing one name.
const (
	maxSteps = 1 << 20 // visits of nodes: about 20 ms
	maxDepth = 1 << 13 // nodes inside each other
)

// Printer prints the nodes of a [Tree]. Its zero value is ready to use. It keeps its memory from
// name to name; each goroutine needs its own.
//
// The text of a declaration surrounds the name that it declares, as in int (*x)[3]. Types and
// declarations therefore have a left and a right part.
type Printer struct {
	nodes []Node
	lists []Ref
	style Style

	out      []byte
	start    int   // offset of this name in out
	limit    int   // maximum length of this name
	copied   []Ref // nodes whose out is set, ordered by out.Hi
	steps    int
	depth    int
	tooLarge bool

	packIndex, packMax int32 // index of the printed element of packs, and their size; noPack outside of expansions
	inLambda           bool  // printing the parameters of a lambda
	unnamed            bool  // printing the parameters of a template template parameter, which c++filt does not name
}

// noPack means that no pack was printed in an expansion.
const noPack = -1

// Append appends the text of a node, of at most limit bytes, to dst. It reports whether the limits
// suffice.
func (w *Printer) Append(dst []byte, t *Tree, root Ref, s Style, limit int) ([]byte, bool) {
	*w = Printer{
		nodes: t.Nodes, lists: t.Lists, style: s, out: dst, start: len(dst), limit: limit,
		copied: w.copied[:0], packIndex: noPack, packMax: noPack,
	}
	w.whole(root)
	out := w.out
	w.out, w.nodes, w.lists = nil, nil, nil
	return out, !w.tooLarge && len(out)-w.start <= w.limit
}

// step counts a visit of a node and reports whether the limits permit it.
func (w *Printer) step() bool {
	w.steps++
	if w.steps > maxSteps || w.depth > maxDepth || len(w.out)-w.start > w.limit {
		w.tooLarge = true
	}
	return !w.tooLarge
}

func (w *Printer) write(s string) { w.out = append(w.out, s...) }

func (w *Printer) writeByte(c byte) { w.out = append(w.out, c) }

func (w *Printer) writeInt(n int32) { w.out = strconv.AppendInt(w.out, int64(n), 10) }

// last returns the last byte of this name, or 0 if it is empty.
func (w *Printer) last() byte {
	if len(w.out) == w.start {
		return 0
	}
	return w.out[len(w.out)-1]
}

// rewind truncates out.
func (w *Printer) rewind(to int) {
	w.out = w.out[:to]
	for n := len(w.copied); n > 0 && int(w.nodes[w.copied[n-1]].out.Hi) > to; n-- {
		w.nodes[w.copied[n-1]].out = Span{}
		w.copied = w.copied[:n-1]
	}
}

// whole prints both parts of a node.
func (w *Printer) whole(r Ref) {
	w.left(r)
	if w.nodes[r].right != no {
		w.right(r)
	}
}

// minCopied is the minimum length of texts that are copied.
const minCopied = 16

// left prints the left part of a node. It copies the text from out if the node was printed before,
// has no right part, and always has the same text.
func (w *Printer) left(r Ref) {
	n := &w.nodes[r]
	if n.out.Hi > 0 {
		w.out = append(w.out, w.out[n.out.Lo:n.out.Hi]...)
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
		n.out = Span{int32(from), int32(len(w.out))}
		w.copied = append(w.copied, r)
	}
}

// leftOf prints the left part of a node. A name has no right part, so leftOf prints all of it. Types
// are left to leftOfType.
func (w *Printer) leftOf(n *Node) {
	switch n.Kind {
	case Name:
		w.write(n.Text)
	case Builtin:
		w.builtin(n)
	case List, ArgPack:
		w.list(n.List)
	case Clone:
		w.clone(n)
	case ABITag:
		w.left(n.A)
		w.write("[abi:")
		w.write(n.Text)
		w.writeByte(']')
	case Conversion:
		w.write("operator ")
		w.whole(n.A)
	case LiteralOp:
		w.write(`operator"" `)
		w.whole(n.A)
	case Special:
		w.write(w.special(n.Text))
		w.whole(n.A)
	case CtorVtable:
		w.write("construction vtable for ")
		w.join(n.A, "-in-", n.B)
	case Scoped:
		w.join(n.A, "::", n.B)
	case Local:
		w.local(n)
	case Global:
		if w.style == GNU { // LLVM 14 omits it
			w.write("::")
		}
		w.whole(n.A)
	case Template:
		w.template(n)
	case TemplateArgs:
		w.templateArgs(n)
	case Pack:
		w.left(w.element(n))
	case Expansion:
		w.expansion(n.A)
	case Argument:
		w.argument(n)
	case Forward:
		w.guarded(n, (*Printer).left)
	case Std:
		w.std(n)
	case Ctor:
		w.structor(n)
	case DtorName:
		w.writeByte('~')
		w.left(n.A)
	case Unnamed:
		w.unnamedType(n)
	case Closure:
		w.closure(n)
	case Binding:
		w.writeByte('[')
		w.list(n.List)
		w.writeByte(']')
	default:
		w.leftOfType(n)
	}
}

// join prints two nodes with a separator.
func (w *Printer) join(a Ref, between string, b Ref) {
	w.whole(a)
	w.write(between)
	w.whole(b)
}

func (w *Printer) builtin(n *Node) {
	if w.style == GNU && n.Text == NullptrType {
		w.write("decltype(nullptr)")
		return
	}
	w.write(n.Text)
}

// special returns the description of a special name in the current style.
func (w *Printer) special(text string) string {
	switch {
	case w.style == GNU && text == ThreadWrapper:
		return "TLS wrapper function for "
	case w.style == GNU && text == ThreadInit:
		return "TLS init function for "
	}
	return text
}

// list prints elements with commas. It omits elements without text, which are expansions of empty
// packs.
func (w *Printer) list(list Span) {
	first := true
	for _, e := range w.lists[list.Lo:list.Hi] {
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

// local prints the name of an entity in a function. The GNU style omits the parameters and the
// return type of the function, and numbers default arguments.
func (w *Printer) local(n *Node) {
	if w.style != GNU {
		w.join(n.A, "::", n.B)
		return
	}
	inLambda := w.inLambda
	w.inLambda = false // the function has its own template parameters
	w.enclosing(n.A)
	w.inLambda = inLambda
	w.write("::")
	if n.Count > 0 {
		w.write("{default arg#")
		w.writeInt(n.Count)
		w.write("}::")
	}
	w.whole(n.B)
}

// enclosing prints the function of a local name in the GNU style.
func (w *Printer) enclosing(r Ref) {
	n := &w.nodes[r]
	if n.Kind != Encoding {
		w.whole(r)
		return
	}
	w.whole(n.B)
	w.write("()")
	w.functionQualifiers(n.Quals)
}

// clone prints a copy of a function that the compiler made: f() (.isra.0.cold).
func (w *Printer) clone(n *Node) {
	w.whole(n.A)
	w.write(" (")
	w.write(n.Text)
	w.writeByte(')')
}

func (w *Printer) template(n *Node) {
	w.whole(n.A)
	if w.style == GNU && w.last() == '<' {
		w.writeByte(' ') // operator< <int>
	}
	w.whole(n.B)
}

func (w *Printer) templateArgs(n *Node) {
	w.writeByte('<')
	w.list(n.List)
	if w.last() == '>' {
		w.writeByte(' ')
	}
	w.writeByte('>')
}

// element returns the element of a pack that is to be printed, or 0 if there is none.
func (w *Printer) element(n *Node) Ref {
	if w.packMax == noPack {
		w.packMax, w.packIndex = int32(n.List.Size()), 0
	}
	if int(w.packIndex) < n.List.Size() {
		return w.lists[n.List.Lo+w.packIndex]
	}
	return 0
}

// expansion prints a pattern once for each element of the packs in it.
func (w *Printer) expansion(pattern Ref) {
	index, size := w.packIndex, w.packMax
	w.packIndex, w.packMax = noPack, noPack
	start := len(w.out)
	w.whole(pattern)
	switch w.packMax {
	case noPack: // the pack is a function parameter
		if w.style == GNU && !w.isPlain(pattern) {
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

// argument prints a template parameter: its argument, or auto in the parameters of a lambda.
func (w *Printer) argument(n *Node) {
	if w.inLambda {
		w.auto(n)
		return
	}
	w.left(n.A)
}

// resolve returns the argument of a template parameter, unless it is printed as auto. It returns
// other nodes unchanged.
func (w *Printer) resolve(r Ref) Ref {
	for !w.inLambda && w.nodes[r].Kind == Argument {
		r = w.nodes[r].A
	}
	return r
}

// guarded calls do with the target of a forward reference, unless n is being printed: malformed
// names have cycles.
func (w *Printer) guarded(n *Node, do func(*Printer, Ref)) {
	if n.busy {
		return
	}
	n.busy = true
	do(w, n.A)
	n.busy = false
}

// std prints a name of the standard library that has an abbreviation.
func (w *Printer) std(n *Node) {
	name := stdNames[n.Count]
	w.write("std::")
	if !n.Flag || name.base == name.short {
		w.write(name.short)
		return
	}
	w.write(name.base)
	w.write("<char, std::char_traits<char>")
	w.write(name.args)
	w.write(" >")
}

func (w *Printer) structor(n *Node) {
	if n.Flag {
		w.writeByte('~')
	}
	w.baseName(n.A)
}

// baseName prints the name of a class without its scope and template arguments.
func (w *Printer) baseName(r Ref) {
	switch n := &w.nodes[r]; n.Kind {
	case Name:
		w.write(n.Text)
	case Scoped:
		w.baseName(n.B)
	case Template, Global, ABITag, Argument:
		w.baseName(n.A)
	case Std:
		if n.Flag {
			w.write(stdNames[n.Count].base)
		} else {
			w.write(stdNames[n.Count].short)
		}
	default:
		if w.style == GNU {
			w.left(r)
		}
	}
}

// unnamedType prints an unnamed type. LLVM prints the number in the mangled name; c++filt counts
// from 1.
func (w *Printer) unnamedType(n *Node) {
	if w.style == GNU {
		w.write("{unnamed type#")
		w.writeInt(gnuOrdinal(n.Text))
		w.writeByte('}')
		return
	}
	w.write("'unnamed")
	w.write(n.Text)
	w.writeByte('\'')
}

// gnuOrdinal converts a number of the mangling, where none is the first and 0 is the second, to
// c++filt's, which starts at 1.
func gnuOrdinal(number string) int32 {
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return 1
	}
	return int32(n) + 2
}

func (w *Printer) closure(n *Node) {
	if w.style == GNU {
		w.write("{lambda")
		w.signature(n)
		w.writeByte('#')
		w.writeInt(gnuOrdinal(n.Text))
		w.writeByte('}')
		return
	}
	w.write("'lambda")
	w.write(n.Text)
	w.writeByte('\'')
	w.signature(n)
}

// signature prints the parameters of a lambda.
func (w *Printer) signature(n *Node) {
	if n.A != 0 {
		w.writeByte('<')
		w.whole(n.A)
		w.writeByte('>')
	}
	inLambda := w.inLambda
	w.inLambda = true
	w.writeByte('(')
	w.list(n.List)
	w.writeByte(')')
	w.inLambda = inLambda
}
