package symbolize

import (
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// goTestdata returns the ELF files of the tests of Go's own readers. Some of them are malformed.
func goTestdata(t testing.TB) (paths []string) {
	t.Helper()
	root := strings.TrimSpace(run(t, "", "go", "env", "GOROOT"))
	for _, pattern := range []string{"src/debug/elf/testdata/*", "src/debug/dwarf/testdata/*", "src/internal/trace/traceviewer/testdata/*.elf"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	if len(paths) < 20 {
		testutil.Missing(t, "testdata in GOROOT "+root)
	}
	return paths
}

// codeAddresses returns addresses in the code of a file, and some that are in no file.
func codeAddresses(path string) []uint64 {
	out := []uint64{0, 1, 0x400000, 0x401000, ^uint64(0)}
	f, err := elf.Open(path)
	if err != nil {
		return out
	}
	defer f.Close()
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			for a := range min(s.Size, 500) {
				out = append(out, s.Addr+a)
			}
		}
	}
	return out
}

// TestGoTestdata checks that each file is either used, or rejected with an error that has its path.
// The error says so for 32-bit and big-endian files.
func TestGoTestdata(t *testing.T) {
	named, rejected := 0, 0
	for _, path := range goTestdata(t) {
		locations, err := ELF(t.Context(), path, codeAddresses(path), Options{})
		if err != nil {
			require.ErrorContains(t, err, path)
		}
		if locations == nil {
			rejected++
			require.Error(t, err, path)
		}
		if f, e := elf.Open(path); e == nil {
			foreign := f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB
			require.NoError(t, f.Close())
			if foreign {
				require.ErrorContains(t, err, "not a 64-bit little-endian ELF file")
			}
		}
		for _, l := range locations {
			if l.Named() {
				named++
			}
		}
	}
	require.NotZero(t, rejected)
	require.Greater(t, named, 1000)
}

// TestDamagedFiles checks that a truncated program is rejected, and that one with a zeroed part
// still has answers, and an error that names the file.
func TestDamagedFiles(t *testing.T) {
	whole := standard(t).main
	addrs := textAddresses(t, whole)[:3000]
	want := locate(t, whole, addrs)
	data, err := os.ReadFile(whole)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "damaged")
	for i := range 64 {
		require.NoError(t, os.WriteFile(path, data[:len(data)*i/64], 0o600))
		locations, err := ELF(t.Context(), path, addrs, Options{Demangle: DemangleFull})
		require.ErrorContains(t, err, path, "the section headers at the end are missing")
		require.Nil(t, locations)
	}
	faults := 0
	for i := range 64 {
		zeroed := slices.Clone(data)
		from := 0x1000 + len(data)*i/64
		clear(zeroed[min(from, len(data)-8000):min(from+2000, len(data)-8000)]) // not the section headers
		require.NoError(t, os.WriteFile(path, zeroed, 0o600))
		locations, err := ELF(t.Context(), path, addrs, Options{Demangle: DemangleFull})
		require.Len(t, locations, len(want))
		if err != nil {
			faults++
			require.Regexp(t, "^"+path+`: (\.debug_\w+\+0x[0-9a-f]+|section [.\w]+): `, err.Error())
		}
	}
	require.NotZero(t, faults)
}

// TestMemoryIsLimited checks that a few answers allocate at most a multiple of the size of the
// file, and that files are unmapped.
func TestMemoryIsLimited(t *testing.T) {
	path := standard(t).main
	info, err := os.Stat(path)
	require.NoError(t, err)
	addrs := textAddresses(t, path)[:100]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	locate(t, path, addrs)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20*info.Size()))

	open := openFiles(t)
	for range 50 {
		locate(t, path, addrs)
	}
	require.LessOrEqual(t, openFiles(t), open)
}

// openFiles returns the number of mappings of the standard program in this process.
func openFiles(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("this system has no /proc")
	}
	return strings.Count(string(maps), standard(t).main)
}

// maxSeed is the maximum size of a seed of FuzzELF. Large files mutate slowly.
const maxSeed = 64 << 10

// FuzzELF reads files of any bytes. There is one location for each address, and a reason for each
// location without a name.
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

// smallBinaries returns programs of a few kilobytes, one for each kind of debug information.
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
