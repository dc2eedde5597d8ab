package report

import (
	_ "embed" // the advice is a file
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/heaplapse/heaplapse/symbolize"
)

// advice is what to look at next, for allocations whose stack tells more than its frames do.
type advice struct {
	module  bool // pattern is for modules, not for functions
	pattern *regexp.Regexp
	text    string
	source  string
}

//go:embed advice.txt
var adviceText string

var advices = sync.OnceValue(func() []advice {
	list, err := parseAdvice(adviceText)
	if err != nil {
		panic(err) // the file is part of the program and has a test
	}
	return list
})

// parseAdvice reads entries of three lines, with blank lines between them and comments ("#") before.
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
	if subject != "function" && subject != "module" {
		return a, errors.New("want function or module")
	}
	a = advice{module: subject == "module", text: lines[1], source: lines[2]}
	a.pattern, err = regexp.Compile(pattern)
	return a, err
}

// adviceFor returns the advice on a stack, "" for none.
func adviceFor(s *symbolize.Symbols, stack []symbolize.LocationID) string {
	for _, a := range advices() {
		for _, id := range stack {
			if a.matches(s, &s.Locations[id]) {
				return a.text
			}
		}
	}
	return ""
}

func (a *advice) matches(s *symbolize.Symbols, l *symbolize.Location) bool {
	if a.module {
		m := s.Module(l)
		return m != nil && a.pattern.MatchString(m.Name())
	}
	for _, f := range l.Frames {
		if a.pattern.MatchString(f.Function) {
			return true
		}
	}
	return false
}

// matchesNames is matches for a frame of which only the names are known; the module is a path.
func (a *advice) matchesNames(module, function string) bool {
	if a.module {
		return module != "" && a.pattern.MatchString(path.Base(module))
	}
	return a.pattern.MatchString(function)
}
