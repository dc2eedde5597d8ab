package class

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestImporting(t *testing.T) {
	const (
		find    = "<frozen importlib._bootstrap> _find_and_load"
		module  = "/srv/lib/tables.py <module>"
		main    = "/srv/app.py <module>"
		handle  = "/srv/app.py handle"
		reload  = "/usr/lib/python3.11/importlib/__init__.py reload"
		runtime = "/usr/lib/python3.11/runpy.py _run_code"
	)
	for name, c := range map[string]struct {
		stack []string
		want  bool
	}{
		"a module runs another": {[]string{"python PyDict_New", module, main}, true},
		"a function of a module that does": {[]string{
			"python PyDict_New", "/srv/lib/tables.py fill", module, "python PyEval_EvalCode", main,
		}, true},
		"the importer":       {[]string{"python PyMarshal_ReadObject", find, handle, main}, true},
		"a function imports": {[]string{"python PyDict_New", module, find, handle, main}, true},
		"an interpreter without lines": {[]string{
			"python PyDict_New", "python PyEval_EvalCode", "python PyImport_ImportModuleLevelObject",
		}, true},
		"a stripped interpreter": {[]string{
			"python PyDict_New", "python PyEval_EvalCode", "unnamed ", "python _PyEval_EvalFrameDefault",
			"python _PyFunction_Vectorcall", "python PyObject_CallMethodObjArgs",
		}, true},
		"a program that executes code": {[]string{
			"python PyDict_New", "python PyEval_EvalCode", "python _PyEval_EvalFrameDefault", "python PyRun_StringFlags",
			"python PyObject_CallMethodObjArgs",
		}, false},
		"code that is executed for a method": {[]string{
			"python PyDict_New", "/srv/app.py fill", "python PyEval_EvalCode", "/srv/app.py write",
			"python PyObject_CallMethodObjArgs", main,
		}, false},
		"a method that C calls": {[]string{
			"python PyDict_New", "python _PyEval_EvalFrameDefault", "python PyObject_CallMethodObjArgs",
		}, false},
		"the program itself":                   {[]string{"python PyDict_New", handle, main}, false},
		"the program itself, run by a library": {[]string{"python PyDict_New", main, runtime}, false},
		"a module that is reloaded":            {[]string{"python PyDict_New", module, find, reload, handle, main}, false},
		"code without scripts":                 {[]string{"ops.so <module>", "ops.so <module>"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			symbols, stack := scriptStack(t, c.stack...)
			assert.Equal(t, c.want, NewBlamer(symbols, nil).Importing(stack))
		})
	}
}
