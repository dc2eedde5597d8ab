package itanium

import (
	"debug/dwarf"
	"debug/elf"
	"hash/fnv"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// libraries are files with many C++ names, made by gcc and clang. Those that are not installed are
// left out.
var libraries = []string{
	"/usr/lib/*-linux-gnu/libstdc++.so.6", "/usr/lib/*-linux-gnu/libLLVM*.so*", "/usr/lib/llvm-*/lib/libclang-cpp.so*",
	"/usr/lib/llvm-*/lib/libLLVM*.so*", "/usr/bin/node", "/usr/lib/*-linux-gnu/libz3.so*", "/usr/lib/*-linux-gnu/libx265.so*",
	"/usr/lib/*-linux-gnu/libboost_*.so*", "/usr/lib/python3/dist-packages/*/*.so",
	"/usr/local/lib/python3*/*-packages/*/*.so", "/usr/lib/jvm/*/lib/server/libjvm.so",
}

// corpus returns the mangled names of the libraries and of a program with many templates: all of
// them if testutil.Full is set, otherwise every 20th, chosen by hash.
func corpus(t testing.TB) []string {
	t.Helper()
	seen := map[string]bool{}
	add := func(name string) {
		name, _, _ = strings.Cut(name, "@")
		if strings.HasPrefix(name, "_Z") && len(name) < 1<<16 && !rust.MatchString(name) && (testutil.Full() || sampled(name)) {
			seen[name] = true
		}
	}
	for _, pattern := range libraries {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			symbols(path, add)
		}
	}
	linkageNames(t, "g++", add)
	if testutil.Full() {
		linkageNames(t, "clang++", add)
	}
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	require.Greater(t, len(names), 1000)
	return names
}

// rust matches names that old versions of Rust mangle as C++.
var rust = regexp.MustCompile(`17h[0-9a-f]{16}E`)

func sampled(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()%20 == 0
}

// symbols calls add with the names in the symbol tables of an ELF file. It ignores other files.
func symbols(path string, add func(string)) {
	f, err := elf.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	for _, read := range []func() ([]elf.Symbol, error){f.DynamicSymbols, f.Symbols} {
		all, _ := read() // most files have one of the two
		for _, s := range all {
			add(s.Name)
		}
	}
}

// linkageNames calls add with the names in the debug information of a small build of the benchmark
// program.
func linkageNames(t testing.TB, compiler string, add func(string)) {
	t.Helper()
	object := filepath.Join(t.TempDir(), "shop.o")
	source := filepath.Join(testutil.Root(t), "scripts/bench/shop.cc")
	out, err := exec.Command(testutil.Need(t, compiler), "-std=c++17", "-O0", "-g", "-gdwarf-4",
		"-DLEVELS=1", "-DLAYERS=2", "-DUNIT=1", "-c", source, "-o", object).CombinedOutput()
	require.NoError(t, err, string(out))
	f, err := elf.Open(object)
	require.NoError(t, err)
	defer f.Close()
	data, err := f.DWARF()
	require.NoError(t, err)
	for r := data.Reader(); ; {
		e, err := r.Next()
		require.NoError(t, err)
		if e == nil {
			return
		}
		if name, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
			add(name)
		}
	}
}

// TestCorpus compares names of the libraries on this machine with those of other demanglers.
func TestCorpus(t *testing.T) {
	names := corpus(t)
	t.Run("llvm", func(t *testing.T) { compareWithLLVM(t, names) })
	t.Run("library", func(t *testing.T) { compareWithLibrary(t, names) })
}

// compareWithLLVM checks that Full agrees with llvm-cxxfilt 14, apart from the known differences,
// in which c++filt agrees with Full.
func compareWithLLVM(t *testing.T, names []string) {
	var differ, ours []string
	classes := map[string]int{}
	var d Demangler
	for i, byLLVM := range pipe(t, llvm14, names) {
		name := names[i]
		out, err := d.Append(nil, name, Full)
		switch known := knownDifference(name, byLLVM); {
		case err == nil && string(out) == byLLVM, err != nil && byLLVM == name:
			classes["equal"]++
		case err != nil || known == nil:
			t.Errorf("new difference:\n%s\nllvm 14 %s\nours    %s (%v)", name, byLLVM, out, err)
		default:
			classes[known.why]++
			differ, ours = append(differ, name), append(ours, string(out))
		}
	}
	for i, byGNU := range pipe(t, cxxfilt, differ) {
		requireConfirmed(t, differ[i], ours[i], byGNU)
	}
	t.Logf("%d names: %v", len(names), classes)
}

// librarySimple are the options of the library that correspond to Simple.
var librarySimple = []demangle.Option{demangle.NoParams, demangle.NoEnclosingParams, demangle.NoClones, demangle.NoRust}

// emptyPacks removes the comma that the library prints before an empty argument pack.
var emptyPacks = strings.NewReplacer(">, >", "> >", ", >", ">")

// libraryDefect returns the known reason why the library prints a name differently without
// parameters, or "".
func libraryDefect(name string) string {
	switch {
	case strings.Contains(name, "cv"):
		return "packs in the type of a conversion operator are printed as one: (X, Y)..."
	case templateTemplate.MatchString(name), strings.Contains(name, "Xsr"):
		return "back references after sr<name>I…E are off by one"
	case strings.Contains(name, "U7regparm"):
		return "vendor qualifiers of functions are in another place"
	}
	return ""
}

var templateTemplate = regexp.MustCompile(`T\d*_I`)

// compareWithLibrary checks that Simple agrees with the library, which the caller uses for the
// names that this package rejects, apart from the known defects of the library.
func compareWithLibrary(t *testing.T, names []string) {
	classes := map[string]int{}
	var d Demangler
	for _, name := range names {
		if len(name) > 1<<12 {
			continue // the library needs seconds
		}
		theirs, err := demangle.ToString(name, librarySimple...)
		ours, ourErr := d.Append(nil, name, Simple)
		switch known := libraryDefect(name); {
		case err != nil:
			classes["rejected by the library"]++
		case ourErr != nil:
			classes["left to the library"]++
		case string(ours) == emptyPacks.Replace(theirs):
			classes["equal"]++
		case known != "":
			classes[known]++
		default:
			t.Errorf("new difference:\n%s\nlibrary %s\nours    %s", name, theirs, ours)
		}
	}
	t.Logf("%d names: %v", len(names), classes)
}
