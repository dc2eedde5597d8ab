package encoding

// Tag is the kind of an entry, DW_TAG_* (DWARF 5 section 7.5.3, table 7.3).
type Tag uint16

// The tags of the entries that lookups need (DWARF 5, section 7.5.3).
const (
	TagSkeletonUnit Tag = 0x4a
	TagClass        Tag = 0x02
	TagEnum         Tag = 0x04
	TagStruct       Tag = 0x13
	TagUnion        Tag = 0x17
	TagInlined      Tag = 0x1d
	TagSubprogram   Tag = 0x2e
	TagNamespace    Tag = 0x39
	TagInterface    Tag = 0x38
	TagCompileUnit  Tag = 0x11
	TagPartialUnit  Tag = 0x3c
	TagTypeUnit     Tag = 0x41
	TagLexicalBlock Tag = 0x0b
	TagModule       Tag = 0x1e
)

// The tags of variables and their types (DWARF 5, section 7.5.3).
const (
	TagArray           Tag = 0x01
	TagPointer         Tag = 0x0f
	TagReference       Tag = 0x10
	TagSubroutine      Tag = 0x15
	TagTypedef         Tag = 0x16
	TagBase            Tag = 0x24
	TagConst           Tag = 0x26
	TagVariable        Tag = 0x34
	TagParameter       Tag = 0x05
	TagVolatile        Tag = 0x35
	TagRestrict        Tag = 0x37
	TagRvalueReference Tag = 0x42
	TagAtomic          Tag = 0x47
	TagMember          Tag = 0x0d
	TagVariant         Tag = 0x19
	TagInheritance     Tag = 0x1c
	TagPointerToMember Tag = 0x1f
	TagSubrange        Tag = 0x21
	TagTypeParameter   Tag = 0x2f
	TagVariantPart     Tag = 0x33
	TagUnspecified     Tag = 0x3b
)

// Attr is the name of an attribute, DW_AT_* (DWARF 5 section 7.5.4, table 7.5, and GNU extensions).
type Attr uint16

// The attributes that lookups need (DWARF 5, section 7.5.4).
const (
	AttrSibling        Attr = 0x01
	AttrLocation       Attr = 0x02
	AttrName           Attr = 0x03
	AttrStmtList       Attr = 0x10
	AttrLowPC          Attr = 0x11
	AttrHighPC         Attr = 0x12
	AttrLanguage       Attr = 0x13
	AttrCompDir        Attr = 0x1b
	AttrAbstractOrigin Attr = 0x31
	AttrDeclFile       Attr = 0x3a
	AttrDeclLine       Attr = 0x3b
	AttrSpecification  Attr = 0x47
	AttrType           Attr = 0x49
	AttrRanges         Attr = 0x55
	AttrCallColumn     Attr = 0x57
	AttrCallFile       Attr = 0x58
	AttrCallLine       Attr = 0x59
	AttrLinkageName    Attr = 0x6e
	AttrStrOffsetsBase Attr = 0x72
	AttrAddrBase       Attr = 0x73
	AttrRnglistsBase   Attr = 0x74
	AttrDwoName        Attr = 0x76
	AttrByteSize       Attr = 0x0b
	AttrUpperBound     Attr = 0x2f
	AttrCount          Attr = 0x37
	AttrMemberLocation Attr = 0x38
	AttrDeclaration    Attr = 0x3c
	AttrBitOffset      Attr = 0x6b // DW_AT_data_bit_offset
	AttrSignature      Attr = 0x69
	AttrFrameBase      Attr = 0x40
	AttrLoclistsBase   Attr = 0x8c
	AttrMIPSLinkage    Attr = 0x2007
	AttrGNUDwoName     Attr = 0x2130
	AttrGNUDwoID       Attr = 0x2131
	AttrGNURangesBase  Attr = 0x2132
	AttrGNUAddrBase    Attr = 0x2133
)

// Form is the encoding of a value, DW_FORM_* (DWARF 5 section 7.5.6, table 7.6, and GNU
// extensions).
type Form uint16

// The forms of attribute values (DWARF 5, section 7.5.6), with those of GNU extensions.
const (
	FormAddr         Form = 0x01
	FormBlock2       Form = 0x03
	FormBlock4       Form = 0x04
	FormData2        Form = 0x05
	FormData4        Form = 0x06
	FormData8        Form = 0x07
	FormString       Form = 0x08
	FormBlock        Form = 0x09
	FormBlock1       Form = 0x0a
	FormData1        Form = 0x0b
	FormFlag         Form = 0x0c
	FormSdata        Form = 0x0d
	FormStrp         Form = 0x0e
	FormUdata        Form = 0x0f
	FormRefAddr      Form = 0x10
	FormRef1         Form = 0x11
	FormRef2         Form = 0x12
	FormRef4         Form = 0x13
	FormRef8         Form = 0x14
	FormRefUdata     Form = 0x15
	FormIndirect     Form = 0x16
	FormSecOffset    Form = 0x17
	FormExprloc      Form = 0x18
	FormFlagPresent  Form = 0x19
	FormStrx         Form = 0x1a
	FormAddrx        Form = 0x1b
	FormRefSup4      Form = 0x1c
	FormStrpSup      Form = 0x1d
	FormData16       Form = 0x1e
	FormLineStrp     Form = 0x1f
	FormRefSig8      Form = 0x20
	FormImplicit     Form = 0x21
	FormLoclistx     Form = 0x22
	FormRnglistx     Form = 0x23
	FormRefSup8      Form = 0x24
	FormStrx1        Form = 0x25
	FormStrx2        Form = 0x26
	FormStrx3        Form = 0x27
	FormStrx4        Form = 0x28
	FormAddrx1       Form = 0x29
	FormAddrx2       Form = 0x2a
	FormAddrx3       Form = 0x2b
	FormAddrx4       Form = 0x2c
	FormGNUAddrIndex Form = 0x1f01
	FormGNUStrIndex  Form = 0x1f02
	FormGNURefAlt    Form = 0x1f20
	FormGNUStrpAlt   Form = 0x1f21
)
