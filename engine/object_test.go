//go:build linux

package engine

import (
	"bytes"
	"debug/elf"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestObjectsAreBuiltFromSource rebuilds the engines. Another compiler builds other bytes.
func TestObjectsAreBuiltFromSource(t *testing.T) {
	testutil.SameBuild(t, "./build.sh", map[string][]byte{
		"heaplapse-x86_64.so": Object(elf.EM_X86_64), "heaplapse-aarch64.so": Object(elf.EM_AARCH64),
		"stub-x86_64.bin": Stub(elf.EM_X86_64),
	}, "make engine")
}

// TestObjectFitsEveryProcess checks what an object must not have, so that every C library can load
// it at the start and later: needed libraries, versions of symbols, and a segment for thread-local
// storage.
func TestObjectFitsEveryProcess(t *testing.T) {
	weak := []string{
		"__register_atfork", "pthread_atfork", "pthread_detach", "_dl_find_object", "_r_debug", "_dl_debug_addr",
	}
	imports := []string{"__errno_location", "dl_iterate_phdr", "environ", "getauxval", "pthread_self"}
	for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
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
