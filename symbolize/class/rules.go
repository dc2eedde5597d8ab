// Package class decides which function requested the memory of an allocation.
//
// [Rules] map each frame to a [Class] by its function or module: allocators, the profiler,
// containers and language runtimes allocate on behalf of their callers. A [Blamer] picks the frame
// of a stack that the allocation is attributed to, which is the first one from the leaf that
// belongs to the application.
package class

import (
	_ "embed" // rules.txt
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/infile"
)

// Class is the role of a frame in an allocation.
type Class uint8

// Classes of frames.
const (
	Application Class = iota // requests memory for itself: allocations are attributed to it
	Allocator                // malloc and similar functions, and their wrappers
	Profiler                 // the recording allocator itself, which is on every stack
	Runtime                  // containers, call dispatch, start-up code: they allocate for their caller
	Interpreter              // the main loop of an interpreter: Runtime; frames above it are not blamed
)

var names = [...]string{"application", "allocator", "profiler", "runtime", "interpreter"}

// String returns the stable name that JSON and rule files use.
func (c Class) String() string { return names[c] }

//go:embed rules.txt
var rulesText string

// Rules map frames to classes. They are immutable. Without rules every frame is of the
// application.
type Rules struct{ list []rule }

type rule struct {
	class   Class
	subject subject
	pattern *regexp.Regexp
}

// subject is what the pattern of a rule is matched against.
type subject uint8

const (
	subjectFunction subject = iota
	subjectModule           // the module of any frame
	subjectUnnamed          // the module of a frame without a function
)

var subjects = map[string]subject{"function": subjectFunction, "module": subjectModule, "unnamed": subjectUnnamed}

// DefaultRules returns the rules of rules.txt.
func DefaultRules() *Rules { return defaultRules() }

var defaultRules = sync.OnceValue(func() *Rules {
	r, err := ParseRules(rulesText, "rules.txt")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return r
})

// Before returns the rules of r followed by others. The first rule that matches a frame applies.
func (r *Rules) Before(others *Rules) *Rules {
	return &Rules{list: append(slices.Clone(r.list), others.list...)}
}

// ReadRules reads rules from a file. See [ParseRules].
func ReadRules(path string) (*Rules, error) {
	text, err := infile.ReadSmall(path)
	if err != nil {
		return nil, err
	}
	return ParseRules(string(text), path)
}

// ParseRules reads one rule a line: a class, what to match ("function", "module", or "unnamed" for
// the module of a frame without a function), and a regular expression. Empty lines and lines that
// begin with # are ignored. An error is a [heapfile.SyntaxError] with the name and the line.
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

// parseRule parses the fields of a line such as "allocator function ^xmalloc$".
func parseRule(f []string) (rule, error) {
	if len(f) < 3 {
		return rule{}, fmt.Errorf("want CLASS function|module|unnamed REGEXP")
	}
	class := slices.Index(names[:], f[0])
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

// classify returns the class of a frame. function is "" for a frame without a name.
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
	return Application
}
