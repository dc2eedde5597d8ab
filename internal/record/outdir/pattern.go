package outdir

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Pattern is the name of a directory as a user gives it. In it, %t stands for the time, %p for the
// number of the recording process, %n for the first number from 1 that gives a name that is free,
// and %% for a percent sign. Any other percent sign stands for itself.
type Pattern struct {
	Text string
	Time time.Time
	PID  int
}

var placeholder = regexp.MustCompile(`%[tpn%]`)

// Name returns the name with a number for %n.
func (p Pattern) Name(n int) string {
	return placeholder.ReplaceAllStringFunc(p.Text, func(s string) string {
		switch s {
		case "%t":
			return p.Time.Format(timeFormat)
		case "%p":
			return strconv.Itoa(p.PID)
		case "%n":
			return strconv.Itoa(n)
		}
		return "%"
	})
}

// Numbered reports whether the name has a %n.
func (p Pattern) Numbered() bool { return strings.Contains(strings.ReplaceAll(p.Text, "%%", ""), "%n") }

// Free returns the name with the first number that gives one that no file has.
func (p Pattern) Free() string {
	for n := 1; ; n++ {
		if name := p.Name(n); !exists(name) {
			return name
		}
	}
}

// exists reports whether a file has a name. A name that cannot be looked up counts as free: making
// the directory tells why.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
