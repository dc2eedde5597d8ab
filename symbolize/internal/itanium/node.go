package itanium

// ref is the index of a node; 0 is none.
type ref int32

// kind says what a node stands for, and thereby what its fields hold.
type kind uint8

const (
	kindNone          kind = iota
	kindName               // text
	kindBuiltin            // text: a type of the language
	kindList               // list, with commas
	kindClone              // a, text: the suffix with its dot
	kindVendorQual         // a: type, text: qualifier, b: its template arguments
	kindQualified          // a: type, quals
	kindConversion         // a: type; operator int
	kindPostfix            // a: type, text: what follows
	kindElaborated         // text: struct, union or enum; a: name
	kindABITag             // a, text
	kindEnableIf           // list of conditions
	kindObjCProto          // a: type, text: protocol
	kindPointer            // a
	kindReference          // a, flag: rvalue
	kindMemberPointer      // a: class, b: type of the member
	kindArray              // a: element, b: dimension
	kindFunction           // a: return type, list of parameters, quals, b: exceptions
	kindNoexcept           // a
	kindThrowSpec          // list
	kindEncoding           // a: return type, b: name, list of parameters, quals, c: attributes
	kindLiteralOp          // a: name
	kindSpecial            // text: what it is, a: of what
	kindCtorVtable         // a: base, b: class
	kindScoped             // a::b
	kindLocal              // a: function, b: entity, count: a default argument's number + 1
	kindGlobal             // a: ::a
	kindVector             // a: element, b: dimension
	kindPixelVector        // a: dimension
	kindBinaryFP           // text: bits
	kindSynthetic          // text: $T, $N or $TT; count: index
	kindAuto               // count: index
	kindTypeDecl           // a: name
	kindValueDecl          // a: name, b: type
	kindTemplateDecl       // a: name, list of parameters
	kindPackDecl           // a
	kindPack               // list: the elements of a parameter, of which one is printed
	kindArgPack            // list: all are printed
	kindExpansion          // a
	kindTemplateArgs       // list
	kindArgument           // count: index of the template parameter; a: what it stands for
	kindForward            // count: index of the template parameter; a: what it stands for, when that is known
	kindTemplate           // a: name, b: arguments
	kindStd                // text: name in std, sub: which
	kindCtor               // a: class, flag: destructor, b: the class inherited from
	kindDtorName           // a
	kindUnnamed            // text: number
	kindClosure            // a: list of template parameters, list of parameters, text: number
	kindBinding            // list
	kindBinary             // a, text: operator, b
	kindIndex              // a, b
	kindPostfixOp          // a, text
	kindConditional        // a, b, c
	kindMember             // a, text, b
	kindSubobject          // a: type, b: expression, text: offset
	kindEnclosing          // text: sizeof and its like, a; flag: of a type
	kindCast               // text, a: type, b: expression
	kindSizeofPack         // a
	kindCall               // a: callee, list
	kindNew                // a: list of arguments, b: type, list of initial values, quals: newFlags
	kindDelete             // a, quals: newFlags
	kindPrefixOp           // text, a
	kindParam              // text: number; count: index
	kindCCast              // a: type, list
	kindMemberCast         // a: type, b: expression
	kindInitList           // a: type, list
	kindFold               // a: pack, b: initial value, text: operator, flag: left
	kindThrow              // a
	kindBool               // flag
	kindNullptr            //
	kindString             // a: type
	kindLambda             // a: closure
	kindEnum               // a: type, text: value
	kindInteger            // text: value, count: index into integers
	kindFloat              // text: digits, count: index into floats
	kindBraced             // a: field or index, b: value, flag: index
	kindBracedRange        // a, b: indices, c: value
)

// newFlags of expressions with new and delete.
const (
	newGlobal = 1 << iota
	newArray
	newInit // with parentheses, which may be empty
)

// trait is whether a node is printed on both sides of what it declares, or is an array, or a function.
type trait uint8

const (
	no trait = iota
	yes
	unknown // depends on the element of a pack that is printed
)

// varying is how the text of a node depends on where it is printed.
type varying uint8

const (
	withPack   varying = 1 << iota // on the element of a pack
	withLambda                     // on whether it is in the parameters of a lambda
)

// The qualifiers of types and of member functions.
const (
	qualConst = 1 << iota
	qualVolatile
	qualRestrict
	qualLvalue // of functions: &
	qualRvalue // &&
)

// node is one part of a name.
type node struct {
	kind                   kind
	right, array, function trait
	varies                 varying
	quals                  uint8
	flag                   bool
	busy                   bool // is being printed
	a, b, c                ref
	list                   span // of the parser's lists
	out                    span // where its text lies in the output, if it has been printed
	count                  int32
	text                   string
}

// span is a range of a slice.
type span struct{ lo, hi int32 }

func (s span) size() int { return int(s.hi - s.lo) }

// make adds a node. What depends on its parts is derived here.
func (p *parser) make(n node) ref {
	p.derive(&n)
	p.nodes = append(p.nodes, n)
	return ref(len(p.nodes) - 1)
}

// derive finds how a node's text varies, from its parts, and on which sides of a declaration it is printed.
func (p *parser) derive(n *node) {
	n.varies |= p.nodes[n.a].varies | p.nodes[n.b].varies | p.nodes[n.c].varies
	for _, e := range p.lists[n.list.lo:n.list.hi] {
		n.varies |= p.nodes[e].varies
	}
	switch n.kind {
	case kindQualified, kindABITag:
		a := &p.nodes[n.a]
		n.right, n.array, n.function = a.right, a.array, a.function
	case kindPointer, kindReference:
		n.right = p.nodes[n.a].right
	case kindMemberPointer:
		n.right = p.nodes[n.b].right
	case kindArray:
		n.right, n.array = yes, yes
	case kindFunction, kindEncoding:
		n.right, n.function = yes, yes
	case kindTypeDecl, kindValueDecl, kindTemplateDecl, kindPackDecl:
		n.right = yes
	case kindPack:
		p.derivePack(n)
	case kindExpansion, kindSizeofPack:
		n.varies &^= withPack
	case kindArgument:
		a := &p.nodes[n.a]
		n.right, n.array, n.function = vague(no, a.right), vague(no, a.array), vague(no, a.function)
		n.varies |= withLambda
	case kindForward:
		n.right, n.array, n.function, n.varies = unknown, unknown, unknown, withPack
	}
}

func (p *parser) derivePack(n *node) {
	n.varies |= withPack
	for _, e := range p.lists[n.list.lo:n.list.hi] {
		element := &p.nodes[e]
		n.right, n.array, n.function = vague(n.right, element.right), vague(n.array, element.array), vague(n.function, element.function)
	}
}

// vague is the trait of what may stand for one of several nodes, of which one has the trait b.
func vague(a, b trait) trait {
	if a == no && b == no {
		return no
	}
	return unknown
}
