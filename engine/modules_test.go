//go:build linux

package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestModules compares the modules that hold the engine's data with simple models, under
// AddressSanitizer and UndefinedBehaviorSanitizer.
func TestModules(t *testing.T) {
	flags := []string{
		"-Isrc", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fwrapv", "-fno-strict-aliasing",
		// The engine's own functions of these names must not replace those of the sanitizers.
		"-Dmemcpy=hl_memcpy", "-Dmemmove=hl_memmove", "-Dmemset=hl_memset", "-Dmemcmp=hl_memcmp",
		"-D__builtin_memcpy_inline=__builtin_memcpy", "-Wno-all",
	}
	for _, source := range []string{
		"base/config.c", "base/entry.c", "base/platform.c", "base/text.c", "heap/live.c", "heap/regions.c", "heap/sample.c", "heap/sites.c",
	} {
		flags = append(flags, "src/"+source)
	}
	program := compile(t, "gcc", "modules.c", append(flags, "-lm")...)
	out, err := exec.Command(program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "ok\n", string(out))
}

// TestVanishingTables looks a symbol up in an object that another thread unloads meanwhile.
func TestVanishingTables(t *testing.T) {
	program := linkSources(t, "vanishing", "testdata/vanishing.c", "-pthread",
		"src/base/elf.c", "src/base/memory.c", "src/base/platform.c")
	require.Equal(t, "ok\n", runProgram(t, nil, program))
}

// TestForkWhileReading: a fork does not begin while another thread has the loader's lock for the engine.
func TestForkWhileReading(t *testing.T) {
	program := linkSources(t, "forking", "testdata/forking.c", "-pthread",
		"src/base/elf.c", "src/base/memory.c", "src/base/pages.c", "src/base/platform.c", "src/base/slots.c")
	require.Equal(t, "ok\n", runProgram(t, nil, program))
}

// TestRaces runs threads in the tables of the engine, and one that writes snapshots, under sanitizers.
func TestRaces(t *testing.T) {
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		t.Run(sanitizer, func(t *testing.T) { testSanitized(t, sanitizer) })
	}
}

func testSanitized(t *testing.T, sanitizer string) {
	runSanitized(t, "races.c", sanitizedFlags(t, sanitizer, "src/base/[^s]*.c", "src/output/[^cw]*.c"))
}

// TestProcessRaces does so with forks, signals, and the engine's own thread.
func TestProcessRaces(t *testing.T) {
	single, err := os.ReadFile("src/process/single.c")
	require.NoError(t, err)
	const jump = "__attribute__((musttail)) return" // which older versions of gcc do not know
	require.Contains(t, string(single), jump)
	file := filepath.Join(t.TempDir(), "single.c")
	testutil.WriteFile(t, file, strings.Replace(string(single), jump, "return", 1), 0o600)
	flags := sanitizedFlags(t, "thread", "src/base/*.c", "src/output/[^c]*.c", "src/process/[ef]*.c", "src/process/signals.c")
	runSanitized(t, "processraces.c", append(flags, file, "-include", "testdata/clone.h", "-pthread"))
}

// sanitizedFlags returns the flags of gcc for the sources that match the patterns, those that read
// stacks, and those of the tables.
func sanitizedFlags(t *testing.T, sanitizer string, patterns ...string) []string {
	t.Helper()
	flags := []string{
		"-Isrc", "-std=gnu11", "-fsanitize=" + sanitizer, "-fno-sanitize-recover=all", "-fwrapv", "-fno-strict-aliasing", "-w",
		"-Dmemcpy=hl_memcpy", "-Dmemmove=hl_memmove", "-Dmemset=hl_memset", "-Dmemcmp=hl_memcmp",
		"-D__builtin_memcpy_inline=__builtin_memcpy",
	}
	for _, pattern := range append(patterns, "src/unwind/*.c", "src/heap/[^imo]*.c", "src/heap/old.c") {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		flags = append(flags, files...)
	}
	return slices.DeleteFunc(flags, func(f string) bool { return f == "src/heap/libc.c" })
}

func runSanitized(t *testing.T, source string, flags []string) {
	t.Helper()
	program := compile(t, "gcc", source, append(flags, "-ldl")...)
	// The sanitizer does not know all the places where newer kernels put programs.
	cmd := exec.Command(testutil.Need(t, "setarch"), "-R", program)
	cmd.Env = append(os.Environ(), "TSAN_OPTIONS=die_after_fork=0") // a child may create threads
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "ok\n", string(out))
}
