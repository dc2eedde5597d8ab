package ast

// Ref is the index of a node in a [Tree]; 0 means no node.
type Ref int32

// Kind is the kind of a node. It determines the meaning of its fields.
type Kind uint8

// The kinds of nodes, each with the fields that it uses.
const (
	None          Kind = iota
	Name               // Text
	Builtin            // Text: a type of the language
	List               // List: elements, printed with commas
	Clone              // A, Text: the suffix with its dot
	VendorQual         // A: type, Text: qualifier, B: its template arguments
	Qualified          // A: type, Quals
	Conversion         // A: type, as in operator int
	Postfix            // A: type, Text: what follows it
	Elaborated         // Text: struct, union or enum, A: name
	ABITag             // A, Text
	EnableIf           // List: conditions
	ObjCProto          // A: type, Text: protocol
	Pointer            // A
	Reference          // A, Flag: it is &&
	MemberPointer      // A: class, B: type of the member
	Array              // A: element, B: dimension
	Function           // A: return type, List: parameters, Quals, B: exception specification
	Noexcept           // A
	ThrowSpec          // List
	Encoding           // A: return type, B: name, List: parameters, Quals, C: attributes
	LiteralOp          // A: name
	Special            // Text: what it is, A: what it belongs to
	CtorVtable         // A: base, B: class
	Scoped             // A::B
	Local              // A: function, B: entity, Count: number of a default argument, plus 1
	Global             // ::A
	Vector             // A: element, B: dimension
	PixelVector        // A: dimension
	BinaryFP           // Text: bits
	Synthetic          // Text: $T, $N or $TT, Count: index
	Auto               // Count: index
	TypeDecl           // A: name
	ValueDecl          // A: name, B: type
	TemplateDecl       // A: name, List: parameters
	PackDecl           // A
	Pack               // List: the elements of a parameter pack; one of them is printed
	ArgPack            // List: the elements of an argument pack, which are all printed
	Expansion          // A
	TemplateArgs       // List
	Argument           // Count: index of the template parameter, A: its argument
	Forward            // Count: index of the template parameter, A: its argument, set when it is known
	Template           // A: name, B: arguments
	Std                // Count: the letter of the abbreviation, Flag: print the full name
	Ctor               // A: class, Flag: it is a destructor, B: the class that a constructor is inherited from
	DtorName           // A
	Unnamed            // Text: number
	Closure            // A: list of template parameters, List: parameters, Text: number
	Binding            // List
	Binary             // A, Text: operator, B
	Index              // A, B
	PostfixOp          // A, Text
	Conditional        // A, B, C
	Member             // A, Text: operator, B
	Subobject          // A: type, B: expression, Text: offset
	Enclosing          // Text: sizeof, decltype and similar, A
	Cast               // Text: static_cast and similar, A: type, B: expression
	SizeofPack         // A
	Call               // A: callee, List: arguments
	NewExpr            // A: list of placement arguments, B: type, List: initial values, Quals: New… flags
	DeleteExpr         // A, Quals: New… flags
	PrefixOp           // Text, A
	Param              // Text: number, Count: number in the GNU style
	CCast              // A: type, List: operands
	MemberCast         // A: type, B: expression
	InitList           // A: type, List
	Fold               // A: pack, B: initial value, Text: operator, Flag: left fold
	Throw              // A
	Bool               // Flag
	Nullptr            //
	String             // A: type
	Lambda             // A: closure
	Enum               // A: type, Text: value
	Integer            // Text: value, Count: index of the type, see [IntegerType]
	Float              // Text: digits, Count: index of the type, see [FloatType]
	Braced             // A: field or index, B: value, Flag: A is an index
	BracedRange        // A, B: indices, C: value
)

// Flags of new and delete expressions.
const (
	NewGlobal = 1 << iota
	NewArray
	NewInit // with parentheses, which may be empty
)

// The qualifiers of types and of member functions.
const (
	QualConst = 1 << iota
	QualVolatile
	QualRestrict
	QualLvalue // of functions: &
	QualRvalue // of functions: &&
)

// Texts of nodes that the two styles spell differently.
const (
	ThreadWrapper   = "thread-local wrapper routine for "
	ThreadInit      = "thread-local initialization routine for "
	NullptrType     = "std::nullptr_t"
	ComplexSuffix   = " complex"
	ImaginarySuffix = " imaginary"
)

// Node is one part of a name.
type Node struct {
	Kind                   Kind
	right, array, function trait
	varies                 varying
	Quals                  uint8
	Flag                   bool
	busy                   bool // it is being printed
	A, B, C                Ref
	List                   Span // in Tree.Lists
	out                    Span // its text in the output, if it was printed before
	Count                  int32
	Text                   string
}

// trait reports whether a node has one of three properties: a part that is printed to the right of
// the name that it declares, being an array, and being a function.
type trait uint8

const (
	no trait = iota
	yes
	unknown // it depends on which element of a pack is printed
)

// varying is the set of states that the text of a node depends on.
type varying uint8

const (
	withPack   varying = 1 << iota // which element of a pack is printed
	withLambda                     // whether the parameters of a lambda are printed
)

// Span is a range of a slice.
type Span struct{ Lo, Hi int32 }

// Size returns the number of elements.
func (s Span) Size() int { return int(s.Hi - s.Lo) }
