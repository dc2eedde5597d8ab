package ast

// Tree holds the nodes of one name.
type Tree struct {
	Nodes []Node // Nodes[0] means that there is no node
	Lists []Ref  // the elements of all lists
}

// maxKept is the number of nodes, of 72 bytes each, that Reset keeps the memory of.
const maxKept = 64 << 10

// Reset removes all nodes. It keeps their memory, unless the last name was very large.
func (t *Tree) Reset() {
	if cap(t.Nodes) > maxKept {
		t.Nodes = nil
	}
	t.Nodes, t.Lists = append(t.Nodes[:0], Node{}), t.Lists[:0]
}

// Make adds a node whose parts were added before.
func (t *Tree) Make(n Node) Ref {
	t.derive(&n)
	t.Nodes = append(t.Nodes, n)
	return Ref(len(t.Nodes) - 1)
}

// derive sets the traits of a node, and what its text depends on.
func (t *Tree) derive(n *Node) {
	n.varies |= t.Nodes[n.A].varies | t.Nodes[n.B].varies | t.Nodes[n.C].varies
	for _, e := range t.Lists[n.List.Lo:n.List.Hi] {
		n.varies |= t.Nodes[e].varies
	}
	switch n.Kind {
	case Qualified, ABITag:
		a := &t.Nodes[n.A]
		n.right, n.array, n.function = a.right, a.array, a.function
	case Pointer, Reference:
		n.right = t.Nodes[n.A].right
	case MemberPointer:
		n.right = t.Nodes[n.B].right
	case Array:
		n.right, n.array = yes, yes
	case Function, Encoding:
		n.right, n.function = yes, yes
	case TypeDecl, ValueDecl, TemplateDecl, PackDecl:
		n.right = yes
	case Pack:
		t.derivePack(n)
	case Expansion, SizeofPack:
		n.varies &^= withPack
	case Argument:
		a := &t.Nodes[n.A]
		n.right, n.array, n.function = either(no, a.right), either(no, a.array), either(no, a.function)
		n.varies |= withLambda
	case Forward:
		n.right, n.array, n.function, n.varies = unknown, unknown, unknown, withPack
	}
}

func (t *Tree) derivePack(n *Node) {
	n.varies |= withPack
	for _, e := range t.Lists[n.List.Lo:n.List.Hi] {
		element := &t.Nodes[e]
		n.right = either(n.right, element.right)
		n.array = either(n.array, element.array)
		n.function = either(n.function, element.function)
	}
}

// either returns the trait of a node that is one of two others, with the traits a and b.
func either(a, b trait) trait {
	if a == no && b == no {
		return no
	}
	return unknown
}

// stdName is a name of the standard library that has an abbreviation in the mangling.
type stdName struct{ base, short, args string }

// stdNames maps the letter after S to the name of the template, and to the typedef of its instance
// for char.
var stdNames = [256]stdName{
	'a': {"allocator", "allocator", ""},
	'b': {"basic_string", "basic_string", ""},
	's': {"basic_string", "string", ", std::allocator<char>"},
	'i': {"basic_istream", "istream", ""},
	'o': {"basic_ostream", "ostream", ""},
	'd': {"basic_iostream", "iostream", ""},
}

// IsStd reports whether S and a letter abbreviate a name of the standard library.
func IsStd(letter byte) bool { return stdNames[letter].base != "" }

// integers are the types of integer literals, and what is printed before the value, in parentheses,
// and after it.
var integers = [...]struct {
	letter       byte
	cast, suffix string
}{
	{'w', "wchar_t", ""}, {'c', "char", ""}, {'a', "signed char", ""}, {'h', "unsigned char", ""}, {'s', "short", ""},
	{'t', "unsigned short", ""}, {'i', "", ""}, {'j', "", "u"}, {'l', "", "l"}, {'m', "", "ul"}, {'x', "", "ll"},
	{'y', "", "ull"}, {'n', "__int128", ""}, {'o', "unsigned __int128", ""},
}

// IntegerType returns the index of the integer type with a letter of the mangling.
func IntegerType(letter byte) (index int32, ok bool) {
	for i := range integers {
		if integers[i].letter == letter {
			return int32(i), true
		}
	}
	return 0, false
}

// floats are the types of floating literals, and the number of hexadecimal digits of their bytes.
var floats = [...]struct {
	letter byte
	digits int
	name   string
}{{'f', 8, "float"}, {'d', 16, "double"}, {'e', 20, "long double"}}

// FloatType returns the index of the floating type with a letter of the mangling, and the number of
// digits of its literals.
func FloatType(letter byte) (index int32, digits int, ok bool) {
	for i := range floats {
		if floats[i].letter == letter {
			return int32(i), floats[i].digits, true
		}
	}
	return 0, 0, false
}
