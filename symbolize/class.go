package symbolize

import (
	_ "embed" // the rules are a file
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/heapfile"
)

// Class is the role of a frame in an allocation.
type Class uint8

// Classes, from what is never to blame to what is.
const (
	ClassApplication Class = iota // whoever wanted the memory
	ClassAllocator                // malloc and its kin, and their wrappers
	ClassProfiler                 // the recording allocator itself, on every stack: an allocator, too
	ClassRuntime                  // containers, call plumbing, start-up code: they allocate for their caller
	ClassInterpreter              // an interpreter's loop: runtime, and what stands above it only ran the script
)

var classNames = [...]string{"application", "allocator", "profiler", "runtime", "interpreter"}

// String is the stable name used in JSON.
func (c Class) String() string { return classNames[c] }

//go:embed rules.txt
var rulesText string

// Rules tell the class of a frame by its function, or by its module where it has no name.
type Rules struct{ list []rule }

type rule struct {
	class   Class
	subject subject
	pattern *regexp.Regexp
}

// subject is what a rule's pattern is matched against.
type subject uint8

const (
	subjectFunction subject = iota
	subjectModule           // the module of any frame
	subjectUnnamed          // the module of a frame without a function
)

var subjects = map[string]subject{"function": subjectFunction, "module": subjectModule, "unnamed": subjectUnnamed}

// DefaultRules are those of rules.txt. They are parsed once, and nobody changes them.
func DefaultRules() *Rules { return defaultRules() }

var defaultRules = sync.OnceValue(func() *Rules {
	r, err := ParseRules(rulesText, "rules.txt")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return r
})

// Before puts rules before others: of two that match, the first counts.
func (r *Rules) Before(others *Rules) *Rules {
	return &Rules{list: append(slices.Clone(r.list), others.list...)}
}

// ParseRules reads rules, one a line: a class, what to match ("function", "module", or "unnamed" for the
// module of a frame without a function) and a regular expression. The first one that matches counts. Errors name file and line.
func ParseRules(text, name string) (*Rules, error) {
	r := &Rules{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		parsed, err := parseRule(strings.Fields(line))
		if err != nil {
			return nil, &heapfile.SyntaxError{File: name, Line: i + 1, Msg: err.Error()}
		}
		r.list = append(r.list, parsed)
	}
	return r, nil
}

func parseRule(f []string) (rule, error) {
	if len(f) < 3 {
		return rule{}, fmt.Errorf("want CLASS function|module|unnamed REGEXP")
	}
	class := slices.Index(classNames[:], f[0])
	if class < 0 {
		return rule{}, fmt.Errorf("unknown class %q: want application, allocator, profiler, runtime or interpreter", f[0])
	}
	subject, ok := subjects[f[1]]
	if !ok {
		return rule{}, fmt.Errorf("cannot match %q: want function, module or unnamed", f[1])
	}
	pattern, err := regexp.Compile(strings.Join(f[2:], " "))
	return rule{Class(class), subject, pattern}, err
}

// classify returns the class of a frame with a function, or with only a module.
func (r *Rules) classify(function, module string) Class {
	for i := range r.list {
		rule := &r.list[i]
		text := module
		switch {
		case rule.subject == subjectFunction:
			text = function
		case rule.subject == subjectUnnamed && function != "":
			text = ""
		}
		if text != "" && rule.pattern.MatchString(text) {
			return rule.class
		}
	}
	return ClassApplication
}

// FrameRef points at a frame of a stack: the position of its location in the
// stack, and of the frame in the location. Frame is -1 where the location is unnamed.
type FrameRef struct {
	Position int
	Frame    int
}

// Blamer finds the frame of a stack that an allocation should be put down to. It keeps
// what it learned of locations; it is not safe for concurrent use.
type Blamer struct {
	s       *Symbols
	rules   *Rules
	classes map[LocationID][]Class
}

// NewBlamer makes a Blamer; nil rules are the default ones.
func NewBlamer(s *Symbols, rules *Rules) *Blamer {
	if rules == nil {
		rules = DefaultRules()
	}
	return &Blamer{s: s, rules: rules, classes: map[LocationID][]Class{}}
}

// Classes are the classes of a location's frames; one for an unnamed location.
func (b *Blamer) Classes(id LocationID) []Class {
	if c, ok := b.classes[id]; ok {
		return c
	}
	l := &b.s.Locations[id]
	module := ""
	if m := b.s.Module(l); m != nil {
		module = m.Name()
	}
	var out []Class
	for _, f := range l.Frames {
		out = append(out, b.rules.classify(f.Function, module))
	}
	if len(out) == 0 {
		out = append(out, b.nameless(l, module))
	}
	b.classes[id] = out
	return out
}

// nameless is the class of a location without a function. Generated code of which nobody kept the names is the script that an interpreter runs:
// the nearest named function below it tells more.
func (b *Blamer) nameless(l *Location, module string) Class {
	if l.Reason == ReasonAnonymous || l.Reason == ReasonNoPerfEntry {
		return ClassInterpreter
	}
	return b.rules.classify("", module)
}

// Blame is the frame nearest the leaf that belongs to the application; else the nearest one with a name that is not the
// allocator's; else the nearest one that is not; else the leaf. Beyond an interpreter's loop nothing is looked for: a C extension that calls
// back into Python did not allocate what the script made. ok is false for an empty stack.
func (b *Blamer) Blame(stack []LocationID) (ref FrameRef, ok bool) {
	if len(stack) == 0 {
		return FrameRef{}, false
	}
	from := b.belowAllocators(stack)
	application := func(c Class, _ bool) bool { return c == ClassApplication }
	runtime := func(c Class) bool { return c == ClassRuntime || c == ClassInterpreter }
	named := func(c Class, named bool) bool { return runtime(c) && named }
	other := func(c Class, _ bool) bool { return runtime(c) }
	for _, wanted := range []func(Class, bool) bool{application, named, other} {
		if ref, ok := b.first(stack, from, wanted); ok {
			return ref, true
		}
	}
	return b.refTo(stack[0], 0, 0), true
}

// belowAllocators is the position after the last allocator that only allocators and unnamed places stand before: what has no
// name and is called by an allocator is a part of it.
func (b *Blamer) belowAllocators(stack []LocationID) (from int) {
	for i, id := range stack {
		classes := b.Classes(id)
		last := classes[len(classes)-1]
		if last == ClassAllocator || last == ClassProfiler {
			from = i + 1
		} else if b.s.Locations[id].Named() {
			break
		}
	}
	if from == len(stack) {
		return 0
	}
	return from
}

// first finds the first frame, from a position on and up to an interpreter's loop, that is wanted by its class and whether it has a name.
func (b *Blamer) first(stack []LocationID, from int, wanted func(Class, bool) bool) (FrameRef, bool) {
	for i, id := range stack[from:] {
		for k, c := range b.Classes(id) {
			if wanted(c, b.s.Locations[id].Named()) {
				return b.refTo(id, from+i, k), true
			}
			if c == ClassInterpreter {
				return FrameRef{}, false
			}
		}
	}
	return FrameRef{}, false
}

func (b *Blamer) refTo(id LocationID, position, frame int) FrameRef {
	if !b.s.Locations[id].Named() {
		frame = -1
	}
	return FrameRef{Position: position, Frame: frame}
}
