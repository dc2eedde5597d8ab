package symbolize

import (
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

// stubLabel matches `0000000000001030 <free@plt>:` of objdump. The label of the first entry of the
// table is <free@plt-0x10>.
var stubLabel = regexp.MustCompile(`^([0-9a-f]+) <(.*)>:$`)

// stubLine matches ` 1036:\t68 00 00 00 00       \tpush   $0x0` of objdump and llvm-objdump.
var stubLine = regexp.MustCompile(`^ *([0-9a-f]+): ?\t?((?:[0-9a-f]{2} )+)`)

// stubSections returns the PLT sections of a file.
func stubSections(t testing.TB, path string) (out []*elf.Section) {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0 && strings.Contains(s.Name, "plt") {
			out = append(out, s)
		}
	}
	return out
}

// stubLabels returns the name that a disassembler prints for each address in the PLT sections of a
// file, or "".
func stubLabels(t testing.TB, tool, path string) map[uint64]string {
	t.Helper()
	labels := map[uint64]string{}
	args := []string{"-d"}
	for _, s := range stubSections(t, path) {
		args = append(args, "--section="+s.Name)
	}
	if len(args) == 1 {
		return labels
	}
	label := ""
	for line := range strings.Lines(run(t, "", tool, append(args, path)...)) {
		line = strings.TrimRight(line, "\n")
		if m := stubLabel.FindStringSubmatch(line); m != nil {
			label = ""
			if strings.HasSuffix(m[2], names.StubSuffix) {
				label = m[2]
			}
		}
		if m := stubLine.FindStringSubmatch(line); m != nil {
			at, err := strconv.ParseUint(m[1], 16, 64)
			require.NoError(t, err)
			for i := range strings.Fields(m[2]) {
				labels[at+uint64(i)] = label
			}
		}
	}
	return labels
}

// stubAddresses returns all addresses in the PLT sections of a file.
func stubAddresses(t testing.TB, path string) (out []uint64) {
	t.Helper()
	for _, s := range stubSections(t, path) {
		for i := range s.Size {
			out = append(out, s.Addr+i)
		}
	}
	return out
}

// requireStubs compares each address in the PLT sections with a disassembler. It returns the number
// of addresses with a name.
func requireStubs(t *testing.T, tool, path string) (named int) {
	t.Helper()
	labels, symbols := stubLabels(t, tool, path), symbolsByAddress(t, path)
	addrs := stubAddresses(t, path)
	require.Len(t, labels, len(addrs), "addresses in the output of the disassembler")
	locations, err := ELF(t.Context(), path, addrs, Options{Demangle: DemangleNone})
	require.NoError(t, err)
	for i, l := range locations {
		want, got := labels[addrs[i]], ""
		if l.Named() {
			require.Equal(t, SourceExports, l.Source)
			require.Len(t, l.Frames, 1)
			got = l.Frames[0].Linkage
			named++
		}
		if resolver, ok := strings.CutPrefix(want, "*ABS*+"); ok && got != want {
			at, err := strconv.ParseUint(strings.TrimSuffix(resolver, names.StubSuffix), 0, 64)
			require.NoError(t, err)
			require.Contains(t, symbols[at], strings.TrimSuffix(got, names.StubSuffix), "0x%x", addrs[i])
			continue
		}
		require.Equal(t, want, got, "0x%x", addrs[i])
	}
	return named
}

// symbolsByAddress returns the functions that readelf prints, without their versions.
func symbolsByAddress(t testing.TB, path string) map[uint64][]string {
	t.Helper()
	names := map[uint64][]string{}
	for line := range strings.Lines(run(t, "", "readelf", "-sW", path)) {
		f := strings.Fields(line)
		if len(f) != 8 {
			continue
		}
		if at, err := strconv.ParseUint(f[1], 16, 64); err == nil {
			name, _, _ := strings.Cut(f[7], "@")
			names[at] = append(names[at], name)
		}
	}
	return names
}

const stubSource = `
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
void (*volatile hook)(void *) = free; /* calls use its GOT slot, too */
int main(int argc, char **argv) {
  void *p = malloc(argc);
  puts(argv[0]);
  memset(p, 0, argc);
  hook(p);
  free(p);
  return 0;
}
`

