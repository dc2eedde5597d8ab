package dwarf

// abbrev is a compiled abbreviation: what to do to get past an entry, and where
// in it the attributes stand that a lookup needs.
type abbrev struct {
	tag      tag
	children bool
	ops      []op
}

// op is one step through an entry: fixed bytes to pass over, then, if form is
// not 0, a value, which is wanted under a name or passed over.
type op struct {
	fixed    uint32
	form     form
	wanted   attr // 0: pass over
	implicit int64
}

// abbrevTable maps codes to abbreviations. Compilers number them from 1, so a
// slice serves; others go to a map.
type abbrevTable struct {
	dense  []abbrev
	sparse map[uint64]*abbrev
	size   uint64 // in bytes, in its section
}

func (t *abbrevTable) get(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) {
		return &t.dense[code-1]
	}
	return t.sparse[code]
}

// maxOps caps one abbreviation. No entry has as many attributes.
const maxOps = 1000

// unitShape is what the size of a form depends on.
type unitShape struct {
	version  uint16
	addrSize uint8
	is64     bool
}

// parseAbbrevs compiles the table at an offset of .debug_abbrev for units of one shape.
func parseAbbrevs(section []byte, off uint64, shape unitShape) (*abbrevTable, error) {
	c := at(section, off)
	t := &abbrevTable{}
	for {
		code := c.uleb()
		if c.failed {
			return nil, &FormatError{".debug_abbrev", off, "the table does not end"}
		}
		if code == 0 {
			t.size = c.off - off
			return t, nil
		}
		a, ok := parseAbbrev(&c, shape)
		if !ok {
			return nil, &FormatError{".debug_abbrev", c.off, "a malformed abbreviation"}
		}
		t.put(code, a)
	}
}

func (t *abbrevTable) put(code uint64, a abbrev) {
	if code == uint64(len(t.dense))+1 {
		t.dense = append(t.dense, a)
		return
	}
	if t.sparse == nil {
		t.sparse = map[uint64]*abbrev{}
	}
	t.sparse[code] = &a
}

func parseAbbrev(c *cursor, shape unitShape) (abbrev, bool) {
	a := abbrev{tag: tag(c.uleb()), children: c.u8() != 0}
	var fixed uint32
	for n := 0; n < maxOps; n++ {
		name, f := attr(c.uleb()), form(c.uleb())
		var implicit int64
		if f == formImplicit {
			implicit = c.sleb()
		}
		if c.failed {
			return abbrev{}, false
		}
		if name == 0 && f == 0 {
			if fixed > 0 {
				a.ops = append(a.ops, op{fixed: fixed})
			}
			return a, true
		}
		size, isFixed := fixedSize(f, shape)
		switch want := wantedAttr(a.tag, name); {
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
	return abbrev{}, false
}

// wantedAttr returns the attribute's canonical name if a lookup needs it on such an entry.
func wantedAttr(t tag, a attr) attr {
	switch t {
	case tagSubprogram, tagInlined:
		return wantedOfFunction(a)
	case tagCompileUnit, tagPartialUnit, tagSkeletonUnit, tagTypeUnit:
		return wantedOfUnit(a)
	case tagNamespace, tagClass, tagStruct, tagUnion, tagInterface:
		if a == attrName || a == attrSpecification {
			return a
		}
	}
	if a == attrSibling {
		return a
	}
	return 0
}

func wantedOfFunction(a attr) attr {
	switch a {
	case attrMIPSLinkage:
		return attrLinkageName
	case attrSibling, attrName, attrLowPC, attrHighPC, attrRanges, attrAbstractOrigin, attrSpecification,
		attrLinkageName, attrDeclLine, attrCallFile, attrCallLine, attrCallColumn:
		return a
	}
	return 0
}

func wantedOfUnit(a attr) attr {
	switch a {
	case attrGNUAddrBase:
		return attrAddrBase
	case attrGNUDwoName:
		return attrDwoName
	case attrName, attrLanguage, attrStmtList, attrLowPC, attrHighPC, attrCompDir, attrRanges, attrStrOffsetsBase,
		attrAddrBase, attrRnglistsBase, attrDwoName, attrGNUDwoID, attrGNURangesBase:
		return a
	}
	return 0
}

// fixedSize is the size of a form that has always the same one.
func fixedSize(f form, s unitShape) (uint32, bool) {
	switch f {
	case formFlagPresent, formImplicit:
		return 0, true
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1, true
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2, true
	case formStrx3, formAddrx3:
		return 3, true
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4, true
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8, true
	case formData16:
		return 16, true
	case formAddr:
		return uint32(s.addrSize), true
	case formRefAddr:
		if s.version <= 2 {
			return uint32(s.addrSize), true
		}
		return s.offsetSize(), true
	case formStrp, formSecOffset, formLineStrp, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return s.offsetSize(), true
	}
	return 0, false
}

func (s unitShape) offsetSize() uint32 {
	if s.is64 {
		return 8
	}
	return 4
}

// value is an attribute's value before it is interpreted.
type value struct {
	form form
	u    uint64 // number, offset or index; for formString the offset of its text in .debug_info
}

// maxIndirect bounds DW_FORM_indirect naming itself.
const maxIndirect = 4

// read reads a value. For blocks it passes over the content.
func (s unitShape) read(c *cursor, f form, implicit int64) value {
	for range maxIndirect {
		if f != formIndirect {
			break
		}
		f = form(c.uleb())
	}
	if n, ok := fixedSize(f, s); ok {
		return value{f, s.readFixed(c, f, n, implicit)}
	}
	v := value{form: f}
	switch f {
	case formString:
		v.u = c.off
		c.skipString()
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		v.u = c.uleb()
	case formSdata:
		v.u = uint64(c.sleb())
	case formBlock1:
		c.skip(uint64(c.u8()))
	case formBlock2:
		c.skip(uint64(c.u16()))
	case formBlock4:
		c.skip(uint64(c.u32()))
	case formBlock, formExprloc:
		c.skip(c.uleb())
	default:
		c.failed = true
	}
	return v
}

func (s unitShape) readFixed(c *cursor, f form, n uint32, implicit int64) uint64 {
	switch {
	case f == formFlagPresent:
		return 1
	case f == formImplicit:
		return uint64(implicit)
	case n == 3:
		return uint64(c.u24())
	case n == 16:
		c.skip(16)
		return 0
	}
	return c.uint(uint8(n))
}
