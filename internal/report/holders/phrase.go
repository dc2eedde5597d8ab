package holders

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Phrase says what holds a block: "held by app.SESSIONS (dict, 41,203 entries) → Session.history (list) → str", or
// "lost: no pointer to it was found".
func Phrase(h *answer.Holder) string {
	first, way := words(h)
	return phrase(h, first, way)
}

// short is Phrase with the beginning and the end of a long way only.
func short(h *answer.Holder) string {
	first, way := words(h)
	return phrase(h, first, ends(way))
}

func phrase(h *answer.Holder, first string, way []string) string {
	switch {
	case isHeld(h):
		return "held by " + strings.Join(append([]string{first}, way...), arrow)
	case len(way) > 1:
		return first + ": " + strings.Join(way, arrow)
	}
	return first
}

const arrow = " → "

// ends returns the beginning and the end of a long way.
func ends(way []string) []string {
	const most, first, last = 8, 4, 3
	if len(way) <= most {
		return way
	}
	list := slices.Concat(way[:first], []string{unknown}, way[len(way)-last:])
	return slices.CompactFunc(list, func(a, b string) bool { return a == unknown && b == unknown })
}

// unknown stands for objects of which nothing is known, or that are left out.
const unknown = "…"

// words are the beginning of a way and the objects on it.
func words(h *answer.Holder) (first string, way []string) {
	switch h.Kind {
	case answer.Lost:
		first = "lost: no pointer to it was found"
	case answer.Cycle:
		return cycle(h)
	case answer.Doubtful:
		first = "held at most by stale memory"
	case answer.NotFound:
		return "not known: the block is in memory that is not understood", nil
	default:
		if objects := ofInterpreter(h); objects != "" {
			return objects, nil
		}
		first = origin(h)
	}
	path := h.Path
	if h.Kind == answer.Doubtful && len(path) > 0 { // what it is a member of is not told
		path = slices.Clone(path)
		path[0].Via = ""
	}
	if rest := behindLoop(path); rest != nil {
		first, path = "the event loop", rest
	}
	way = objects(first, path)
	return way[0], way[1:]
}

// behindLoop returns the part of a way that begins with what the event loop of asyncio has to run, or with a coroutine
// that waits for it, whose variables are the program's; nil if the way does not lead over an event loop.
func behindLoop(path []answer.Step) []answer.Step {
	loop := slices.IndexFunc(path, func(s answer.Step) bool { return s.Via == "._scheduled" || s.Via == "._ready" })
	if loop < 1 || !strings.HasSuffix(path[loop-1].Type, "EventLoop") {
		return nil
	}
	rest := path[loop:]
	local := slices.IndexFunc(rest, func(s answer.Step) bool { return strings.HasPrefix(s.Via, " local ") })
	return rest[max(0, local-1):]
}

// cycle words lost objects that hold each other, with the members that refer to the next one: "Node.next", "Node".
func cycle(h *answer.Holder) (first string, way []string) {
	first = "lost: a cycle of blocks that only they hold"
	if h.Type != "" {
		first = "lost: a cycle of " + clean(h.Type)
	}
	for i, s := range h.Path {
		if i > 0 && named(s.Via) {
			way[i-1] += clean(s.Via)
		}
		way = append(way, clean(cmp.Or(s.Type, unknown))+in(size(s)))
	}
	return first, way
}

// isHeld reports whether something that the program uses holds the block.
func isHeld(h *answer.Holder) bool {
	switch h.Kind {
	case answer.Lost, answer.Cycle, answer.Doubtful, answer.NotFound:
		return false
	}
	return true
}

// interpreters are those whose objects are not understood. Their variables lead to memory that has many objects, whose
// owners are not told by the way: the arenas of Perl, lists of V8 and whatever leads to them. V8 keeps its heap out of
// copies of the process, too.
var interpreters = []struct{ program, library, objects string }{
	{"node", "libnode.so", "objects of JavaScript, or Node.js itself; a heap snapshot tells which objects " +
		"(node --heapsnapshot-signal=SIGUSR2)"},
	{"perl", "libperl.so", "objects of Perl, or perl itself"},
	{"ruby", "libruby", "objects of Ruby, or ruby itself"},
	{"php", "libphp", "objects of PHP, or php itself"},
	{"lua", "liblua", "objects of Lua, or lua itself"},
	{"tclsh", "libtcl", "objects of Tcl, or tclsh itself"},
	{"java", "libjvm.so", "objects of Java, or the JVM itself"},
}

