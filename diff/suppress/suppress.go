// Package suppress reads lists of known growth that is not to be reported.
//
// The format is that of LeakSanitizer's suppression files, so that one list serves both: lines "leak:PATTERN", where
// PATTERN is found anywhere in a function, file or module of the stack, "*" stands for anything, and "^" and "$" anchor it
// (compiler-rt, sanitizer_common: TemplateMatch). A comment line before an entry may say why it is
// there and until when it holds:
//
//	# until 2026-12-31: fixed by the next release of libfoo
//	leak:foo_cache_insert
package suppress

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
)

// Entry is one suppression.
type Entry struct {
	Pattern string
	// Reason as the comment before it gives it.
	Reason string
	// Until is the last day on which it holds; zero for no end.
	Until time.Time
	// File that it is from, and the line there, from 1.
	File string
	Line int

	match Matcher
}

// Matcher is a pattern, ready to be matched. The zero Matcher matches nothing.
type Matcher struct {
	pattern string
	re      *regexp.Regexp
}

// String is the pattern.
func (m Matcher) String() string { return m.pattern }

// Compile reads a pattern.
func Compile(pattern string) (Matcher, error) {
	re, err := regexp.Compile(expression(pattern))
	return Matcher{pattern, re}, err
}

// MatchAny says whether the pattern is found in any of some names.
func (m Matcher) MatchAny(names []string) bool {
	return m.re != nil && slices.ContainsFunc(names, m.re.MatchString)
}

// NewEntry makes a suppression that does not come from a list in LeakSanitizer's format.
func NewEntry(pattern, reason string, until time.Time, file string, line int) (Entry, error) {
	match, err := Compile(pattern)
	return Entry{pattern, reason, until, file, line, match}, err
}

// List is the suppressions of one file. A nil List suppresses nothing.
type List struct {
	Name    string
	Entries []Entry
	// Expired entries hold no longer.
	Expired []Entry
}

// until is a comment that ends a suppression: "# until 2026-12-31: reason".
var until = regexp.MustCompile(`^#\s*until\s+([^\s:]+):?\s*(.*)$`)

// Parse reads a list; what has expired by now is set apart. Errors name file and line.
func Parse(text, name string, now time.Time) (*List, error) {
	l := &List{Name: name}
	var next Entry
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		next.File, next.Line = name, i+1
		var err error
		switch {
		case line == "":
			next = Entry{}
		case line[0] == '#':
			err = next.comment(line)
		default:
			if err = next.parse(line); err == nil {
				l.Add(next, now)
			}
			next = Entry{}
		}
		if err != nil {
			return nil, &heapfile.SyntaxError{File: name, Line: i + 1, Msg: err.Error()}
		}
	}
	return l, nil
}

func (e *Entry) comment(line string) error {
	m := until.FindStringSubmatch(line)
	if m == nil {
		e.Reason = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		return nil
	}
	day, err := time.Parse(time.DateOnly, m[1])
	if err != nil {
		return fmt.Errorf("%q is no date: want until YYYY-MM-DD", m[1])
	}
	e.Until, e.Reason = day, m[2]
	return nil
}

func (e *Entry) parse(line string) error {
	kind, pattern, ok := strings.Cut(line, ":")
	if !ok || kind != "leak" || pattern == "" {
		return fmt.Errorf("want leak:PATTERN, found %q", line)
	}
	e.Pattern = pattern
	var err error
	e.match, err = Compile(pattern)
	return err
}

// expression turns LeakSanitizer's pattern into a regular expression.
func expression(pattern string) string {
	var b strings.Builder
	for i, c := range pattern {
		switch {
		case c == '*':
			b.WriteString(".*")
		case c == '^' && i == 0, c == '$' && i == len(pattern)-1:
			b.WriteRune(c)
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}

// Add adds an entry, to the expired ones if its last day has passed.
func (l *List) Add(e Entry, now time.Time) {
	if !e.Until.IsZero() && now.After(e.Until.AddDate(0, 0, 1)) {
		l.Expired = append(l.Expired, e)
		return
	}
	l.Entries = append(l.Entries, e)
}

// Find returns the first entry that matches any of a stack's names, nil for none.
func (l *List) Find(names []string) *Entry {
	if l == nil {
		return nil
	}
	for i := range l.Entries {
		if l.Entries[i].match.MatchAny(names) {
			return &l.Entries[i]
		}
	}
	return nil
}
