package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// hostileCommands are the commands that read the files of testdata/hostile, by directory, or by the
// beginning or the end of the name. FILE is the file, or the directory that it is in.
var hostileCommands = map[string]string{
	strangePath: "top FILE",
	"snapshots": "info FILE", "manifests": "info FILE", "bundles": "info FILE", "traces": "info FILE",
	"programs":  "symbolize -e FILE",
	"evidence":  "growth bundles/good.heaplapse.tar.zst --evidence FILE",
	"baselines": "baseline list FILE",
	".supp":     "growth bundles/good.heaplapse.tar.zst --suppressions FILE",
	".rules":    "growth bundles/good.heaplapse.tar.zst --blame-rules FILE",
	".map":      "top snapshots/highest-address.heap --perf-map FILE",
	".yaml":     "gate --baseline bundles/good.heaplapse.tar.zst --current bundles/good.heaplapse.tar.zst --force --config FILE",
}

// strangePath begins the names of snapshots whose mappings have strange paths.
const strangePath = "path-"

// maxHostileMemory is what one file of the corpus may allocate: no file expands without limit.
const maxHostileMemory = 1 << 30

// TestHostileCorpus compares the exit status and the message of each file of testdata/hostile with
// the table expected.txt. -update writes the table; review the difference.
func TestHostileCorpus(t *testing.T) {
	testutil.NoRace(t)
	testutil.Linux(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(testutil.Data(t, "hostile"))
	var table strings.Builder
	for _, path := range hostileFiles(t) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, message := readHostile(t, path)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(maxHostileMemory), path)
		fmt.Fprintf(&table, "%s\t%d\t%s\n", path, status, message)
	}
	const name = "expected.txt"
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(table.String()), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), table.String(), "-update writes the table")
}

// hostileFiles returns the files of the corpus, and the directories that are read as a whole.
func hostileFiles(t *testing.T) (list []string) {
	require.NoError(t, filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		dir := filepath.Dir(path)
		switch top, _, _ := strings.Cut(path, "/"); {
		case err != nil || dir == ".":
		case top == "manifests" || top == "baselines":
			if e.IsDir() {
				list = append(list, path)
			}
		default:
			list = append(list, path)
		}
		return err
	}))
	require.Greater(t, len(list), 100)
	slices.Sort(list)
	return list
}

// readHostile runs the command for a file. It returns the line of its messages, or of its result,
// that names the file, or the first message; "" means that nothing is said about it.
func readHostile(t *testing.T, path string) (status int, message string) {
	kind, _, _ := strings.Cut(path, "/")
	switch {
	case strings.HasPrefix(filepath.Base(path), strangePath):
		kind = strangePath
	case kind == "lists":
		kind = filepath.Ext(path)
	}
	command := hostileCommands[kind]
	require.NotEmpty(t, command, "no command reads %s", path)
	args := strings.Fields(strings.ReplaceAll(command, "FILE", path))
	var out, errs bytes.Buffer
	status = run(context.Background(), args, streams{in: strings.NewReader("0x1000\n"), out: &out, err: &errs})
	require.Contains(t, []int{exitOK, exitFailure}, status, path)
	require.False(t, status == exitFailure && errs.Len() == 0, path)
	text := errs.String() + out.String()
	require.NotRegexp(t, control, text, path)
	if kind == strangePath {
		text = errs.String()
	}
	name := strings.TrimSuffix(filepath.Base(path), ".heaplapse.tar.zst")
	for line := range strings.Lines(text) {
		if strings.Contains(line, name) && strings.Contains(line, ": ") {
			return status, strings.TrimSpace(line)
		}
	}
	first, _, _ := strings.Cut(errs.String(), "\n")
	return status, first
}
