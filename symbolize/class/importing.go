package class

import (
	"strings"

	"github.com/heaplapse/heaplapse/symbolize"
)

// Importing reports whether Python imported a module when a stack was recorded. The code of a module
// runs once, unless it is reloaded. It is an import if
//   - a function of CPython's interface for imports is on the stack (PyImport_Import… in
//     Python/import.c), or one of importlib's frames,
//   - or, where a recorder leaves these out, the code of one module runs that of another.
func (b *Blamer) Importing(stack []symbolize.LocationID) bool {
	importing, moduleInside := false, false
	for _, id := range stack {
		l := &b.s.Locations[id]
		for k := range l.Frames {
			f := &l.Frames[k]
			if !l.Script() {
				importing = importing || strings.HasPrefix(f.Function, "PyImport_Import")
				continue
			}
			isModule := f.Function == "<module>"
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

// isImportlib reports whether a file is the source of Python's importer. CPython has most of it in
// frozen form.
func isImportlib(file string) bool {
	return strings.HasPrefix(file, "<frozen importlib") || strings.HasSuffix(file, "/importlib/__init__.py")
}
