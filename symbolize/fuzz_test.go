package symbolize

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxSeed keeps the seeds of FuzzELF small: large files mutate slowly.
const maxSeed = 64 << 10

// FuzzELF opens any bytes as a file. Results have one location per address, and a reason for each without a name.
func FuzzELF(f *testing.F) {
	seeds := 0
	for _, path := range append(goTestdata(f), smallBinaries(f)...) {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		if len(data) <= maxSeed {
			f.Add(data)
			seeds++
		}
	}
	require.Greater(f, seeds, 10)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "fuzzed")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		addrs := append(codeAddresses(path), 0x1000, 0x1040, 0x1139)
		locations, err := ELF(t.Context(), path, addrs, Options{Demangle: DemangleFull, DebugDirs: []string{dir}})
		if err != nil {
			require.ErrorContains(t, err, path)
		}
		if locations == nil {
			require.Error(t, err)
			return
		}
		require.Len(t, locations, len(addrs))
		for i, l := range locations {
			require.Equal(t, addrs[i], l.Offset)
			require.Equal(t, l.Named(), l.Reason == ReasonNone)
			require.Equal(t, l.Named(), l.Source != SourceNone)
		}
	})
}

// smallBinaries are programs of some kilobytes: each kind of debug information once.
func smallBinaries(t testing.TB) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "small.c")
	require.NoError(t, os.WriteFile(source, []byte(`
static inline __attribute__((always_inline)) int twice(int v) { return v * 2; }
int f(int n) { int r = 0; for (int i = 0; i < n; i++) r += twice(i); return r; }
`), 0o600))
	for name, flags := range map[string][]string{
		"dwarf2": {"-gdwarf-2"}, "dwarf4": {"-gdwarf-4"}, "dwarf5": {"-gdwarf-5"}, "dwarf64": {"-gdwarf-5", "-gdwarf64"},
		"split4": {"-gdwarf-4", "-gsplit-dwarf"}, "split5": {"-gdwarf-5", "-gsplit-dwarf"}, "zlib": {"-g", "-gz"}, "none": nil,
	} {
		path := filepath.Join(dir, name+".so")
		run(t, dir, "gcc", append([]string{"-O2", "-shared", "-nostdlib", "-fPIC", "-Wl,-z,max-page-size=64", "-o", path, source}, flags...)...)
		paths = append(paths, path)
	}
	return paths
}
