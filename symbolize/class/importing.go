package class

import (
	"strings"

	"github.com/heaplapse/heaplapse/symbolize"
)

// Importing reports whether Python imported a module when a stack was recorded. The code of a module
// runs once, unless it is reloaded. It is an import if
//   - a function of CPython's interface for imports is on the stack (PyImport_Import… in
//     Python/import.c), or one of importlib's frames,
//   - or, where a recorder leaves these out, the code of one module runs that of another,
//   - or, where a stripped interpreter has no names of static functions, code is executed by a function of
//     Python that C called as a method: importlib's, which Python/import.c calls so.
func (b *Blamer) Importing(stack []symbolize.LocationID) bool {
	importing, moduleInside, executes := false, false, false
	for _, id := range stack {
		l := &b.s.Locations[id]
		for k := range l.Frames {
			f := &l.Frames[k]
			if !l.Script() {
				executes = f.Function == "PyEval_EvalCode" || executes && isCall(f.Function)
				importing = importing || strings.HasPrefix(f.Function, "PyImport_Import") || executes && callsMethod(f.Function)
				continue
			}
			isModule := f.Function == "<module>"
			executes = false
			switch {
			case isImportlib(f.File) && f.Function == "reload":
				return false
			case isImportlib(f.File), isModule && moduleInside:
				importing = true
			}
			moduleInside = isModule
		}
	}
	return importing
}

// isCall reports whether a function of CPython is between code that is executed and the method that executes it.
func isCall(function string) bool {
	switch function {
	case "_PyEval_EvalFrameDefault", "_PyFunction_Vectorcall", "PyObject_Vectorcall", "PyVectorcall_Call":
		return true
	}
	return callsMethod(function)
}

// callsMethod reports whether a function of CPython is that by which Python/import.c calls importlib.
func callsMethod(function string) bool {
	return function == "PyObject_CallMethodObjArgs" || function == "_PyObject_CallMethodIdObjArgs"
}

// isImportlib reports whether a file is the source of Python's importer. CPython has most of it in
// frozen form.
func isImportlib(file string) bool {
	return strings.HasPrefix(file, "<frozen importlib") || strings.HasSuffix(file, "/importlib/__init__.py")
}
