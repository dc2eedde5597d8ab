//go:build linux

package python

// kind is what is known of the objects of a type and of its subtypes.
type kind uint8

// Kinds of types.
const (
	otherKind kind = iota
	typeKind
	moduleKind
	dictKind
	listKind
	tupleKind
	setKind
	frozenSetKind
	strKind
	bytesKind
	intKind
	floatKind
	byteArrayKind
	functionKind
	methodKind
	builtinKind
	cellKind
	codeKind
	frameKind
	generatorKind
	coroutineKind
	asyncGeneratorKind
	tracebackKind
	exceptionKind
	weakRefKind
	weakProxyKind
	weakCallableKind
	dequeKind
	lruCacheKind
	lruElementKind
	arrayKind
	threadLocalKind
	memoryViewKind
	capsuleKind
	bufferedKind // a file with a buffer
	teeKind      // an iterator of itertools.tee
	teeDataKind  // the elements that such iterators share
)

// exported are the symbols of types.
var exported = map[kind]string{
	typeKind: "PyType_Type", moduleKind: "PyModule_Type", dictKind: "PyDict_Type", listKind: "PyList_Type",
	tupleKind: "PyTuple_Type", setKind: "PySet_Type", frozenSetKind: "PyFrozenSet_Type", strKind: "PyUnicode_Type",
	bytesKind: "PyBytes_Type", intKind: "PyLong_Type", floatKind: "PyFloat_Type", byteArrayKind: "PyByteArray_Type",
	functionKind: "PyFunction_Type", methodKind: "PyMethod_Type", builtinKind: "PyCFunction_Type",
	cellKind: "PyCell_Type", codeKind: "PyCode_Type", frameKind: "PyFrame_Type", generatorKind: "PyGen_Type",
	coroutineKind: "PyCoro_Type", asyncGeneratorKind: "PyAsyncGen_Type", tracebackKind: "PyTraceBack_Type",
	weakRefKind: "_PyWeakref_RefType", weakProxyKind: "_PyWeakref_ProxyType",
	weakCallableKind: "_PyWeakref_CallableProxyType", memoryViewKind: "PyMemoryView_Type",
	capsuleKind: "PyCapsule_Type",
}

// named are types of modules of the standard library, which are not exported.
var named = map[string]kind{
	"collections.deque": dequeKind, "functools._lru_cache_wrapper": lruCacheKind,
	"functools._lru_list_elem": lruElementKind, "array.array": arrayKind, "_thread._local": threadLocalKind,
	"_io.BufferedReader": bufferedKind, "_io.BufferedWriter": bufferedKind, "_io.BufferedRandom": bufferedKind,
	"itertools._tee": teeKind, "itertools._tee_dataobject": teeDataKind,
}

// flagged are the kinds that the flags of a type tell.
var flagged = []struct {
	flag uint64
	kind kind
}{
	{typeSubclass, typeKind}, {dictSubclass, dictKind}, {listSubclass, listKind}, {tupleSubclass, tupleKind},
	{strSubclass, strKind}, {bytesSubclass, bytesKind}, {longSubclass, intKind}, {errorSubclass, exceptionKind},
}

// isContainer reports whether blocks without an object to which the object refers are parts of it.
func (k kind) isContainer() bool {
	switch k {
	case typeKind, dictKind, listKind, tupleKind, setKind, frozenSetKind, strKind, byteArrayKind, dequeKind, lruCacheKind,
		arrayKind:
		return true
	}
	return false
}

func (k kind) isGenerator() bool {
	return k == generatorKind || k == coroutineKind || k == asyncGeneratorKind
}

func (k kind) isWeakRef() bool {
	return k == weakRefKind || k == weakProxyKind || k == weakCallableKind
}
