//go:build linux

package agent

import (
	"bytes"
	"debug/elf"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestAgentIsBuiltFromItsSource builds the agents with the same compiler and compares them with the
// embedded files.
func TestAgentIsBuiltFromItsSource(t *testing.T) {
	testutil.SameBuild(t, "./build.sh", map[string][]byte{
		"agent-x86_64.so": For(elf.EM_X86_64), "agent-aarch64.so": For(elf.EM_AARCH64),
	}, "make agent")
}

// TestAgentImportsNoLibrary checks that the agent can be loaded with any C library.
func TestAgentImportsNoLibrary(t *testing.T) {
	for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
		f, err := elf.NewFile(bytes.NewReader(For(machine)))
		require.NoError(t, err)
		assert.Equal(t, machine, f.Machine)
		libs, err := f.ImportedLibraries()
		require.NoError(t, err)
		assert.Empty(t, libs)
		symbols, err := f.DynamicSymbols()
		require.NoError(t, err)
		var defined []string
		for _, s := range symbols {
			if s.Section != elf.SHN_UNDEF {
				defined = append(defined, s.Name)
			}
		}
		slices.Sort(defined)
		want := []string{"__sysv_signal", "bsd_signal", "pipe2", "sigaction", "signal", "sigset", "ssignal", "sysv_signal"}
		assert.Equal(t, want, defined, "symbols that the program sees")
		for _, p := range f.Progs {
			assert.False(t, p.Type == elf.PT_GNU_STACK && p.Flags&elf.PF_X != 0, "an executable stack")
			assert.False(t, p.Type == elf.PT_LOAD && p.Flags&(elf.PF_X|elf.PF_W) == elf.PF_X|elf.PF_W)
		}
	}
}

// TestWrappersOfAgent compares the lists of wrappers in agent.c and package program.
func TestWrappersOfAgent(t *testing.T) {
	source, err := os.ReadFile("src/agent.c")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?s)wrappers\[\] = \{\n(.*?)\n\};`).FindSubmatch(source)
	require.NotNil(t, list)
	var names []string
	for _, name := range regexp.MustCompile(`"([^"]+)"`).FindAllSubmatch(list[1], -1) {
		names = append(names, string(name[1]))
	}
	assert.Equal(t, program.Wrappers, names)
}
