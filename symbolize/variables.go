package symbolize

// Variable is the variable at an address.
type Variable struct {
	// Name is that of the symbol, demangled as selected by Options.Demangle, or "" if no symbol covers the
	// address.
	Name string
	// Offset is the distance of the address from the start of the variable.
	Offset uint64
	// Type is written as in C, such as "char *[]", and File and Line are where the variable is defined. Without debug
	// information they are empty.
	Type, File string
	Line       int
	// Ref is that of the type, for Types.
	Ref TypeRef
}
