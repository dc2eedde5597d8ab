//go:build linux

package engine

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		"base/entry.c", "base/platform.c", "base/text.c", "heap/live.c", "heap/regions.c", "heap/sample.c", "heap/sites.c",
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
