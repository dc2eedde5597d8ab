package main

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// fullNames maps linkage names to what every command prints with --demangle full. The names are of
// each kind that has a demangler of its own.
var fullNames = map[string]string{
	// C++, and the copies that compilers make of functions
	"_ZN5Cache3addEi":        "Cache::add(int)",
	"_Z4findPKc.isra.0.cold": "find(char const*) (.isra.0.cold)",
	"_ZN3BoxISt6vectorIiSaIiEEE3putERKS2_": "Box<std::vector<int, std::allocator<int> > >::put(std::vector<int, " +
		"std::allocator<int> > const&)",
	// C++ that llvm-cxxfilt 14 rejects and Debian's gcc makes
	"_ZSt4moveIiEN9enable_ifIXsrSt11is_integralIT_E5valueEvE4typeES2_": "enable_if<std::is_integral<int>::value, void>::type " +
		"std::move<int>(int)",
	// C++ that only the library demangles
	"_ZW3foo3barv":        "bar@foo()",
	"_Z1fIiEvT_Q1CIT_E":   "void f<int>(int) requires C<T>",
	"_Z1fDB7_DU64_":       "f(_BitInt(7), unsigned _BitInt(64))",
	"_ZN1AF1fEv.part.0":   "A::friend f() (.part.0)",
	"_ZN1AIiEF1gIiEEvv":   "void A<int>::friend g<int>()",
	"_Z1fITnDaLi3EEvv":    "void f<3>()",
	"_ZNH1A1fES_i.cold.1": "A::f(this A, int) (.cold.1)",
	// Rust, legacy mangling
	"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": "core::fmt::Formatter::pad::h0123456789abcdef",
	"_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE.llvm.7": "_$LT$$RF$T$u20$as$u20$core..fmt.." +
		"Debug$GT$::fmt::h0123456789abcdef (.llvm.7)",
	// Rust, v0 mangling
	"_RNvCs1234_7mycrate3foo":      "mycrate::foo",
	"_RNCNCNCNvC1a1f00s_0.llvm.12": "a::f::{closure#0}::{closure#0}::{closure#1} (.llvm.12)",
	// not mangled
	"plain":     "plain",
	"leaf.cold": "leaf.cold",
}

// TestFullNames checks that --demangle full prints the same names in all commands.
func TestFullNames(t *testing.T) {
	testutil.Linux(t)
	library, offsets := libraryOf(t, fullNames)
	dir := t.TempDir()
	for i := range 12 {
		writeHeap(t, filepath.Join(dir, fmt.Sprintf("run.%04d.heap", i+1)), library, offsets, 1000*(i+1))
	}
	last := filepath.Join(dir, "run.0012.heap")
	want := make([]string, 0, len(fullNames))
	for _, name := range fullNames {
		want = append(want, name)
	}
	slices.Sort(want)
	for _, args := range [][]string{
		{"top", last}, {"growth", dir, "--all"}, {"diff", filepath.Join(dir, "run.0001.heap"), last},
	} {
		t.Run(args[0], func(t *testing.T) {
			got := functionsIn(t, stdout(t, append(args, "--format", "json", "--demangle", "full")...))
			require.Equal(t, want, got)
		})
	}
	t.Run("symbolize", func(t *testing.T) { require.Equal(t, want, functionsIn(t, symbolizeJSON(t, library, offsets))) })
	t.Run("convert", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "p.pb.gz")
		stdout(t, "convert", last, "-o", out, "--demangle", "full")
		file, err := os.Open(out)
		require.NoError(t, err)
		defer file.Close()
		p, err := profile.Parse(file)
		require.NoError(t, err)
		var got []string
		for _, f := range p.Function {
			got = append(got, f.Name)
			require.Equal(t, f.Name, fullNames[f.SystemName])
		}
		slices.Sort(got)
		require.Equal(t, want, got)
	})
}

// call is a call instruction. Snapshots hold return addresses, which must follow a call.
var call = map[string]struct {
	instruction string
	size        uint64
}{"amd64": {"call", 5}, "arm64": {"bl", 4}}[runtime.GOARCH]

// libraryOf makes a shared library with a function for each name, and returns the offsets of the
// functions in the file.
func libraryOf(t *testing.T, names map[string]string) (path string, offsets []uint64) {
	t.Helper()
	dir := t.TempDir()
	source := &strings.Builder{}
	fmt.Fprintln(source, ".text")
	for name := range names {
		fmt.Fprintf(source, "%[1]q:\n%[2]s 1f\n1: .balign 16\n", name, call.instruction)
		fmt.Fprintf(source, ".type %[1]q, %%function\n.size %[1]q, 16\n", name)
	}
	asm, path := filepath.Join(dir, "names.s"), filepath.Join(dir, "libnames.so")
	require.NoError(t, os.WriteFile(asm, []byte(source.String()), 0o600))
	gcc := exec.Command(testutil.Need(t, "gcc"), "-shared", "-nostdlib", "-Wl,--build-id=0xabcd", "-o", path, asm)
	out, err := gcc.CombinedOutput()
	require.NoError(t, err, string(out))
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		if _, ok := names[s.Name]; ok {
			text := file.Sections[s.Section]
			require.Equal(t, text.Addr, text.Offset)
			offsets = append(offsets, s.Value)
		}
	}
	require.Len(t, offsets, len(names))
	return path, offsets
}

// writeHeap writes a snapshot in which each function has allocated some bytes.
func writeHeap(t *testing.T, path, library string, offsets []uint64, size int) {
	t.Helper()
	const base = 0x7f0000000000
	n := len(offsets)
	text := &strings.Builder{}
	fmt.Fprintf(text, "heap profile: %d: %d [%[1]d: %[2]d] @ heapprofile\n", n, n*size)
	for _, o := range offsets {
		fmt.Fprintf(text, "1: %d [1: %[1]d] @ 0x%x\n", size, base+o+call.size)
	}
	lo, hi := slices.Min(offsets)&^0xfff, (slices.Max(offsets)|0xfff)+1 // the pages of the code
	fmt.Fprintf(text, "\nMAPPED_LIBRARIES:\n%x-%x r-xp %08x 08:01 1 %s\n", base+lo, base+hi, lo, library)
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
}

// symbolizeJSON returns what symbolize -e prints for the addresses of functions. It demangles in
// full by default.
func symbolizeJSON(t *testing.T, library string, offsets []uint64) string {
	t.Helper()
	in := &strings.Builder{}
	for _, o := range offsets {
		fmt.Fprintf(in, "%x\n", o)
	}
	var out, errs strings.Builder
	args := []string{"symbolize", "--no-cache", "-e", library, "--format", "json"}
	code := run(t.Context(), args, streams{in: strings.NewReader(in.String()), out: &out, err: &errs})
	require.Zero(t, code, errs.String())
	return out.String()
}

func stdout(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := invoke(t, args...)
	require.Zero(t, code, errs)
	return out
}

// functionsIn returns the different names of functions in a JSON document, sorted.
func functionsIn(t *testing.T, document string) []string {
	t.Helper()
	var root any
	require.NoError(t, json.Unmarshal([]byte(document), &root), document)
	seen := map[string]bool{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				visit(e)
			}
		case map[string]any:
			for key, e := range v {
				if name, ok := e.(string); ok && key == "function" && name != "" {
					seen[name] = true
				}
				visit(e)
			}
		}
	}
	visit(root)
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
