//go:build linux

package preload

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

var machines = map[elf.Machine]string{elf.EM_X86_64: "heaplapse-x86_64.so", elf.EM_AARCH64: "heaplapse-aarch64.so"}

// TestObjectsAreBuiltFromSource rebuilds the engines. Another compiler builds other bytes.
func TestObjectsAreBuiltFromSource(t *testing.T) {
	clang := testutil.Need(t, "clang")
	testutil.Need(t, "ld.lld")
	version, err := exec.Command(clang, "--version").Output()
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(version), "\n")
	if !bytes.Contains(Object(elf.EM_X86_64), []byte(strings.TrimSpace(line))) {
		t.Skipf("another compiler than %s built the engines", line)
	}
	dir := t.TempDir()
	out, err := exec.Command("./build.sh", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for machine, name := range machines {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(Object(machine), got), "%s was not built from src: run make engine", name)
	}
}

// TestObjectFitsEveryProcess checks what an object must not have, so that every C library can load
// it at the start and later: needed libraries, versions of symbols, and a segment for thread-local
// storage.
func TestObjectFitsEveryProcess(t *testing.T) {
	weak := []string{"__register_atfork", "pthread_atfork", "_dl_find_object", "_r_debug", "_dl_debug_addr"}
	imports := []string{"__errno_location", "dl_iterate_phdr", "environ", "getauxval", "pthread_self"}
	for machine := range machines {
		f, err := elf.NewFile(bytes.NewReader(Object(machine)))
		require.NoError(t, err)
		assert.Equal(t, machine, f.Machine)
		libraries, err := f.ImportedLibraries()
		require.NoError(t, err)
		assert.Empty(t, libraries)
		assert.Nil(t, f.Section(".gnu.version_r"))
		for _, p := range f.Progs {
			assert.NotEqual(t, elf.PT_TLS, p.Type)
			if p.Type == elf.PT_LOAD {
				assert.NotEqual(t, elf.PF_W|elf.PF_X, p.Flags&(elf.PF_W|elf.PF_X), "no page is writable and executable")
			}
		}
		symbols, err := f.DynamicSymbols()
		require.NoError(t, err)
		for _, s := range symbols {
			switch {
			case s.Section != elf.SHN_UNDEF:
				assert.NotContains(t, s.Name, "hl_", "only names of the C library are visible")
			case elf.ST_BIND(s.Info) == elf.STB_WEAK:
				assert.Contains(t, weak, s.Name)
			default:
				assert.Contains(t, imports, s.Name)
			}
		}
	}
}
