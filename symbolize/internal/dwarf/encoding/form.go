package encoding

// Shape is what the size of a form depends on: properties of the unit that holds the value.
type Shape struct {
	Version  uint16
	AddrSize uint8
	Is64     bool // the 64-bit DWARF format (DWARF 5 section 7.4)
}

// OffsetSize returns the size of an offset in a section.
func (s Shape) OffsetSize() uint32 {
	if s.Is64 {
		return 8
	}
	return 4
}

// Value is the value of an attribute, not interpreted.
type Value struct {
	Form Form   // 0 if the entry has no such attribute
	U    uint64 // a number, an offset or an index; for FormString the offset of its text; for blocks that of their size
}

// maxIndirect limits DW_FORM_indirect values that name DW_FORM_indirect again.
const maxIndirect = 4

// Read reads a value (DWARF 5 section 7.5.6). It skips the content of blocks. implicit is the value
// of DW_FORM_implicit_const.
func (s Shape) Read(c *Cursor, f Form, implicit int64) Value {
	for range maxIndirect {
		if f != FormIndirect {
			break
		}
		f = Form(c.Uleb())
	}
	if n, ok := s.fixedSize(f); ok {
		return Value{f, s.readFixed(c, f, n, implicit)}
	}
	v := Value{Form: f, U: c.Off}
	switch f {
	case FormString:
		c.SkipString()
	case FormUdata, FormRefUdata, FormStrx, FormAddrx, FormLoclistx, FormRnglistx, FormGNUAddrIndex, FormGNUStrIndex:
		v.U = c.Uleb()
	case FormSdata:
		v.U = uint64(c.Sleb())
	case FormBlock1:
		c.Skip(uint64(c.U8()))
	case FormBlock2:
		c.Skip(uint64(c.U16()))
	case FormBlock4:
		c.Skip(uint64(c.U32()))
	case FormBlock, FormExprloc:
		c.Skip(c.Uleb())
	default:
		c.Failed = true
	}
	return v
}

func (s Shape) readFixed(c *Cursor, f Form, n uint32, implicit int64) uint64 {
	switch {
	case f == FormFlagPresent:
		return 1
	case f == FormImplicit:
		return uint64(implicit)
	case n == 3:
		return uint64(c.U24())
	case n == 16:
		c.Skip(16)
		return 0
	}
	return c.Uint(uint8(n))
}

// fixedSize returns the size of a form whose values all have the same size.
func (s Shape) fixedSize(f Form) (uint32, bool) {
	switch f {
	case FormFlagPresent, FormImplicit:
		return 0, true
	case FormData1, FormRef1, FormFlag, FormStrx1, FormAddrx1:
		return 1, true
	case FormData2, FormRef2, FormStrx2, FormAddrx2:
		return 2, true
	case FormStrx3, FormAddrx3:
		return 3, true
	case FormData4, FormRef4, FormStrx4, FormAddrx4, FormRefSup4:
		return 4, true
	case FormData8, FormRef8, FormRefSig8, FormRefSup8:
		return 8, true
	case FormData16:
		return 16, true
	case FormAddr:
		return uint32(s.AddrSize), true
	case FormRefAddr:
		if s.Version <= 2 {
			return uint32(s.AddrSize), true
		}
		return s.OffsetSize(), true
	case FormStrp, FormSecOffset, FormLineStrp, FormStrpSup, FormGNURefAlt, FormGNUStrpAlt:
		return s.OffsetSize(), true
	}
	return 0, false
}
