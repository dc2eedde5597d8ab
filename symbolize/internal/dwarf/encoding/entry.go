package encoding

// Entry holds the values of a debugging information entry that symbolization needs.
type Entry struct {
	Abbrev *Abbrev

	Sibling, Name, Linkage, LowPC, HighPC, Ranges, Origin, Spec Value
	DeclLine, CallFile, CallLine, CallColumn                    Value
	StmtList, Language, CompDir, DwoName, DwoID                 Value
	StrOffsetsBase, AddrBase, RnglistsBase, RangesBase          Value
	Location, Type, DeclFile                                    Value
	// Location is also that of a member, and Count one more than the upper bound.
	ByteSize, Count, BitOffset, Declaration, Signature Value
	FrameBase, LoclistsBase                            Value
}

// Read reads the values that follow an abbreviation code. It replaces all of e.
func (a *Abbrev) Read(c *Cursor, s Shape, e *Entry) {
	*e = Entry{Abbrev: a}
	for i := range a.ops {
		o := &a.ops[i]
		if o.fixed > 0 {
			c.Skip(uint64(o.fixed))
		}
		if o.form == 0 {
			break
		}
		v := s.Read(c, o.form, o.implicit)
		if o.wanted != 0 {
			e.set(o.wanted, v)
		}
	}
}

// Skip skips the values that follow an abbreviation code. It returns the value of DW_AT_sibling, or
// the zero Value.
func (a *Abbrev) Skip(c *Cursor, s Shape) (sibling Value) {
	for i := range a.ops {
		o := &a.ops[i]
		if o.fixed > 0 {
			c.Skip(uint64(o.fixed))
		}
		if o.form == 0 {
			break
		}
		v := s.Read(c, o.form, o.implicit)
		if o.wanted == AttrSibling {
			sibling = v
		}
	}
	return sibling
}

func (e *Entry) set(a Attr, v Value) {
	switch a {
	case AttrSibling:
		e.Sibling = v
	case AttrName:
		e.Name = v
	case AttrLinkageName:
		e.Linkage = v
	case AttrLowPC:
		e.LowPC = v
	case AttrHighPC:
		e.HighPC = v
	case AttrRanges:
		e.Ranges = v
	case AttrAbstractOrigin:
		e.Origin = v
	case AttrSpecification:
		e.Spec = v
	case AttrDeclLine:
		e.DeclLine = v
	case AttrCallFile:
		e.CallFile = v
	case AttrCallLine:
		e.CallLine = v
	case AttrCallColumn:
		e.CallColumn = v
	default:
		e.setUnit(a, v)
	}
}

// setUnit sets the attributes that only units have.
func (e *Entry) setUnit(a Attr, v Value) {
	switch a {
	case AttrStmtList:
		e.StmtList = v
	case AttrLanguage:
		e.Language = v
	case AttrCompDir:
		e.CompDir = v
	case AttrDwoName:
		e.DwoName = v
	case AttrGNUDwoID:
		e.DwoID = v
	case AttrStrOffsetsBase:
		e.StrOffsetsBase = v
	case AttrAddrBase:
		e.AddrBase = v
	case AttrRnglistsBase:
		e.RnglistsBase = v
	case AttrGNURangesBase:
		e.RangesBase = v
	default:
		e.setVariable(a, v)
	}
}

// setVariable sets the attributes that only variables and types have.
func (e *Entry) setVariable(a Attr, v Value) {
	switch a {
	case AttrLocation, AttrMemberLocation:
		e.Location = v
	case AttrType:
		e.Type = v
	case AttrDeclFile:
		e.DeclFile = v
	case AttrByteSize:
		e.ByteSize = v
	case AttrCount:
		e.Count = v
	case AttrUpperBound:
		e.Count = Value{v.Form, v.U + 1}
	case AttrBitOffset:
		e.BitOffset = v
	case AttrDeclaration:
		e.Declaration = v
	case AttrSignature:
		e.Signature = v
	case AttrFrameBase:
		e.FrameBase = v
	case AttrLoclistsBase:
		e.LoclistsBase = v
	}
}
