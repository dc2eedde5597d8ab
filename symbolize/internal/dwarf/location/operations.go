package location

// Operations of location expressions, DW_OP_* (DWARF 5 section 7.7.1).
const (
	OpAddr              = 0x03
	OpDeref             = 0x06
	OpConst1u           = 0x08
	OpConst4u           = 0x0c
	OpConst8u           = 0x0e
	OpConst8s           = 0x0f
	OpConstu            = 0x10
	OpConsts            = 0x11
	OpAnd               = 0x1a
	OpPlus              = 0x22
	OpPlusUconst        = 0x23
	OpShl               = 0x24
	OpXor               = 0x27
	OpLit0              = 0x30
	OpReg0              = 0x50
	OpReg31             = 0x6f
	OpBreg0             = 0x70
	OpBreg31            = 0x8f
	OpRegx              = 0x90
	OpFbreg             = 0x91
	OpPiece             = 0x93
	OpFormTLSAddress    = 0x9b
	OpCallFrameCFA      = 0x9c
	OpImplicitValue     = 0x9e
	OpStackValue        = 0x9f
	OpAddrx             = 0xa1
	OpEntryValue        = 0xa3
	OpGNUPushTLSAddress = 0xe0
	OpGNUEntryValue     = 0xf3
	OpGNUAddrIndex      = 0xfb
)
