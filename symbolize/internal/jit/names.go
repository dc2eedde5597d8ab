package jit

import (
	"cmp"
	"strconv"
	"strings"
)

// parseName splits the name that a compiler writes for a function. Names of other forms are
// functions as they are.
//
//	JS:*hot /srv/hot.js:1:13          V8 of Node 20 and later
//	LazyCompile:*hot /srv/hot.js:1    V8 up to Node 18
//	py::Tracker.record:/srv/leak.py   CPython
//	void shop.Cart.add(int, long)     HotSpot (Method::external_name in src/hotspot/share/oops/method.cpp)
func parseName(name string) Symbol {
	if v, ok := cutV8(name); ok {
		return v.frame()
	}
	if rest, ok := strings.CutPrefix(name, "py::"); ok {
		if function, file, ok := cutLastColon(rest); ok && function != "" {
			return Symbol{Function: function, File: file}
		}
	}
	if method, ok := cutJava(name); ok {
		return Symbol{Function: method}
	}
	return Symbol{Function: name}
}

// cutJava removes the result and the parameters of a method of Java. ok is false for other names.
func cutJava(name string) (method string, ok bool) {
	head, parameters, ok := strings.Cut(name, "(")
	if !ok || !strings.HasSuffix(parameters, ")") {
		return "", false
	}
	result, method, ok := strings.Cut(head, " ")
	return method, ok && result != "" && strings.Contains(method, ".") && !strings.ContainsAny(method, " :*&")
}

// v8Tags are the kinds of code that V8 names by a function of a script (src/logging/code-events.h,
// log.cc). Node 18 writes all but JS, later versions JS, Script and Eval. The names of other kinds
// (Builtin, BytecodeHandler, Stub, RegExp, Callback) have no position, and are shown with their
// tags.
var v8Tags = []string{"JS:", "LazyCompile:", "Function:", "InterpretedFunction:", "Script:", "Eval:"}

// v8Marks are the characters between tag and function: the compiler that made the code
// (CodeKindToMarker in src/objects/code-kind.cc). An apostrophe follows where the code is
// specialized to a context.
//
//	~ interpreter   ^ baseline   + Maglev, Turboprop   * TurboFan
const v8Marks = "~^+*'"

// v8Name is a name of V8 without its tag.
type v8Name struct {
	mark byte // the first of v8Marks, or 0
	rest string
}

// cutV8 removes the tag and the marks of a name of V8. ok is false for other names.
func cutV8(name string) (v v8Name, ok bool) {
	for _, tag := range v8Tags {
		rest, found := strings.CutPrefix(name, tag)
		if !found || rest == "" {
			continue
		}
		v.rest = strings.TrimLeft(rest, v8Marks)
		if len(v.rest) < len(rest) {
			v.mark = rest[0]
		}
		return v, true
	}
	return v8Name{}, false
}

// tier is the tier of the code.
func (v v8Name) tier() Tier {
	switch v.mark {
	case '*', '+':
		return TierOptimized
	case '~', '^':
		return TierPlain
	}
	return TierUnknown
}

// frame parses "hot /srv/hot.js:1:13". Function, file and column may be missing. WebAssembly has no
// position: "fac-0-liftoff" is the function with index 0, by the compiler Liftoff.
func (v v8Name) frame() Symbol {
	head, line, column, ok := cutPosition(v.rest)
	var function, file string
	switch {
	case ok:
		function, file = cutScript(head)
	case strings.HasPrefix(head, " "):
		function, file = "", head[1:]
	default:
		function = strings.TrimSuffix(strings.TrimSuffix(head, "-liftoff"), "-turbofan")
	}
	return Symbol{Function: cmp.Or(function, "(anonymous)"), File: file, Line: line, Column: column, StartLine: line}
}

// cutPosition removes ":1:13" or ":1" from the end.
func cutPosition(s string) (head string, line, column int, ok bool) {
	head, last, ok := cutNumber(s)
	if !ok {
		return s, 0, 0, false
	}
	if before, line, ok := cutNumber(head); ok {
		return before, line, last, true
	}
	return head, last, 0, true
}

// cutNumber removes a colon and a number from the end.
func cutNumber(s string) (head string, n int, ok bool) {
	head, digits, ok := cutLastColon(s)
	if !ok {
		return s, 0, false
	}
	v, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return s, 0, false
	}
	return head, int(v), true
}

// cutScript splits "get size /srv/a b.js" into function and script. Both may contain spaces and may
// be empty: the script begins with a slash or a scheme if it can, else it follows the first space
// that is not part of "get " or "set ".
func cutScript(head string) (function, script string) {
	if i := strings.Index(head, " /"); i >= 0 {
		return head[:i], head[i+1:]
	}
	for i := range len(head) {
		if head[i] == ' ' && hasScheme(head[i+1:]) {
			return head[:i], head[i+1:]
		}
	}
	accessor := ""
	if strings.HasPrefix(head, "get ") || strings.HasPrefix(head, "set ") {
		accessor = head[:len("get ")]
	}
	if name, script, ok := strings.Cut(head[len(accessor):], " "); ok {
		return accessor + name, script
	}
	if function, script, ok := strings.Cut(head, " "); ok {
		return function, script
	}
	return "", head
}

// hasScheme reports whether a name begins as a URL or as a path of Windows: "node:fs", "C:\a.js".
func hasScheme(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return i > 0 && c == ':'
		}
	}
	return false
}

// cutLastColon splits at the last colon.
func cutLastColon(s string) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
