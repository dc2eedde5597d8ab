package heapfile_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

const (
	textName = "test.heap" // what texts are called in messages
	program  = "00400000-00500000 r-xp 00000000 00:00 12345      /usr/bin/program\n"
	// maps ends a dump of gperftools: a blank line, the sentinel, one mapping.
	maps = "\nMAPPED_LIBRARIES:\n" + program
)

// lines joins lines and ends each.
func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

// exact is a dump of gperftools' heap profiler with the given totals and rows.
func exact(totals string, rows ...string) string {
	return dump("heap profile: "+totals+" @ heapprofile", rows...)
}

func dump(header string, rows ...string) string {
	return lines(append([]string{header}, rows...)...) + maps
}

// withMaps is a dump without rows and with these lines as its mappings.
func withMaps(l ...string) string {
	return lines("heap profile: 0: 0 [0: 0] @ heapprofile", "", "MAPPED_LIBRARIES:") + lines(l...)
}

func read(t testing.TB, text string) *heapfile.Snapshot {
	t.Helper()
	s, err := heapfile.Read(strings.NewReader(text), textName)
	require.NoError(t, err)
	return s
}

// show is a snapshot's rows as text, one a row: counts, stack and, after a cut one, "…".
func show(s *heapfile.Snapshot) []string {
	out := []string{}
	for _, r := range s.Samples {
		c := r.Counts
		var line strings.Builder
		fmt.Fprintf(&line, "%d: %d [%d: %d] @", c.InuseObjects, c.InuseBytes, c.AllocObjects, c.AllocBytes)
		for _, a := range s.Stacks.Addrs(r.Stack) {
			fmt.Fprintf(&line, " 0x%x", uint64(a))
		}
		if r.Cut {
			line.WriteString(" …")
		}
		out = append(out, line.String())
	}
	return out
}

// kinds lists a file's warnings by name.
func kinds(list []heapfile.Warning) []string {
	out := []string{}
	for _, w := range list {
		out = append(out, w.Kind.String())
	}
	return out
}

func find(t testing.TB, list []heapfile.Warning, kind heapfile.WarningKind) heapfile.Warning {
	t.Helper()
	for _, w := range list {
		if w.Kind == kind {
			return w
		}
	}
	require.Failf(t, "warning missing", "no %s in %v", kind, list)
	return heapfile.Warning{}
}

// fixtures finds the recorded snapshots of ../testdata, those of other tools included.
func fixtures(t testing.TB) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(testutil.Data(t), func(path string, e fs.DirEntry, err error) error {
		for _, ext := range []string{".heap.gz", ".growth.gz", ".raw.gz"} {
			if strings.HasSuffix(path, ext) && !e.IsDir() {
				found = append(found, path)
			}
		}
		return err
	}))
	require.NotEmpty(t, found, "no fixtures under ../testdata")
	return found
}

// heapFixtures are the fixtures under an allocator's own name for its snapshots.
func heapFixtures(t testing.TB) []string {
	t.Helper()
	var found []string
	for _, path := range fixtures(t) {
		if strings.HasSuffix(path, ".heap.gz") {
			found = append(found, path)
		}
	}
	require.NotEmpty(t, found, "no *.heap.gz under ../testdata")
	return found
}

// pprofFixtures are those that google/pprof publishes with its module.
func pprofFixtures(t testing.TB) []string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/pprof").Output()
	require.NoError(t, err)
	var found []string
	for _, name := range []string{"cppbench.heap", "cppbench.growth", "gobench.heap", "java.heap"} {
		found = append(found, filepath.Join(strings.TrimSpace(string(dir)), "profile", "testdata", name))
	}
	return found
}

// plain is a file's content, decompressed.
func plain(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	if !strings.HasSuffix(path, ".gz") {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	data, err = io.ReadAll(z)
	require.NoError(t, err)
	return data
}

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}