// TestStubs checks that each stub has the name of its function, for all forms of stubs on x86-64.
func TestStubs(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.c")
	require.NoError(t, os.WriteFile(source, []byte(stubSource), 0o600))
	for name, flags := range map[string][]string{
		"lazy": {"-Wl,-z,lazy"}, "now": {"-Wl,-z,now"}, "ibt": {"-Wl,-z,ibtplt"}, "ibt now": {"-Wl,-z,ibtplt,-z,now"},
		"no-pie": {"-no-pie", "-fno-pie"}, "stripped": {"-s"}, "lld": {"-fuse-ld=lld"},
		"lld now": {"-fuse-ld=lld", "-Wl,-z,now"}, "lld ibt": {"-fuse-ld=lld", "-Wl,-z,force-ibt"}, "gold": {"-fuse-ld=gold"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			run(t, dir, "gcc", append([]string{"-O1", "-g", "-o", path, source}, flags...)...)
			require.GreaterOrEqual(t, requireStubs(t, "objdump", path), 8)
		})
	}
}

// TestStubsOfStaticPrograms checks stubs of functions that are chosen at start (IFUNC), which have
// the names of their resolvers. objdump prints no labels for them. The test finds the function by
// the slot that a stub reads, and by the symbol that readelf prints.
func TestStubsOfStaticPrograms(t *testing.T) {
	dir := t.TempDir()
	source, path := filepath.Join(dir, "main.c"), filepath.Join(dir, "static")
	require.NoError(t, os.WriteFile(source, []byte(stubSource), 0o600))
	run(t, dir, "gcc", "-O1", "-static", "-o", path, source)
	symbols, resolvers := symbolsByAddress(t, path), map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^0*([0-9a-f]+) .* R_X86_64_IRELATIVE? +([0-9a-f]+)`).FindAllStringSubmatch(run(t, "", "readelf", "-rW", path), -1) {
		resolvers[m[1]] = m[2]
	}
	jumps := regexp.MustCompile(`(?m)^ *([0-9a-f]+):\t.*\tjmp .*# ([0-9a-f]+)`).FindAllStringSubmatch(run(t, "", "objdump", "-dw", "-j", ".plt", path), -1)
	require.NotEmpty(t, jumps)
	for _, m := range jumps {
		at, err := strconv.ParseUint(m[1], 16, 64)
		require.NoError(t, err)
		resolver, err := strconv.ParseUint(resolvers[m[2]], 16, 64)
		require.NoError(t, err)
		l := locate(t, path, []uint64{at})[0]
		require.True(t, l.Named())
		require.Contains(t, symbols[resolver], strings.TrimSuffix(l.Frames[0].Linkage, names.StubSuffix), "0x%x", at)
	}
}

// TestStubsOfARM64 checks stubs with and without landing pads (BTI).
func TestStubsOfARM64(t *testing.T) {
	dir := t.TempDir()
	source, object := filepath.Join(dir, "lib.c"), filepath.Join(dir, "lib.o")
	require.NoError(t, os.WriteFile(source, []byte(`
extern void foo(int), baz(void), qux(void);
extern int bar(void);
void (*volatile hook)(int) = foo;
int use(void) { foo(1); baz(); qux(); return bar(); }
`), 0o600))
	testutil.Need(t, "ld.lld")
	run(t, dir, "clang", "--target=aarch64-linux-gnu", "-O1", "-fPIC", "-c", "-o", object, source)
	for name, flags := range map[string][]string{
		"plain": {"-shared"}, "bti": {"-shared", "-z", "force-bti"}, "pac": {"-shared", "-z", "pac-plt"},
		"executable": {"--unresolved-symbols=ignore-all", "-pie", "--export-dynamic"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			run(t, dir, "ld.lld", append([]string{"-o", path, object}, flags...)...)
			require.GreaterOrEqual(t, requireStubs(t, "llvm-objdump", path), 64)
		})
	}
}

// TestStubsOfSystemLibraries checks libraries of the distribution, which have functions that are
// chosen at start (IFUNC).
func TestStubsOfSystemLibraries(t *testing.T) {
	testutil.NoRace(t)
	for _, f := range realFiles {
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			if _, err := os.Stat(f.path); err != nil {
				t.Skip(f.path + " is not installed")
			}
			t.Log(requireStubs(t, "objdump", f.path), "addresses")
		})
	}
}
