package python

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
	// In the keys of a dict: number of entries, and indices.
	entries, indices uint64
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
var layouts = map[int]layout{
	8: {
		minor: 8, typeSize: 880, qualname: 864, cachedKeys: 872, tupleItems: 24,
		ascii: 48, compact: 72, entries: 32, indices: 40,
		functionCode: 16, closure: 48, defaults: 32, keywordDefaults: 40, functionDict: 72, globals: 24,
		codeName: 112, codeFile: 104, codeLine: 40, traceback: 32, context: 40, cause: 48,
		frameLocals: 360, frameRuns: 116,
	},
	9: {
		minor: 9, typeSize: 880, qualname: 856, cachedKeys: 864, tupleItems: 24,
		ascii: 48, compact: 72, entries: 32, indices: 40,
		functionCode: 16, closure: 48, defaults: 32, keywordDefaults: 40, functionDict: 72, globals: 24,
		codeName: 112, codeFile: 104, codeLine: 40, traceback: 32, context: 40, cause: 48,
		frameLocals: 360, frameRuns: 116,
	},
	10: {
		minor: 10, typeSize: 888, qualname: 864, cachedKeys: 872, tupleItems: 24,
		ascii: 48, compact: 72, entries: 32, indices: 40,
		functionCode: 48, closure: 72, defaults: 56, keywordDefaults: 64, functionDict: 88, globals: 16,
		codeName: 112, codeFile: 104, codeLine: 40, traceback: 32, context: 40, cause: 48,
		frameLocals: 352, frameRuns: 108,
	},
	11: {
		minor: 11, typeSize: 904, qualname: 864, cachedKeys: 872, tupleItems: 24,
		ascii: 48, compact: 72, entries: 24, indices: 32,
		functionCode: 48, closure: 72, defaults: 56, keywordDefaults: 64, functionDict: 88, globals: 16,
		codeName: 128, codeFile: 112, codeLine: 72, traceback: 40, context: 48, cause: 56,
		variables: 76, stackSize: 68, codeBytes: 184,
		frameCode: 32, frameNames: 24, frameWords: 72, frameData: 48, generatorFrame: 80, dataStack: 296,
	},
	12: {
		minor: 12, typeSize: 920, qualname: 872, cachedKeys: 880, tupleItems: 24,
		ascii: 40, compact: 56, entries: 24, indices: 32,
		functionCode: 48, closure: 72, defaults: 56, keywordDefaults: 64, functionDict: 88, globals: 16,
		codeName: 128, codeFile: 112, codeLine: 68, traceback: 40, context: 48, cause: 56,
		variables: 72, stackSize: 64, codeBytes: 192,
		frameCode: 0, frameNames: 40, frameWords: 72, frameData: 48, generatorFrame: 72, dataStack: 232,
	},
	13: {
		minor: 13, typeSize: 928, qualname: 872, cachedKeys: 880, tupleItems: 24,
		ascii: 40, compact: 56, entries: 24, indices: 32,
		functionCode: 48, closure: 72, defaults: 56, keywordDefaults: 64, functionDict: 88, globals: 16,
		codeName: 128, codeFile: 112, codeLine: 68, traceback: 40, context: 48, cause: 56,
		variables: 72, stackSize: 64, codeBytes: 200,
		frameCode: 0, frameNames: 40, frameWords: 72, frameData: 64, generatorFrame: 72, dataStack: 232,
	},
	14: {
		minor: 14, typeSize: 936, qualname: 872, cachedKeys: 880, tupleItems: 32,
		ascii: 40, compact: 56, entries: 24, indices: 32,
		functionCode: 48, closure: 72, defaults: 56, keywordDefaults: 64, functionDict: 88, globals: 16,
		codeName: 128, codeFile: 112, codeLine: 68, traceback: 40, context: 48, cause: 56,
		variables: 72, stackSize: 64, codeBytes: 208,
		frameCode: 0, frameNames: 40, frameWords: 80, frameData: 72, generatorFrame: 72, dataStack: 232,
	},
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
