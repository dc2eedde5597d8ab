// Package outdir has the rules for the directory of a recording that do not depend on who records:
// its name, that it holds one recording, how that is removed, and which snapshots are removed when
// there are too many.
package outdir

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

var unsafeInName = regexp.MustCompile(`[^A-Za-z0-9+-]+`)

// Name returns a name with only the characters that prefixes of snapshots may have, or else if
// nothing is left of it.
func Name(name, otherwise string) string {
	return cmp.Or(strings.Trim(unsafeInName.ReplaceAllString(name, "-"), "-"), otherwise)
}

// timeFormat is how names of directories tell the time.
const timeFormat = "20060102-150405"

// Default returns the name of the directory of a recording that has none: heaplapse-NAME-TIME.
func Default(name string) string {
	return "heaplapse-" + name + "-" + time.Now().Format(timeFormat)
}

// Fresh returns the name, with a number appended if a file of that name exists.
func Fresh(name string) string {
	fresh := name
	for n := 2; exists(fresh); n++ {
		fresh = fmt.Sprintf("%s-%d", name, n)
	}
	return fresh
}

// HasRecording reports whether a directory holds a recording already.
func HasRecording(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, manifest.Name))
	return err == nil
}

// MostRedundant returns the index of the snapshot whose removal leaves the smallest gap, and the
// oldest of several. It never returns the first or the last one, and returns -1 if there are no
// others. If one snapshot is removed each time that one is added at a constant rate, the gaps
// between the rest differ at most by a factor of two.
func MostRedundant(times []time.Time) int {
	best := -1
	var least time.Duration
	for i := 1; i < len(times)-1; i++ {
		if gap := times[i+1].Sub(times[i-1]); best < 0 || gap < least {
			best, least = i, gap
		}
	}
	return best
}
