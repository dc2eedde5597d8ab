package report

import (
	"regexp"

	"github.com/heaplapse/heaplapse/symbolize"
)

// advice is what to look at next, for allocations whose stack tells more than its frames do.
type advice struct {
	module   *regexp.Regexp
	function *regexp.Regexp
	text     string
}

var advices = []advice{{
	// https://docs.python.org/3/library/ctypes.html: ctypes frees what it made, never what a foreign function returned.
	module: regexp.MustCompile(`^_ctypes\.`),
	text:   "a C function called through ctypes allocated this; Python never frees what it returns: find the ctypes call that repeats, and call the library's free function",
}, {
	// https://nodejs.org/api/buffer.html: the memory of Buffers lies outside V8's heap and lives as long as a reference.
	function: regexp.MustCompile(`^node::(Buffer::|NodeArrayBufferAllocator|\(anonymous namespace\)::.*ArrayBuffer)|^v8::(ArrayBuffer|BackingStore)::`),
	text:     "memory of Buffers or typed arrays outside V8's heap: something keeps references to them",
}}

// adviceFor returns the advice on a stack, "" for none.
func adviceFor(s *symbolize.Symbols, stack []symbolize.LocationID) string {
	for _, a := range advices {
		for _, id := range stack {
			l := &s.Locations[id]
			if m := s.Module(l); a.module != nil && m != nil && a.module.MatchString(m.Name()) {
				return a.text
			}
			for _, f := range l.Frames {
				if a.function != nil && a.function.MatchString(f.Function) {
					return a.text
				}
			}
		}
	}
	return ""
}
