package heapfile_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
)

const (
	maps     = heaptest.Maps
	textName = "test.heap" // the name of texts in messages
)

func read(t testing.TB, text string) *heapfile.Snapshot {
	t.Helper()
	s, err := heapfile.Read(strings.NewReader(text), textName)
	require.NoError(t, err)
	return s
}

// show returns the rows of a snapshot as text: counts, stack and, if the stack is truncated, "…".
func show(s *heapfile.Snapshot) []string {
	out := []string{}
	for _, r := range s.Samples {
		c := r.Counts
		var line strings.Builder
		fmt.Fprintf(&line, "%d: %d [%d: %d] @", c.InuseObjects, c.InuseBytes, c.AllocObjects, c.AllocBytes)
		for _, a := range s.Stacks.Addrs(r.Stack) {
			fmt.Fprintf(&line, " 0x%x", uint64(a))
		}
		if r.Truncated {
			line.WriteString(" …")
		}
		out = append(out, line.String())
	}
	return out
}

// heapFixtures returns the fixtures whose names end in .heap.gz.
func heapFixtures(t testing.TB) []string {
	t.Helper()
	var found []string
	for _, path := range heaptest.Fixtures(t) {
		if strings.HasSuffix(path, ".heap.gz") {
			found = append(found, path)
		}
	}
	require.NotEmpty(t, found, "no *.heap.gz under ../testdata")
	return found
}

// pprofFixtures returns the heap profiles in google/pprof's module.
func pprofFixtures(t testing.TB) []string {
	t.Helper()
	var found []string
	for _, name := range []string{"cppbench.heap", "cppbench.growth", "gobench.heap", "java.heap"} {
		found = append(found, filepath.Join(pprofDir(t), "profile", "testdata", name))
	}
	return found
}

// pprofDir returns the directory of google/pprof's module.
func pprofDir(t testing.TB) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/pprof").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(dir))
}
