package encoding

// Abbrev is a compiled abbreviation (DWARF 5 section 7.5.3): the steps that read or skip an entry.
type Abbrev struct {
	Tag      Tag
	Children bool
	ops      []op
}

// op is one step through an entry. It skips a number of bytes. Then, if form is not 0, it reads a
// value of this form, and keeps the value if wanted is not 0.
type op struct {
	fixed    uint32
	form     Form
	wanted   Attr
	implicit int64
}

// Table maps codes to abbreviations. Compilers number them from 1; these are in a slice, others in
// a map.
type Table struct {
	Size   uint64 // in bytes, in its section
	dense  []Abbrev
	sparse map[uint64]*Abbrev
}

// Get returns the abbreviation with a code, or nil.
func (t *Table) Get(code uint64) *Abbrev {
	if code-1 < uint64(len(t.dense)) {
		return &t.dense[code-1]
	}
	return t.sparse[code]
}

// ParseTable compiles the table at an offset of .debug_abbrev for units of one shape, to look up functions.
func ParseTable(section []byte, off uint64, shape Shape) (*Table, error) {
	return parseTable(section, off, shape, wantedAttr)
}

// ParseVariableTable does the same to look up variables and their types.
func ParseVariableTable(section []byte, off uint64, shape Shape) (*Table, error) {
	return parseTable(section, off, shape, wantedForVariables)
}

// wanted returns the attribute under which [Entry] keeps an attribute of entries with a tag, or 0 if it is
// skipped.
type wanted func(t Tag, a Attr) Attr

func parseTable(section []byte, off uint64, shape Shape, want wanted) (*Table, error) {
	c := At(section, off)
	t := &Table{}
	for {
		code := c.Uleb()
		if c.Failed {
			return nil, &FormatError{".debug_abbrev", off, "the table does not end"}
		}
		if code == 0 {
			t.Size = c.Off - off
			return t, nil
		}
		a, ok := parseAbbrev(&c, shape, want)
		if !ok {
			return nil, &FormatError{".debug_abbrev", c.Off, "a malformed abbreviation"}
		}
		t.put(code, a)
	}
}

func (t *Table) put(code uint64, a Abbrev) {
	if code == uint64(len(t.dense))+1 {
		t.dense = append(t.dense, a)
		return
	}
	if t.sparse == nil {
		t.sparse = map[uint64]*Abbrev{}
	}
	t.sparse[code] = &a
}

// maxAttrs limits the attributes of an abbreviation.
const maxAttrs = 1000

func parseAbbrev(c *Cursor, shape Shape, wanted wanted) (Abbrev, bool) {
	a := Abbrev{Tag: Tag(c.Uleb()), Children: c.U8() != 0}
	var fixed uint32
	for n := 0; n < maxAttrs; n++ {
		name, f := Attr(c.Uleb()), Form(c.Uleb())
		var implicit int64
		if f == FormImplicit {
			implicit = c.Sleb()
		}
		if c.Failed {
			return Abbrev{}, false
		}
		if name == 0 && f == 0 {
			if fixed > 0 {
				a.ops = append(a.ops, op{fixed: fixed})
			}
			return a, true
		}
		size, isFixed := shape.fixedSize(f)
		switch want := wanted(a.Tag, name); {
		case want != 0:
			a.ops = append(a.ops, op{fixed, f, want, implicit})
			fixed = 0
		case isFixed:
			fixed += size
		default:
			a.ops = append(a.ops, op{fixed: fixed, form: f})
			fixed = 0
		}
	}
	return Abbrev{}, false
}

// wantedAttr returns the attribute under which [Entry] keeps an attribute of entries with this tag,
// or 0 if it is skipped. GNU extensions have the name of the standard attribute that replaced them.
func wantedAttr(t Tag, a Attr) Attr {
	switch t {
	case TagSubprogram, TagInlined:
		return wantedOfFunction(a)
	case TagCompileUnit, TagPartialUnit, TagSkeletonUnit, TagTypeUnit:
		return wantedOfUnit(a)
	case TagNamespace, TagClass, TagStruct, TagUnion, TagInterface:
		if a == AttrName || a == AttrSpecification {
			return a
		}
	}
	if a == AttrSibling {
		return a
	}
	return 0
}

// wantedForVariables adds what variables and types have to what wantedAttr wants. GNU extensions have the name
// of the standard attribute that replaced them.
func wantedForVariables(t Tag, a Attr) Attr {
	switch t {
	case TagSubprogram:
		if a == AttrFrameBase {
			return a
		}
	case TagLexicalBlock:
		if a == AttrLowPC || a == AttrHighPC || a == AttrRanges {
			return a
		}
	case TagCompileUnit:
		if a == AttrLoclistsBase {
			return a
		}
	case TagVariable, TagParameter, TagArray, TagPointer, TagReference, TagRvalueReference, TagSubroutine, TagTypedef,
		TagBase, TagConst, TagVolatile, TagRestrict, TagAtomic, TagEnum, TagClass, TagStruct, TagUnion, TagInterface,
		TagMember, TagInheritance, TagPointerToMember, TagSubrange, TagTypeParameter, TagVariantPart, TagVariant:
		if wantedOfType(a) {
			return a
		}
	}
	return wantedAttr(t, a)
}

func wantedOfType(a Attr) bool {
	switch a {
	case AttrName, AttrType, AttrLocation, AttrDeclFile, AttrDeclLine, AttrSpecification, AttrAbstractOrigin,
		AttrByteSize, AttrCount, AttrUpperBound, AttrMemberLocation, AttrBitOffset, AttrDeclaration, AttrSignature:
		return true
	}
	return false
}

func wantedOfFunction(a Attr) Attr {
	switch a {
	case AttrMIPSLinkage:
		return AttrLinkageName
	case AttrSibling, AttrName, AttrLowPC, AttrHighPC, AttrRanges, AttrAbstractOrigin, AttrSpecification,
		AttrLinkageName, AttrDeclLine, AttrCallFile, AttrCallLine, AttrCallColumn:
		return a
	}
	return 0
}

func wantedOfUnit(a Attr) Attr {
	switch a {
	case AttrGNUAddrBase:
		return AttrAddrBase
	case AttrGNUDwoName:
		return AttrDwoName
	case AttrName, AttrLanguage, AttrStmtList, AttrLowPC, AttrHighPC, AttrCompDir, AttrRanges, AttrStrOffsetsBase,
		AttrAddrBase, AttrRnglistsBase, AttrDwoName, AttrGNUDwoID, AttrGNURangesBase:
		return a
	}
	return 0
}
