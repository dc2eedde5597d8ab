// Package heaptest makes and finds the snapshots that the tests of heapfile and heapfile/series
// read.
package heaptest

import (
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

const (
	// Program is the mapping of a program.
	Program = "00400000-00500000 r-xp 00000000 00:00 12345      /usr/bin/program\n"
	// Maps ends a snapshot of gperftools: a blank line, the sentinel, one mapping.
	Maps = "\nMAPPED_LIBRARIES:\n" + Program
)

// Lines ends each line and joins them.
func Lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

// Exact returns a snapshot of gperftools' heap profiler with the given totals and rows.
func Exact(totals string, rows ...string) string {
	return WithHeader("heap profile: "+totals+" @ heapprofile", rows...)
}

// WithHeader returns a snapshot with the given header and rows.
func WithHeader(header string, rows ...string) string {
	return Lines(append([]string{header}, rows...)...) + Maps
}

// WithMaps returns a snapshot without rows and with the given lines as its mappings.
func WithMaps(l ...string) string {
	return Lines("heap profile: 0: 0 [0: 0] @ heapprofile", "", "MAPPED_LIBRARIES:") + Lines(l...)
}

// Endless returns a reader that repeats a text and never ends.
func Endless(text string) io.Reader { return &endless{text: text} }

type endless struct {
	text string
	at   int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// Kinds lists the names of warnings.
func Kinds(list []heapfile.Warning) []string {
	out := []string{}
	for _, w := range list {
		out = append(out, w.Kind.String())
	}
	return out
}

// Find returns the first warning of a kind. The test fails if there is none.
func Find(t testing.TB, list []heapfile.Warning, kind heapfile.WarningKind) heapfile.Warning {
	t.Helper()
	for _, w := range list {
		if w.Kind == kind {
			return w
		}
	}
	require.Failf(t, "warning missing", "no %s in %v", kind, list)
	return heapfile.Warning{}
}

// Fixtures returns the recorded snapshots of testdata, those of other tools included.
func Fixtures(t testing.TB) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(testutil.Data(t), func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && e.Name() == "hostile" {
			return fs.SkipDir
		}
		for _, ext := range []string{".heap.gz", ".growth.gz", ".raw.gz"} {
			if strings.HasSuffix(path, ext) && !e.IsDir() {
				found = append(found, path)
			}
		}
		return err
	}))
	require.NotEmpty(t, found, "no fixtures in testdata")
	return found
}
