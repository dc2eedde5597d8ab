package symbolize

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// same reports whether two locations have the same frames.
func same(a, b Location) bool { return slices.Equal(a.Frames, b.Frames) }

// requireSame prints only the first difference; printing all takes minutes.
func requireSame(t *testing.T, want, got []Location) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, same(want[i], got[i]), "0x%x\nwant %+v\ngot  %+v", want[i].Offset, want[i].Frames, got[i].Frames)
	}
}

// TestPackages checks that a .dwp file gives the answers of the .dwo files, which TestMatrix compares with
// llvm-symbolizer: for both forms of the index, from both compilers and packagers.
func TestPackages(t *testing.T) {
	for _, c := range []struct {
		name, compiler, packager string
		flags                    []string
	}{
		{"g++ dwarf4 dwp", "g++", "dwp", []string{"-gdwarf-4"}},
		{"g++ dwarf4 llvm-dwp", "g++", "llvm-dwp", []string{"-gdwarf-4"}},
		{"g++ dwarf5 llvm-dwp", "g++", "llvm-dwp", []string{"-gdwarf-5"}}, // binutils 2.40's dwp crashes on DWARF 5
		{"clang++ dwarf4 dwp", "clang++", "dwp", []string{"-gdwarf-4"}},
		{"clang++ dwarf4 llvm-dwp", "clang++", "llvm-dwp", []string{"-gdwarf-4"}},
		{"clang++ dwarf5 llvm-dwp", "clang++", "llvm-dwp", []string{"-gdwarf-5"}},
		{"clang++ dwarf5 types", "clang++", "llvm-dwp", []string{"-gdwarf-5", "-fdebug-types-section"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compile(t, c.compiler, append([]string{"-O2", "-gsplit-dwarf"}, c.flags...), nil)
			addrs := textAddresses(t, p.main)
			want := locate(t, p.main, addrs)
			run(t, p.dir, c.packager, "-e", "program", "-o", "program.dwp")
			for _, unit := range []string{"main.dwo", "part.dwo"} {
				require.NoError(t, os.Remove(filepath.Join(p.dir, unit)))
			}
			requireSame(t, want, locate(t, p.main, addrs))

			elsewhere := copied(t, p.main)
			require.False(t, slices.EqualFunc(want, locate(t, elsewhere, addrs), same), "no package there")
			run(t, "", "objcopy", "--strip-all", "--add-gnu-debuglink="+p.main, elsewhere)
			dir := t.TempDir()
			beside := filepath.Join(dir, filepath.Dir(elsewhere))
			require.NoError(t, os.MkdirAll(beside, 0o700))
			copyFile(t, p.main, filepath.Join(beside, "program"))
			copyFile(t, p.main+packageSuffix, filepath.Join(beside, "program.dwp"))
			got, err := ELF(t.Context(), elsewhere, addrs, Options{Demangle: DemangleFull, DebugDirs: []string{dir}})
			require.NoError(t, err)
			requireSame(t, want, got)
		})
	}
}

// TestPackagesGoFirst checks that a .dwo file is opened only if the package lacks the unit or is damaged.
func TestPackagesGoFirst(t *testing.T) {
	p := compile(t, "g++", []string{"-O2", "-gdwarf-5", "-gsplit-dwarf"}, nil)
	addrs := textAddresses(t, p.main)
	want := locate(t, p.main, addrs)
	run(t, p.dir, "llvm-dwp", "-e", "program", "-o", "program.dwp")
	dwp, loose := p.main+packageSuffix, filepath.Join(p.dir, "main.dwo")
	good, err := os.ReadFile(dwp)
	require.NoError(t, err)
	kept, err := os.ReadFile(loose)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(loose, []byte("another build"), 0o600))
	requireSame(t, want, locate(t, p.main, addrs))

	require.NoError(t, os.WriteFile(loose, kept, 0o600))
	bad := append([]byte{}, good...)
	at := sectionOffset(t, dwp, ".debug_cu_index")
	bad[at] = 9
	require.NoError(t, os.WriteFile(dwp, bad, 0o600))
	got, err := ELF(t.Context(), p.main, addrs, Options{Demangle: DemangleFull})
	require.ErrorContains(t, err, dwp+": .debug_cu_index+0x0: version 9 is not supported")
	requireSame(t, want, got)
}
