package inlined

import (
	"slices"
	"strings"
)

// dispatch is in the names of V8's own code between JavaScript and the native functions that it
// calls. Which of it is on a stack depends on how the caller was compiled.
var dispatch = [...]string{"Builtins_", "Builtin_HandleApiCall", "FunctionCallbackArguments", "HandleApiCallHelper"}

// interpreter is in the name of the code that runs functions which have no code of their own yet:
// such a frame stands for a function that is not known.
const interpreter = "Builtins_InterpreterEntryTrampoline"

// IsDispatch reports whether a name, which may be mangled, is that of V8's own code between
// JavaScript and the native functions that it calls.
func IsDispatch(name string) bool {
	isPart := func(part string) bool { return strings.Contains(name, part) }
	return !isPart(interpreter) && slices.ContainsFunc(dispatch[:], isPart)
}
