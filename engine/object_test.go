//go:build linux

package engine

import (
	"bytes"
	"debug/elf"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestObjectsAreBuiltFromSource rebuilds the engines. Another compiler builds other bytes.
func TestObjectsAreBuiltFromSource(t *testing.T) {
	testutil.SameBuild(t, "./build.sh", map[string][]byte{
		"heaplapse-x86_64.so": Object(elf.EM_X86_64), "heaplapse-aarch64.so": Object(elf.EM_AARCH64),
		"adapter-x86_64.so": Adapter(elf.EM_X86_64), "adapter-aarch64.so": Adapter(elf.EM_AARCH64),
		"stub-x86_64.bin": Stub(elf.EM_X86_64),
	}, "make engine")
}

// TestObjectFitsEveryProcess checks what an object must not have, so that every C library can load
// it at the start and later: needed libraries, versions of symbols, and a segment for thread-local
// storage.
func TestObjectFitsEveryProcess(t *testing.T) {
	weak := []string{
		"__register_atfork", "pthread_atfork", "pthread_detach", "_dl_find_object", "_r_debug", "_dl_debug_addr",
		"pthread_key_create", "pthread_getspecific", "pthread_setspecific", "__cxa_atexit",
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

// TestAdapterFitsEveryProcess: the adapter needs no library, and the program sees only the functions that
// it must replace.
func TestAdapterFitsEveryProcess(t *testing.T) {
	for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
		f, err := elf.NewFile(bytes.NewReader(Adapter(machine)))
		require.NoError(t, err)
		assert.Equal(t, machine, f.Machine)
		libraries, err := f.ImportedLibraries()
		require.NoError(t, err)
		assert.Empty(t, libraries)
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
			assert.NotEqual(t, elf.PT_TLS, p.Type)
			assert.False(t, p.Type == elf.PT_GNU_STACK && p.Flags&elf.PF_X != 0, "an executable stack")
			assert.False(t, p.Type == elf.PT_LOAD && p.Flags&(elf.PF_X|elf.PF_W) == elf.PF_X|elf.PF_W)
		}
	}
}
