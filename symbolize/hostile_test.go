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
)

// goTestdata are the ELF files that Go's own readers are tested with, damaged ones among them.
func goTestdata(t testing.TB) (paths []string) {
	t.Helper()
	root := strings.TrimSpace(run(t, "", "go", "env", "GOROOT"))
	for _, pattern := range []string{"src/debug/elf/testdata/*", "src/debug/dwarf/testdata/*", "src/internal/trace/traceviewer/testdata/*.elf"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	if len(paths) < 20 {
		absent(t, "GOROOT has no testdata: "+root)
	}
	return paths
}

// codeAddresses are some addresses of a file as debug/elf sees it, and some that no file has.
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

// TestGoTestdata: each file is either named or refused with its path; 32-bit and big-endian ones by name.
func TestGoTestdata(t *testing.T) {
	named, refused := 0, 0
	for _, path := range goTestdata(t) {
		locations, err := ELF(path, codeAddresses(path), Options{})
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

// TestDamagedFiles: a program that is cut is refused; one whose middle is zeroed gives less, and errors that name the file.
func TestDamagedFiles(t *testing.T) {
	whole := standard(t).main
	addrs := textAddresses(t, whole)[:3000]
	want := locate(t, whole, addrs)
	data, err := os.ReadFile(whole)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "damaged")
	for i := range 64 {
		require.NoError(t, os.WriteFile(path, data[:len(data)*i/64], 0o600))
		locations, err := ELF(path, addrs, Options{Demangle: DemangleFull})
		require.ErrorContains(t, err, path, "the section headers are at the end")
		require.Nil(t, locations)
	}
	faults := 0
	for i := range 64 {
		zeroed := slices.Clone(data)
		from := 0x1000 + len(data)*i/64
		clear(zeroed[min(from, len(data)-8000):min(from+2000, len(data)-8000)]) // the section headers stay
		require.NoError(t, os.WriteFile(path, zeroed, 0o600))
		locations, err := ELF(path, addrs, Options{Demangle: DemangleFull})
		require.Len(t, locations, len(want))
		if err != nil {
			faults++
			require.Regexp(t, "^"+path+`: (\.debug_\w+\+0x[0-9a-f]+|section [.\w]+): `, err.Error())
		}
	}
	require.NotZero(t, faults)
}

// TestMemoryIsBounded: naming a few addresses of a file costs a multiple of its size at most, and releases its files.
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

// openFiles is the number of this process's mappings of the standard program, 0 where /proc does not tell.
func openFiles(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("this system has no /proc")
	}
	return strings.Count(string(maps), standard(t).main)
}
