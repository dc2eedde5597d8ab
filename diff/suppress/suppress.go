// Package suppress reads lists of known growth that must not be reported.
//
// The format is that of LeakSanitizer's suppression files, so that one list serves both: lines
// "leak:PATTERN". A PATTERN matches anywhere in a function, file or module of the stack; "*"
// matches any text, and "^" and "$" anchor the pattern (compiler-rt, sanitizer_common:
// TemplateMatch). A comment line before an entry has its reason, and the last day on which it
// applies:
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
	"unicode/utf8"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/infile"
)

// Entry is one suppression.
type Entry struct {
	Pattern string
	// Reason is from the comment before the entry.
	Reason string
	// Until is the last day on which it applies; zero for no end.
	Until time.Time
	// File and Line, from 1, are where it was read.
	File string
	Line int

	match Matcher
}

// Matcher is a compiled pattern. The zero value matches nothing.
type Matcher struct {
	pattern string
	re      *regexp.Regexp
}

// String returns the pattern.
func (m Matcher) String() string { return m.pattern }

// Compile parses a pattern.
func Compile(pattern string) (Matcher, error) {
	if !utf8.ValidString(pattern) { // it would match all names that are not
		return Matcher{}, fmt.Errorf("the pattern %q is not UTF-8", pattern)
	}
	re, err := regexp.Compile(expression(pattern))
	return Matcher{pattern, re}, err
}

// MatchAny reports whether the pattern matches any of the names.
func (m Matcher) MatchAny(names []string) bool {
	return m.re != nil && slices.ContainsFunc(names, m.re.MatchString)
}

// NewEntry returns a suppression that is read from another format than LeakSanitizer's.
func NewEntry(pattern, reason string, until time.Time, file string, line int) (Entry, error) {
	match, err := Compile(pattern)
	return Entry{pattern, reason, until, file, line, match}, err
}

// List holds the suppressions of a file. A nil List suppresses nothing.
type List struct {
	Name    string
	Entries []Entry
	// Expired are entries whose last day has passed. They do not apply.
	Expired []Entry
}

// until matches a comment with a last day: "# until 2026-12-31: reason".
var until = regexp.MustCompile(`^#\s*until\s+([^\s:]+):?\s*(.*)$`)

// Read reads a list from a file. See [Parse].
func Read(path string, now time.Time) (*List, error) {
	text, err := infile.ReadSmall(path)
	if err != nil {
		return nil, err
	}
	return Parse(string(text), path, now)
}

// Parse reads a list. Entries whose last day is before now are in Expired. Errors have the file and
// the line.
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
		return fmt.Errorf("%q is not a date: want until YYYY-MM-DD", m[1])
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

// expression converts a pattern to a regular expression.
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

// Add adds an entry to Entries, or to Expired if its last day is before now.
func (l *List) Add(e Entry, now time.Time) {
	if !e.Until.IsZero() && now.After(e.Until.AddDate(0, 0, 1)) {
		l.Expired = append(l.Expired, e)
		return
	}
	l.Entries = append(l.Entries, e)
}

// Find returns the first entry that matches any of the names, or nil.
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
