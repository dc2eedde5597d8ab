//go:build linux

package python

import "github.com/heaplapse/heaplapse/internal/holders/blocks"

const (
	page    = 4 << 10
	topmost = blocks.Topmost
)

// layout has the offsets that differ between versions. Those that do not are constants where they are used.
type layout struct {
	minor int
	// typeSize is the size of a type that the program has made.
	typeSize uint64
	// In such a type: its qualified name, and the keys that its objects share.
	qualname, cachedKeys uint64
	// tupleItems is where the items of a tuple begin.
	tupleItems uint64
	// Sizes of a str before its text, if that is ASCII, and if it is not.
	ascii, compact uint64
	// In functions.
	functionCode, closure, defaults, keywordDefaults, functionDict, globals uint64
	// In code: its name, file and first line.
	codeName, codeFile, codeLine uint64
	// In exceptions: what is behind the arguments.
	traceback, context, cause uint64
	// In frames up to 3.10: variables, and the byte that tells whether they run.
	frameLocals, frameRuns uint64
	// From 3.11 on. In code: numbers of variables, and of words of the stack.
	variables, stackSize uint64
	// codeBytes is where the instructions begin.
	codeBytes uint64
	// In interpreter frames: code, namespace, and variables with the stack behind them.
	frameCode, frameNames, frameWords uint64
	// frameData is where the interpreter frame of a frame object is, and generatorFrame that of a generator.
	frameData, generatorFrame uint64
	// dataStack is where a thread state has the part of the data stack that is in use.
	dataStack uint64
}

// layouts are those of 64-bit release builds (offsetof of the headers of each version).
var layouts = map[int]layout{8: in38, 9: in39(), 10: in310(), 11: in311, 12: in312(), 13: in313(), 14: in314()}

var in38 = layout{
	minor: 8, typeSize: 880, qualname: 864, cachedKeys: 872, tupleItems: 24, ascii: 48, compact: 72,
	functionCode: 16, closure: 48, defaults: 32, keywordDefaults: 40, functionDict: 72, globals: 24,
	codeName: 112, codeFile: 104, codeLine: 40, traceback: 32, context: 40, cause: 48,
	frameLocals: 360, frameRuns: 116,
}

func in39() layout {
	l := in38
	l.minor, l.qualname, l.cachedKeys = 9, 856, 864
	return l
}

func in310() layout {
	l := in38
	l.minor, l.typeSize, l.frameLocals, l.frameRuns = 10, 888, 352, 108
	l.functionCode, l.closure, l.defaults, l.keywordDefaults, l.functionDict, l.globals = 48, 72, 56, 64, 88, 16
	return l
}

var in311 = layout{
	minor: 11, typeSize: 904, qualname: 864, cachedKeys: 872, tupleItems: 24, ascii: 48, compact: 72,
	functionCode: 48, closure: 72, defaults: 56, keywordDefaults: 64, functionDict: 88, globals: 16,
	codeName: 128, codeFile: 112, codeLine: 72, traceback: 40, context: 48, cause: 56,
	variables: 76, stackSize: 68, codeBytes: 184,
	frameCode: 32, frameNames: 24, frameWords: 72, frameData: 48, generatorFrame: 80, dataStack: 296,
}

func in312() layout {
	l := in311
	l.minor, l.typeSize, l.qualname, l.cachedKeys, l.ascii, l.compact = 12, 920, 872, 880, 40, 56
	l.codeLine, l.variables, l.stackSize, l.codeBytes = 68, 72, 64, 192
	l.frameCode, l.frameNames, l.generatorFrame, l.dataStack = 0, 40, 72, 232
	return l
}

func in313() layout {
	l := in312()
	l.minor, l.typeSize, l.codeBytes, l.frameData = 13, 928, 200, 64
	return l
}

func in314() layout {
	l := in313()
	l.minor, l.typeSize, l.tupleItems, l.codeBytes, l.frameWords, l.frameData = 14, 936, 32, 208, 80, 72
	return l
}

// Offsets that all versions have.
const (
	refcount   = 0
	objectType = 8
	size       = 16 // of an object with a variable number of items
	headSize   = 16 // of the garbage collector, before an object

	typeName       = 24
	typeBasicSize  = 32
	typeItemSize   = 40
	typeFlags      = 168
	typeWeakRefs   = 208 // offset of the list of weak references in an object
	typeMembers    = 240
	typeBase       = 256
	typeDict       = 264
	typeDictOffset = 288
	typeMRO        = 344

	dictUsed   = 16
	dictKeys   = 32
	dictValues = 40

	moduleDict = 16
	moduleName = 48

	strState = 32

	setMask       = 32
	setTable      = 40
	setSmallTable = 64
	setEntry      = 16 // {key, hash}
)

// Bits of the flags of a type.
const (
	inlineValues   = 1 << 2 // from 3.13 on
	managedWeakRef = 1 << 3 // from 3.12 on
	managedDict    = 1 << 4 // from 3.11 on
	heapType       = 1 << 9
	ready          = 1 << 12
	tracked        = 1 << 14
	longSubclass   = 1 << 24
	listSubclass   = 1 << 25
	tupleSubclass  = 1 << 26
	bytesSubclass  = 1 << 27
	strSubclass    = 1 << 28
	dictSubclass   = 1 << 29
	errorSubclass  = 1 << 30
	typeSubclass   = 1 << 31
)

// before returns the number of bytes before an object of a type with some flags.
func (l *layout) before(flags uint64) uint8 {
	switch {
	case flags&tracked == 0:
		return 0
	case l.minor == 11 && flags&managedDict != 0, l.minor > 11 && flags&(managedDict|managedWeakRef) != 0:
		return 2 * headSize
	}
	return headSize
}
