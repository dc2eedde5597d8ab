package itanium

import (
	"debug/dwarf"
	"debug/elf"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"
	"github.com/stretchr/testify/require"
)

// libraries are files with many names of C++, made by gcc and clang.
var libraries = []string{
	"/usr/lib/*-linux-gnu/libstdc++.so.6", "/usr/lib/*-linux-gnu/libLLVM*.so*", "/usr/lib/llvm-*/lib/libclang-cpp.so*",
	"/usr/lib/llvm-*/lib/libLLVM*.so*", "/usr/bin/node", "/usr/lib/*-linux-gnu/libz3.so*", "/usr/lib/*-linux-gnu/libx265.so*", "/usr/lib/*-linux-gnu/libboost_*.so*",
	"/usr/lib/python3/dist-packages/*/*.so", "/usr/local/lib/python3*/*-packages/*/*.so", "/usr/lib/jvm/*/lib/server/libjvm.so",
}

func full() bool { return os.Getenv("HEAPLAPSE_FULL") == "1" }

// absent ends a test that something is missing for.
func absent(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why + " (see scripts/deps.sh)")
	}
	t.Skip(why)
}

// corpus is the mangled names of the machine's libraries and of a program with many templates: all of them under
// HEAPLAPSE_FULL=1, else every 20th, chosen by hash.
func corpus(t testing.TB) []string {
	t.Helper()
	seen := map[string]bool{}
	add := func(name string) {
		name, _, _ = strings.Cut(name, "@")
		if strings.HasPrefix(name, "_Z") && len(name) < 1<<16 && !rust.MatchString(name) && (full() || sampled(name)) {
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
	if full() {
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

// rust matches what Rust mangled as C++.
var rust = regexp.MustCompile(`17h[0-9a-f]{16}E`)

func sampled(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()%20 == 0
}

// symbols passes on the names of a file's symbol tables; files that are none are passed over.
func symbols(path string, add func(string)) {
	f, err := elf.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	for _, read := range []func() ([]elf.Symbol, error){f.DynamicSymbols, f.Symbols} {
		all, _ := read() // one of them is missing of most files
		for _, s := range all {
			add(s.Name)
		}
	}
}

// linkageNames passes on the names in the debug information of a small build of the benchmarks' program.
func linkageNames(t testing.TB, compiler string, add func(string)) {
	t.Helper()
	path, err := exec.LookPath(compiler)
	if err != nil {
		absent(t, compiler+" is not installed")
	}
	object := filepath.Join(t.TempDir(), "shop.o")
	out, err := exec.Command(path, "-std=c++17", "-O0", "-g", "-gdwarf-4", "-DLEVELS=1", "-DLAYERS=2", "-DUNIT=1", "-c", "../../../scripts/bench/shop.cc", "-o", object).CombinedOutput()
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

// cxxfilt is an installed llvm-cxxfilt of one of the releases, in their order.
func cxxfilt(releases ...string) string {
	for _, r := range releases {
		if path, err := exec.LookPath("llvm-cxxfilt-" + r); err == nil {
			return path
		}
	}
	return ""
}

// flat drops how the tools spell the same.
var flat = strings.NewReplacer("(", "", ")", "", " ", "", "[clone", "", "]", "")

// TestCorpus compares what we make of many real names with what others do.
func TestCorpus(t *testing.T) {
	names := corpus(t)
	t.Run("llvm", func(t *testing.T) { corpusAgainstLLVM(t, names) })
	t.Run("refused by llvm", func(t *testing.T) { corpusAgainstGNU(t, names) })
	t.Run("library", func(t *testing.T) { corpusAgainstLibrary(t, names) })
}

// corpusAgainstLLVM: we show names as llvm-cxxfilt 14 does, and those that it refuses as the newest one that is installed.
func corpusAgainstLLVM(t *testing.T, names []string) {
	old := cxxfilt("14")
	if old == "" {
		absent(t, "llvm-cxxfilt-14 is not installed")
	}
	by14, byNewest := filtered(t, old, names), by14OrNewest(t, old, names)
	classes := map[string]int{}
	var d Demangler
	for i, name := range names {
		out, err := d.Append(nil, name, Full)
		if err != nil {
			out = []byte(name)
		}
		classes[llvmClass(t, name, string(out), by14[i], byNewest[i])]++
	}
	t.Logf("%d names: %v", len(names), classes)
	same := classes[sameAs14] + classes[sameAsNewest] + classes["refused by all"]
	require.GreaterOrEqual(t, float64(same+classes["refused by LLVM"]), 0.9999*float64(len(names)))
}

const (
	sameAs14     = "as LLVM 14"
	sameAsNewest = "as the newest LLVM"
)

// by14OrNewest asks the newest of the demanglers for LLVM's present opinion.
func by14OrNewest(t *testing.T, old string, names []string) []string {
	newest := cxxfilt("22", "21", "20", "19", "18", "17")
	if newest == "" {
		newest = old
	}
	t.Log("the newest: " + newest)
	return filtered(t, newest, names)
}

// llvmClass sorts an answer; one that nothing explains fails the test.
func llvmClass(t *testing.T, name, ours, by14, newest string) string {
	t.Helper()
	known := knownWrong(name, by14)
	switch {
	case by14 != name && ours == by14:
		return sameAs14
	case by14 != name:
		require.NotEmpty(t, known, "%s\nllvm 14 %s\nours    %s\nnewest  %s", name, by14, ours, newest)
		if newest != by14 {
			require.Equal(t, flat.Replace(newest), flat.Replace(ours), name)
		}
		return "LLVM 14 is wrong: " + known
	case newest != name:
		require.Equal(t, newest, ours, name)
		return sameAsNewest
	case ours == name:
		return "refused by all"
	}
	return "refused by LLVM"
}

// corpusAgainstGNU: c++filt agrees with us about names that LLVM refuses.
func corpusAgainstGNU(t *testing.T, names []string) {
	old, referee := cxxfilt("14"), "c++filt"
	if _, err := exec.LookPath(referee); err != nil || old == "" {
		absent(t, "llvm-cxxfilt-14 or c++filt is not installed")
	}
	byLLVM, byGNU := by14OrNewest(t, old, names), filtered(t, referee, names)
	asked := 0
	for i, name := range names {
		if out := shown(name, Full); byLLVM[i] == name && out != "" && byGNU[i] != name {
			theirs, ours := flat.Replace(byGNU[i]), flat.Replace(out) // of functions around it does c++filt not show what they return
			require.True(t, strings.HasSuffix(ours, theirs), "%s\nc++filt %s\nours    %s", name, theirs, ours)
			asked++
		}
	}
	t.Logf("%d names", asked)
	require.NotZero(t, asked)
}

// libraryWrong is the class of a name that the library gets wrong, or shows otherwise, without parameters.
func libraryWrong(name string) string {
	switch {
	case strings.Contains(name, "cv"):
		return "packs in the type of a conversion operator are printed as one: (X, Y)..."
	case templateTemplate.MatchString(name), strings.Contains(name, "Xsr"):
		return "back references behind sr<name>I…E are one off"
	case strings.Contains(name, "U7regparm"):
		return "vendor qualifiers of functions stand elsewhere"
	}
	return ""
}

// emptyPacks is how symbolize mends the library's output.
var emptyPacks = strings.NewReplacer(">, >", "> >", ", >", ">")

// corpusAgainstLibrary: names without parameters are what they were when the library showed them.
func corpusAgainstLibrary(t *testing.T, names []string) {
	classes := map[string]int{}
	var d Demangler
	for _, name := range names {
		if len(name) > 1<<12 {
			continue // the library takes seconds
		}
		theirs, err := demangle.ToString(name, demangle.NoParams, demangle.NoEnclosingParams, demangle.NoClones, demangle.NoRust)
		theirs = emptyPacks.Replace(theirs)
		ours, ourErr := d.Append(nil, name, Simple)
		switch known := libraryWrong(name); {
		case err != nil:
			classes["refused by the library"]++
		case ourErr == nil && string(ours) == theirs:
			classes["equal"]++
		default:
			require.NotEmpty(t, known, "%s\nlibrary %s\nours    %s %v", name, theirs, ours, ourErr)
			classes[known]++
		}
	}
	t.Logf("%d names: %v", len(names), classes)
	require.GreaterOrEqual(t, float64(classes["equal"]), 0.998*float64(len(names)))
}
