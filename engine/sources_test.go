//go:build linux

package engine

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// linkSources builds a program or library from C files and parts of the engine.
func linkSources(t *testing.T, output string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), output)
	args = append([]string{"-std=gnu11", "-O2", "-g", "-fPIC", "-Isrc", "-Wall", "-Wextra", "-Werror", "-fno-builtin",
		"-fasynchronous-unwind-tables", "-o", path}, args...)
	args = append(args, "-ldl") // a library of its own before glibc 2.34
	out, err := exec.Command(testutil.Need(t, "gcc"), args...).CombinedOutput()
	require.NoError(t, err, "gcc %q\n%s", args, out)
	return path
}

// unwinder returns the sources of the unwinder, and more arguments.
func unwinder(t *testing.T, more ...string) []string {
	t.Helper()
	files, err := filepath.Glob("src/unwind/*.c")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	files = append(files, "src/base/elf.c", "src/base/memory.c", "src/base/objects.c", "src/base/platform.c")
	return append(files, more...)
}

// runProgram runs a program with additional environment variables and returns its standard output.
// It must succeed, and write nothing to standard error.
func runProgram(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %q\n%s%s", program, args, out, &stderr)
	require.Empty(t, stderr.String())
	return string(out)
}

// TestLayers: a folder of the engine includes only files of its own and of the folders before it.
func TestLayers(t *testing.T) {
	layers := []string{"base", "unwind", "heap", "language", "python", "output", "process", "attach", "adapter"}
	include := regexp.MustCompile(`(?m)^#include "(\w+)/`)
	folders, err := os.ReadDir("src")
	require.NoError(t, err)
	for _, f := range folders {
		assert.True(t, f.Name() == "README.md" || slices.Contains(layers, f.Name()), "src/%s has no place", f.Name())
	}
	for i, layer := range layers {
		files, err := filepath.Glob(filepath.Join("src", layer, "*.[ch]"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range include.FindAllSubmatch(text, -1) {
				assert.Contains(t, layers[:i+1], string(m[1]), "%s includes %s", file, m[0])
			}
		}
	}
}

// TestListOfWrappers compares the lists of wrappers in target.c and package program.
func TestListOfWrappers(t *testing.T) {
	source, err := os.ReadFile("src/process/target.c")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?s)wrappers\[\] = \{\n(.*?)\n\};`).FindSubmatch(source)
	require.NotNil(t, list)
	var names []string
	for _, name := range regexp.MustCompile(`"([^"]+)"`).FindAllSubmatch(list[1], -1) {
		names = append(names, string(name[1]))
	}
	assert.Equal(t, program.Wrappers, names)
}
