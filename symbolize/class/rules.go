// Package class decides which function requested the memory of an allocation.
//
// [Rules] map each frame to a [Class] by its function or module, and a line of a script by its file:
// allocators, the profiler, containers and language runtimes allocate on behalf of their callers. A
// [Blamer] picks the frame of a stack that the allocation is attributed to, which is the first one
// from the leaf that belongs to the application.
package class

import (
	_ "embed" // rules.txt
	"fmt"
	"path"
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
	Library                  // code of others: Application, except that a script is preferred to it
	Mmap                     // memory that the kernel mapped: Allocator, but of other memory
)

var names = [...]string{"application", "allocator", "profiler", "runtime", "interpreter", "library", "mmap"}

// String returns the stable name that JSON and rule files use.
func (c Class) String() string { return names[c] }

//go:embed rules.txt
var rulesText string

// Rules map frames to classes. They are immutable. Without rules every frame is of the
// application.
type Rules struct{ list []rule }

type rule struct {
	role    Role
	subject subject
	pattern *regexp.Regexp
}

// Role is what a frame does in an allocation, and for which runtime.
type Role struct {
	Class
	// Runtime is the language, interpreter or library that the frame is a part of, as in "frames of
	// CPython"; "" for code of the application and of other libraries.
	Runtime string
}

// subject is what the pattern of a rule is matched against.
type subject uint8

const (
	subjectFunction subject = iota
	subjectFile             // the path of the source file
	subjectModule           // the module of any frame
	subjectUnnamed          // the module of a frame without a function
	subjectPath             // the path of the module of any frame
	subjectScript           // source file and function of a line of a script, which no other rule matches
	subjects
)

// subjectNames are the names in rules.
var subjectNames = [subjects]string{"function", "file", "module", "unnamed", "path", "script"}

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

// ParseRules reads one rule a line: a class, what to match ("function", "file" for the path of the
// source file, "module", "unnamed" for the module of a frame without a function, "path" for that of
// the module, or "script" for the file and the function of a line of a script), and a regular
// expression. A line "of NAME" names the runtime of the rules after it; without a name, they have none.
// Empty lines and lines that begin with # are ignored. An error is a [heapfile.SyntaxError] with the
// name and the line.
func ParseRules(text, name string) (*Rules, error) {
	r, runtime := &Rules{}, ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if fields[0] == "of" {
			runtime = strings.Join(fields[1:], " ")
			continue
		}
		parsed, err := parseRule(fields)
		if err != nil {
			return nil, &heapfile.SyntaxError{File: name, Line: i + 1, Msg: err.Error()}
		}
		parsed.role.Runtime = runtime
		r.list = append(r.list, parsed)
	}
	return r, nil
}

// parseRule parses the fields of a line such as "allocator function ^xmalloc$".
func parseRule(f []string) (rule, error) {
	if len(f) < 3 {
		return rule{}, fmt.Errorf("want CLASS function|file|module|unnamed|path|script REGEXP")
	}
	class := slices.Index(names[:], f[0])
	if class < 0 {
		return rule{}, fmt.Errorf("unknown class %q: want one of %s", f[0], strings.Join(names[:], ", "))
	}
	what := slices.Index(subjectNames[:], f[1])
	if what < 0 {
		return rule{}, fmt.Errorf("cannot match %q: want function, file, module, unnamed, path or script", f[1])
	}
	pattern, err := regexp.Compile(strings.Join(f[2:], " "))
	return rule{Role{Class: Class(class)}, subject(what), pattern}, err
}

// texts are the texts of a frame that rules are matched against, by subject; "" does not match.
type texts [subjects]string

// Names are those of a frame, which decide its class. Module is the path of its module. Fields may
// be empty.
type Names struct {
	Function, File, Module string
	// Script reports whether the frame is a line of a script, rather than code.
	Script bool
}

// Class returns the class of a frame.
func (r *Rules) Class(f Names) Class { return r.Role(f).Class }

// Role returns the class of a frame and its runtime.
func (r *Rules) Role(f Names) Role {
	if f.Script {
		return r.match(&texts{subjectScript: f.File + " " + f.Function})
	}
	t := texts{subjectFunction: f.Function, subjectFile: f.File, subjectPath: f.Module}
	if f.Module != "" {
		t[subjectModule] = path.Base(f.Module)
	}
	if f.Function == "" {
		t[subjectUnnamed] = t[subjectModule]
	}
	return r.match(&t)
}

// IsOwn reports whether the code in a module is the user's own, by the path of the module: it belongs to no library,
// interpreter or package.
func (r *Rules) IsOwn(module string) bool { return r.Class(Names{Module: module}) == Application }

// match returns the role of the first rule that matches.
func (r *Rules) match(t *texts) Role {
	for i := range r.list {
		rule := &r.list[i]
		if text := t[rule.subject]; text != "" && rule.pattern.MatchString(text) {
			return rule.role
		}
	}
	return Role{}
}
