package siteview

import (
	_ "embed" // the advice is a file
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/internal/lazyregexp"
	"github.com/heaplapse/heaplapse/symbolize"
)

// advice is what to look at next, for allocations whose stack shows a known cause.
type advice struct {
	// subject is what pattern matches: "function", "container", "resized" or "module" for a frame
	// of the stack, "beside" for a module of a process that grows while its heap does not, "heap" for
	// one that has a heap of its own. See advice.txt.
	subject string
	pattern *regexp.Regexp
	in      *regexp.Regexp // matches the modules of its functions; nil: all
	text    string
	source  string
}

//go:embed advice.txt
var adviceFile string

var advices = sync.OnceValue(func() []advice {
	list, err := parseAdvice(adviceFile)
	if err != nil {
		panic(err) // the file is part of the program and has a test
	}
	return list
})

// parseAdvice reads entries of three lines, with blank lines between them and comments ("#")
// before.
func parseAdvice(text string) (list []advice, err error) {
	for block := range strings.SplitSeq(text, "\n\n") {
		var lines []string
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		a, err := parseEntry(lines)
		if err != nil {
			return nil, fmt.Errorf("advice %q: %w", lines[0], err)
		}
		list = append(list, a)
	}
	return list, nil
}

func parseEntry(lines []string) (a advice, err error) {
	if len(lines) != 3 {
		return a, errors.New("want a pattern, the advice and its source")
	}
	subject, pattern, _ := strings.Cut(lines[0], " ")
	subject, language, limited := strings.Cut(subject, "@")
	if !slices.Contains([]string{"function", "container", "resized", "module", "beside", "heap"}, subject) {
		return a, errors.New("want function, container, resized, module, beside or heap")
	}
	a = advice{subject: subject, text: lines[1], source: lines[2]}
	if limited {
		modules := languages[language]
		if modules == nil {
			return a, fmt.Errorf("unknown language %q", language)
		}
		a.in = modules()
	}
	a.pattern, err = regexp.Compile(pattern)
	return a, err
}

// languages are the modules of the interpreters that advice is about.
var languages = map[string]func() *regexp.Regexp{
	"python": lazyregexp.New(`^(python[0-9.]*\w*|libpython[0-9.]*\w*\.so.*|uwsgi[^/]*)$`),
}

// ranks are the indices of the first advice about a frame, of the first that is only about a frame
// that a line of a script called, and of the first that is only about a site that was seen to grow
// more than once; noAdvice if there is none.
type ranks struct {
	any, container, resized int
	// allocates reports whether the frame only gets memory for its caller.
	allocates bool
}

const noAdvice = math.MaxInt

// noRanks are the ranks of a frame without advice.
var noRanks = ranks{any: noAdvice, container: noAdvice, resized: noAdvice, allocates: true}

// allocating matches functions, without template arguments, that get memory for a container.
var allocating = lazyregexp.New(`(?i)alloc|^operator new|^tc_new|_M_create$|_M_mutate$|__split_buffer|__grow_by`)

func ranksOf(module, function string) ranks {
	r := noRanks
	for i, a := range advices() {
		switch {
		case !a.matches(module, function):
		case a.subject == "container":
			r.container = min(r.container, i)
		case a.subject == "resized":
			r.resized = min(r.resized, i)
		default:
			r.any = min(r.any, i)
		}
	}
	r.allocates = r.resized == noAdvice && allocating().MatchString(identity.Untemplated(function))
	return r
}

// include adds the ranks of the next frame. A container grows only if it requested the memory itself: below it, its
// elements do.
func (r *ranks) include(o ranks) {
	r.any = min(r.any, o.any)
	if r.allocates {
		r.container, r.resized, r.allocates = o.container, o.resized, o.allocates
	}
}

// first is the rank of the advice that is given.
func (r *ranks) first(container, resized bool) int {
	first := r.any
	if container {
		first = min(first, r.container)
	}
	if resized {
		first = min(first, r.resized)
	}
	return first
}

// withoutLines matches what an advice says if the lines of scripts are not known.
var withoutLines = regexp.MustCompile(`\[([^\]]*)\]`)

// textOf returns the text of an advice; empty for noAdvice. lines reports whether the lines of the
// script are known.
func textOf(rank int, lines bool) string {
	switch {
	case rank == noAdvice:
		return ""
	case lines:
		return withoutLines.ReplaceAllString(advices()[rank].text, "")
	}
	return withoutLines.ReplaceAllString(advices()[rank].text, "$1")
}

// pythonMalloc is the variable in the advice on CPython's own allocator.
const pythonMalloc = "PYTHONMALLOC"

// AdviceBeside returns the advice on a process that grows while its heap does not; empty if there
// is none. mallocOnly reports that CPython ran without its own allocator, so that its objects are
// in the heap.
func AdviceBeside(s *symbolize.Symbols, mallocOnly bool) string {
	lines := slices.ContainsFunc(s.Locations, func(l symbolize.Location) bool { return l.Script() })
	for rank, a := range advices() {
		if a.subject != "beside" || !a.isOf(s.Modules) {
			continue
		}
		text := textOf(rank, lines)
		done := mallocOnly && strings.Contains(text, pythonMalloc)
		if text != "" && !done {
			return text
		}
	}
	return ""
}

// OwnHeap names the heap of a process that is not in its snapshots, because its language has an allocator of its own;
// "" if there is none.
func OwnHeap(s *symbolize.Symbols) string {
	for _, a := range advices() {
		if a.subject == "heap" && a.isOf(s.Modules) {
			return a.text
		}
	}
	return ""
}

// isOf reports whether the advice is about one of the modules of a process.
func (a *advice) isOf(modules []symbolize.Module) bool {
	return slices.ContainsFunc(modules, func(m symbolize.Module) bool { return a.pattern.MatchString(m.Name()) })
}

// matches reports whether the advice is about a frame.
func (a *advice) matches(module, function string) bool {
	if a.in != nil && module != "" && !a.in.MatchString(path.Base(module)) {
		return false
	}
	switch a.subject {
	case "module":
		return module != "" && a.pattern.MatchString(path.Base(module))
	case "function", "container", "resized":
		return a.pattern.MatchString(function)
	}
	return false
}
