package jit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNames lists names as each version of Node writes them (see testdata), of CPython and of
// others, and malformed ones.
func TestNames(t *testing.T) {
	script := func(function, file string, line, column int) Symbol {
		return Symbol{Function: function, File: file, Line: line, Column: column, StartLine: line}
	}
	for name, want := range map[string]Symbol{
		// Node 18: several tags, no columns.
		"LazyCompile:*hot /srv/hot.js:1":                         script("hot", "/srv/hot.js", 1, 0),
		"LazyCompile:~hot /srv/hot.js:1":                         script("hot", "/srv/hot.js", 1, 0),
		"LazyCompile:~get size /srv/hot.js:10":                   script("get size", "/srv/hot.js", 10, 0),
		"LazyCompile:~two words /srv/hot.js:11":                  script("two words", "/srv/hot.js", 11, 0),
		"LazyCompile:~inVM my file.js:1":                         script("inVM", "my file.js", 1, 0),
		"LazyCompile:~evaled :1":                                 script("evaled", "", 1, 0),
		"LazyCompile:* :1":                                       script("(anonymous)", "", 1, 0),
		"Function:^hot /srv/hot.js:2":                            script("hot", "/srv/hot.js", 2, 0),
		"Function:^resolve node:path:1109":                       script("resolve", "node:path", 1109, 0),
		"Function:~ /srv/hot.js:1":                               script("(anonymous)", "/srv/hot.js", 1, 0),
		"Function:^invm evalmachine.<anonymous>:1":               script("invm", "evalmachine.<anonymous>", 1, 0),
		"Function:~<instance_members_initializer> /srv/hot.js:7": script("<instance_members_initializer>", "/srv/hot.js", 7, 0),
		"Function:wasm-function[0]-0-liftoff":                    {Function: "wasm-function[0]-0"},
		"Function:wasm-function[0]-0-turbofan":                   {Function: "wasm-function[0]-0"},
		"Script:~ my file.js:1":                                  script("(anonymous)", "my file.js", 1, 0),
		"Eval:~ node:internal/main/run_main_module:1":            script("(anonymous)", "node:internal/main/run_main_module", 1, 0),
		"Eval:~ :1":                          script("(anonymous)", "", 1, 0),
		"LazyCompile:~ee [eval]:1":           script("ee", "[eval]", 1, 0),
		"InterpretedFunction:~f /srv/a.js:3": script("f", "/srv/a.js", 3, 0),
		"LazyCompile:~f file:///srv/a.mjs:3": script("f", "file:///srv/a.mjs", 3, 0),
		// Node 20, 22 and 24.
		"JS:*hot /srv/hot.js:2:13":         script("hot", "/srv/hot.js", 2, 13),
		"JS:~hot /srv/hot.js:2:13":         script("hot", "/srv/hot.js", 2, 13),
		"JS:^hot /srv/hot.js:2:13":         script("hot", "/srv/hot.js", 2, 13),
		"JS:+hot /srv/hot.js:2:13":         script("hot", "/srv/hot.js", 2, 13),
		"JS:+'hot /srv/hot.js:2:13":        script("hot", "/srv/hot.js", 2, 13),
		"JS:*'hot /srv/hot.js:2:13":        script("hot", "/srv/hot.js", 2, 13),
		"JS:^emit node:events:465:44":      script("emit", "node:events", 465, 44),
		"JS:~ file:///srv/a.mjs:1:1":       script("(anonymous)", "file:///srv/a.mjs", 1, 1),
		"JS:*evaled :1:16":                 script("evaled", "", 1, 16),
		"JS:*set v :1:16":                  script("set v", "", 1, 16),
		"JS:*inVM my file.js:1:14":         script("inVM", "my file.js", 1, 14),
		"JS:*#priv /srv/odd.js:2:16":       script("#priv", "/srv/odd.js", 2, 16),
		"JS:*a b /srv/odd.js:1:18":         script("a b", "/srv/odd.js", 1, 18),
		"JS:*get size node:internal/x:3:4": script("get size", "node:internal/x", 3, 4),
		"JS:^ee [eval]:1:12":               script("ee", "[eval]", 1, 12),
		"Eval:~ :1:1":                      script("(anonymous)", "", 1, 1),
		"JS:wasm-function[0]-0-liftoff":    {Function: "wasm-function[0]-0"},
		`JS:*f C:\srv\a.js:1:2`:            script("f", `C:\srv\a.js`, 1, 2),
		"Function:+f /a b/c.js:3:4":        script("f", "/a b/c.js", 3, 4),
		"JS:*f http://host:8080/a.js:3:4":  script("f", "http://host:8080/a.js", 3, 4),
		// HotSpot.
		"void Leak.handle(int)": {Function: "Leak.handle"},
		"java.lang.Object[] java.util.Arrays.copyOf(java.lang.Object[], int)": {Function: "java.util.Arrays.copyOf"},
		"void java.util.HashMap.<init>()":                                     {Function: "java.util.HashMap.<init>"},
		"int shop.Cart$Lines.size()":                                          {Function: "shop.Cart$Lines.size"},
		"I2C/C2I adapters":                                                    {Function: "I2C/C2I adapters"},
		"void f(int)":                                                         {Function: "void f(int)"},
		"forward_exception Runtime1 stub":                                     {Function: "forward_exception Runtime1 stub"},
		// Kinds of code that are no functions of a script.
		"Builtin:ArrayMap":                      {Function: "Builtin:ArrayMap"},
		"BytecodeHandler:LdaZero":               {Function: "BytecodeHandler:LdaZero"},
		"Stub:js-to-wasm:i:i":                   {Function: "Stub:js-to-wasm:i:i"},
		`RegExp:a(b|c)+d \d`:                    {Function: `RegExp:a(b|c)+d \d`},
		"RegExp:^/a b:1:2":                      {Function: "RegExp:^/a b:1:2"},
		`RegExp.> src: 'a(b|c)+d \d' flags: ''`: {Function: `RegExp.> src: 'a(b|c)+d \d' flags: ''`},
		// Without a position.
		"JS:*noplace":         {Function: "noplace"},
		"JS:* /srv/a.js":      {Function: "(anonymous)", File: "/srv/a.js"},
		"JS:*":                {Function: "(anonymous)"},
		"JS:":                 {Function: "JS:"},
		"JS:f /srv/a.js:1x:2": script("f", "/srv/a.js:1x", 2, 0),
		"Script:~ /srv/a.js:99999999999999999999:1": script("(anonymous)", "/srv/a.js:99999999999999999999", 1, 0),
		"JS:*f:1": script("(anonymous)", "f", 1, 0),
		// CPython.
		"py::Tracker.record:/srv/leak.py": {Function: "Tracker.record", File: "/srv/leak.py"},
		"py::<module>:/srv/with:colon.py": {Function: "<module>:/srv/with", File: "colon.py"},
		"py::noplace":                     {Function: "py::noplace"},
		// Other compilers.
		"void Interpreter::run(Frame*) [tier 2]": {Function: "void Interpreter::run(Frame*) [tier 2]"},
		"std::f:1:2":                             {Function: "std::f:1:2"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, want, parseName(name)) })
	}
}

// TestTiers: the character before the function tells the compiler.
func TestTiers(t *testing.T) {
	m := &Map{}
	names := []string{"JS:~f a.js:1:1", "JS:^f a.js:1:1", "JS:+'f a.js:1:1", "LazyCompile:*f a.js:1", "JS:f a.js:1:1", "py::f:a.py"}
	want := []Tier{TierPlain, TierPlain, TierOptimized, TierOptimized, TierUnknown, TierUnknown}
	for i, name := range names {
		m.add(entry{start: uint64(0x100 * (i + 1)), size: 0x10, name: name})
	}
	m.finish()
	for i := range want {
		start := uint64(0x100 * (i + 1))
		require.Equal(t, Code{start, want[i]}, m.Code(start+5), names[i])
	}
	require.Zero(t, m.Code(0x50))
}
