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

// goTestdata returns the ELF files with which Go tests its own readers, some of them damaged.
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

// codeAddresses returns addresses in the code of a file, and some that no file has.
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

// TestGoTestdata checks that each file is either used, or rejected with an error that has its path. 32-bit and
// big-endian files are rejected as such.
func TestGoTestdata(t *testing.T) {
	named, refused := 0, 0
	for _, path := range goTestdata(t) {
		locations, err := ELF(t.Context(), path, codeAddresses(path), Options{})
		if err != nil {
			require.ErrorContains(t, err, path)
		}
		if locations == nil {
			refused++
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
	require.NotZero(t, refused)
	require.Greater(t, named, 1000)
}

// TestDamagedFiles checks that a truncated program is rejected, and that one with a zeroed part still has answers, and
// an error that names the file.
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
		require.ErrorContains(t, err, path, "the section headers are at the end")
		require.Nil(t, locations)
	}
	faults := 0
	for i := range 64 {
		zeroed := slices.Clone(data)
		from := 0x1000 + len(data)*i/64
		clear(zeroed[min(from, len(data)-8000):min(from+2000, len(data)-8000)]) // the section headers stay
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

// TestMemoryIsBounded checks that a few answers cost at most a multiple of the file's size, and that files are
// unmapped.
func TestMemoryIsBounded(t *testing.T) {
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

// openFiles returns how often this process maps the standard program.
func openFiles(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("this system has no /proc")
	}
	return strings.Count(string(maps), standard(t).main)
}
