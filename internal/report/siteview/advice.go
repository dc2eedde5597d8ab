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

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/symbolize"
)

// advice is what to look at next, for allocations whose stack shows a known cause.
type advice struct {
	// subject is what pattern matches: "function" or "module" for a frame of the stack, "beside"
	// for a module of a process that grows while its heap does not.
	subject string
	pattern *regexp.Regexp
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
	if subject != "function" && subject != "module" && subject != "beside" {
		return a, errors.New("want function, module or beside")
	}
	a = advice{subject: subject, text: lines[1], source: lines[2]}
	a.pattern, err = regexp.Compile(pattern)
	return a, err
}

// rankOf is the index of the first advice about a frame, or noAdvice.
func rankOf(module, function string) int {
	if i := slices.IndexFunc(advices(), func(a advice) bool { return a.matches(module, function) }); i >= 0 {
		return i
	}
	return noAdvice
}

const noAdvice = math.MaxInt

// adviceText returns the advice of a rank; empty for noAdvice.
func adviceText(rank int) string {
	if rank == noAdvice {
		return ""
	}
	return advices()[rank].text
}

// pythonMalloc stands for the flag in advice on what is beside the heap.
const pythonMalloc = "{python-malloc}"

// AdviceBeside returns the advice on a process that grows while its heap does not; empty if there
// is none.
func AdviceBeside(s *symbolize.Symbols, f option.Flags) string {
	for _, a := range advices() {
		if a.subject == "beside" &&
			slices.ContainsFunc(s.Modules, func(m symbolize.Module) bool { return a.pattern.MatchString(m.Name()) }) {
			return strings.ReplaceAll(a.text, pythonMalloc, f.Of(option.PythonMalloc))
		}
	}
	return ""
}

// matches reports whether the advice is about a frame.
func (a *advice) matches(module, function string) bool {
	switch a.subject {
	case "module":
		return module != "" && a.pattern.MatchString(path.Base(module))
	case "function":
		return a.pattern.MatchString(function)
	}
	return false
}