// ofInterpreter tells that a way begins with a variable of an interpreter whose objects are not understood, or on the
// stack of the main thread of Node.js; "" if it does not.
func ofInterpreter(h *answer.Holder) string {
	file := symbolize.FileName(h.Module)
	if h.Kind == answer.Stack && h.Name == "node" {
		file = h.Name
	}
	for _, i := range interpreters {
		version, program := strings.CutPrefix(file, i.program)
		program = program && strings.Trim(version, ".-0123456789") == "" // perl5.36, php8.2
		if program || strings.HasPrefix(file, i.library) {
			return i.objects
		}
	}
	return ""
}

// origin is what the way begins with.
func origin(h *answer.Holder) string {
	name, kind, function := clean(h.Name), clean(h.Type), clean(h.Function)
	switch h.Kind {
	case answer.Module:
		return name
	case answer.Frame:
		return "running " + name + in(place(h))
	case answer.Global:
		return name + in(place(h), kind)
	case answer.Kernel:
		return "the kernel (epoll or a timer)"
	case answer.TLS:
		if h.Module == "" { // the name is that of the thread
			return "thread-local memory of thread " + quoted(name)
		}
		return "thread_local " + name + in(place(h), kind)
	case answer.Stack:
		switch {
		case h.Variable != "":
			return clean(h.Variable) + in(local(h)+" of "+function, place(h), kind)
		case function == "":
			return "the stack of thread " + quoted(name)
		}
		return fmt.Sprintf("thread %s (stack of %s)", quoted(name), function)
	case answer.Shared:
		return "memory shared with other processes"
	}
	return "memory whose content is not understood"
}

func local(h *answer.Holder) string {
	if h.Parameter {
		return "parameter"
	}
	return "local variable"
}

func quoted(name string) string { return `"` + name + `"` }

// place is where a variable is defined, or the file that has it.
func place(h *answer.Holder) string {
	if h.File == "" {
		if strings.HasPrefix(h.Name, h.Module+"+") {
			return "" // the name is the place
		}
		return clean(h.Module)
	}
	return text.Position(h.File, h.Line)
}

// in puts what is known in parentheses.
func in(parts ...string) string {
	var known []string
	for _, p := range parts {
		if p != "" {
			known = append(known, p)
		}
	}
	if len(known) == 0 {
		return ""
	}
	return " (" + strings.Join(known, ", ") + ")"
}

// objects words the objects on a way, which begins with the first one. A member stands behind what it is of. "…"
// follows the first of several that are linked.
func objects(first string, path []answer.Step) []string {
	list := []string{first}
	for i, s := range path {
		last := &list[len(list)-1]
		switch {
		case i > 0 && path[i-1].Links > 0:
			*last += " …"
			list = append(list, clean(s.Type)+in(size(s)))
		case named(s.Via):
			*last += clean(s.Via) + in(clean(s.Type), size(s))
		default:
			list = append(list, clean(cmp.Or(s.Type, unknown))+in(size(s)))
		}
		if s.Links > 0 && i+1 < len(path) && named(path[i+1].Via) {
			list[len(list)-1] += clean(path[i+1].Via)
		}
	}
	return list
}

// named reports whether a step is a member, an attribute or a variable.
func named(via string) bool { return via != "" && !strings.HasPrefix(via, "[") }

// size is the number of entries of a container, and its limit.
func size(s answer.Step) string {
	switch {
	case s.Limit > 0:
		return fmt.Sprintf("a cache: %s of at most %s entries", units.Grouped(s.Length), units.Grouped(s.Limit))
	case s.Length == 1:
		return "1 entry"
	case s.Length > 1:
		return units.Grouped(s.Length) + " entries"
	}
	return ""
}

// maxName limits a name, in columns.
const maxName = 80

func clean(name string) string { return text.ClipName(name, maxName) }
