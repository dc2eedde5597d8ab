package symbolize

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

// printed is a frame as llvm-symbolizer prints it. "??" means unknown.
type printed struct {
	name, file   string
	line, column int
}

func (p printed) String() string {
	return fmt.Sprintf("%s at %s:%d:%d", p.name, p.file, p.line, p.column)
}

var unknown = []printed{{name: "??", file: "??"}}

// byLLVM returns what llvm-symbolizer prints for ELF addresses.
func byLLVM(t testing.TB, path string, addrs []uint64) [][]printed {
	t.Helper()
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "0x%x\n", a)
	}
	cmd := exec.Command(testutil.Need(t, "llvm-symbolizer"), "-i", "-C", "--obj="+path)
	cmd.Stdin = strings.NewReader(in.String())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	blocks := strings.Split(strings.TrimSuffix(string(out), "\n\n"), "\n\n")
	require.Len(t, blocks, len(addrs), "blocks of llvm-symbolizer's output")
	all := make([][]printed, len(blocks))
	for i, b := range blocks {
		all[i] = parseBlock(t, b)
	}
	return all
}

var filePosition = regexp.MustCompile(`^(.*):(\d+):(\d+)$`)

// parseBlock reads pairs of lines such as `main` and `/src/main.cc:3:7`.
func parseBlock(t testing.TB, block string) []printed {
	t.Helper()
	lines := strings.Split(block, "\n")
	require.Zero(t, len(lines)%2, "%q is not pairs of lines", block)
	var out []printed
	for i := 0; i < len(lines); i += 2 {
		position := filePosition.FindStringSubmatch(lines[i+1])
		require.NotNil(t, position, "%q is not file:line:column", lines[i+1])
		p := printed{name: lines[i], file: position[1]}
		var err error
		p.line, err = strconv.Atoi(position[2])
		require.NoError(t, err)
		p.column, err = strconv.Atoi(position[3])
		require.NoError(t, err)
		out = append(out, p)
	}
	return out
}

func printLocation(l *Location) []printed {
	if !l.Named() {
		return unknown
	}
	var out []printed
	for _, f := range l.Frames {
		out = append(out, printed{orUnknown(f.Function), orUnknown(f.File), f.Line, f.Column})
	}
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "??"
	}
	return s
}

// difference is a frame that llvm-symbolizer 14 and this package print differently.
type difference struct {
	addr       uint64
	llvm, ours printed
	linkage    string // the mangled name that we found
	cxxfilt    string // the linkage name as c++filt of binutils prints it
	// separate has the addresses of each symbol of the debug file, if the debug information is in a
	// separate file.
	separate map[string][]uint64
	// inStubs means that the address is in a PLT section. stub is the label that objdump prints
	// there, or "".
	inStubs bool
	stub    string
	// beyond means that the last symbol before the address is in a section that ends before the
	// address.
	beyond bool
}

// explanation is a class of known differences, and the reason why the output of this package is
// correct or equivalent.
type explanation struct {
	class, reason string
	explains      func(d difference) bool
}

// explanations lists all known classes. The first one that explains a difference counts. A
// difference in none of them fails the test.
var explanations = []explanation{
	{
		"llvm: cannot demangle",
		"llvm-symbolizer 14 does not demangle the srSt expressions of GCC, transaction clones, and newer manglings. c++filt agrees with this package.",
		func(d difference) bool { return d.llvm.name == d.linkage && d.cxxfiltAgrees() },
	},
	{
		"llvm: constructor without a name",
		"llvm-symbolizer 14 omits the name of a constructor or destructor after an ABI tag: failure[abi:cxx11]::~(). c++filt agrees with this package.",
		func(d difference) bool { return nameless.MatchString(d.llvm.name) && d.cxxfiltAgrees() },
	},
	{
		"llvm: spelling",
		"github.com/ianlancetaylor/demangle spells names as newer versions of LLVM do: no parentheses around a function that is a template argument, and the types that the parameters of an instance of a generic lambda have instead of auto. Its own tests compare it with LLVM's.",
		func(d difference) bool {
			return d.ours.position() == d.llvm.position() && d.linkage != "" && names.IsMangled(d.linkage) &&
				d.ours.name == names.Demangle(d.linkage, names.Full) && spelling(d.ours.name) == spelling(d.llvm.name)
		},
	},
	{
		"llvm: LTO symbol of a unit",
		"gcc -flto writes a symbol without type, such as lib.cc.27a97082, which is not in a section of code. llvm-symbolizer 14 prints it for functions, and for the gaps between them.",
		func(d difference) bool {
			return ltoSymbol.MatchString(d.llvm.name) && d.ours.position() == d.llvm.position() && (d.ours.name == "??" || d.cxxfiltAgrees())
		},
	},
	{
		"llvm: PLT stub",
		"llvm-symbolizer 14 does not name PLT stubs. It prints the function before them, or nothing. objdump agrees with this package.",
		func(d difference) bool {
			return d.inStubs && d.linkage == d.stub && (d.stub != "" || d.ours == unknown[0])
		},
	},
	{
		"llvm: past the end of a section",
		"For llvm-symbolizer 14, a symbol without a size does not end at the end of its section. The gap after .fini is _fini, and the end of the address space is _end.",
		func(d difference) bool { return d.beyond && d.ours == unknown[0] },
	},
	{
		"llvm: no symbols of the debug file",
		"llvm-symbolizer 14 uses the symbols of the stripped file, this package those of the debug file, which also has static functions, clone suffixes and versions.",
		func(d difference) bool {
			noPlace := d.llvm.file == "??" && d.ours.line == 0 // apart from the file of the symbol
			return d.separate != nil && d.sameSymbol() && (d.llvm.position() == d.ours.position() || noPlace)
		},
	},
}

// flat removes the characters that llvm-symbolizer and c++filt spell differently.
var flat = strings.NewReplacer("(", "", ")", "", " ", "", "[clone", "", "]", "")

// spelling returns what two spellings of a name have in common: the functions and types in it, without those
// of parameters.
func spelling(name string) string {
	return flat.Replace(names.Simplify(name))
}

var nameless = regexp.MustCompile(`\]::~?\(`)

var ltoSymbol = regexp.MustCompile(`^\w+\.cc\.[0-9a-f]+$`)

func (p printed) position() printed { return printed{file: p.file, line: p.line, column: p.column} }

// cxxfiltAgrees reports whether the frames differ only in their names, and c++filt agrees with this
// package.
func (d difference) cxxfiltAgrees() bool {
	return d.ours.position() == d.llvm.position() && d.linkage != "" && flat.Replace(d.ours.name) == flat.Replace(d.cxxfilt)
}

// agreement counts the results of a comparison.
type agreement struct {
	addresses, equal int
	classes          map[string]int // addresses by class of difference
}

// compareWithLLVM compares all frames at addresses. It fails the test if the numbers of frames
// differ, and for a difference without explanation.
func compareWithLLVM(t testing.TB, path string, addrs []uint64) agreement {
	t.Helper()
	separate, stubs := separateSymbols(t, path), stubLabels(t, "objdump", path)
	beyond := beyondSection(t, path)
	theirs, locations := byLLVM(t, path, addrs), locate(t, path, addrs)
	result := agreement{addresses: len(addrs), classes: map[string]int{}}
	var found []difference
	for i, a := range addrs {
		ours := printLocation(&locations[i])
		if slices.Equal(theirs[i], ours) {
			result.equal++
			continue
		}
		require.Len(t, ours, len(theirs[i]), "depth at %s 0x%x:\nllvm %v\nours %v", path, a, theirs[i], ours)
		stub, inStubs := stubs[a]
		for k := range ours {
			if ours[k] != theirs[i][k] {
				found = append(found, difference{a, theirs[i][k], ours[k], linkageOf(&locations[i], k), "", separate, inStubs, stub, beyond(a)})
			}
		}
	}
	addNames(t, found)
	result.explain(t, path, found)
	return result
}

// beyondSection returns a function that reports whether the last symbol before an address is in a
// section that ends before the address.
func beyondSection(t testing.TB, path string) func(addr uint64) bool {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return func(uint64) bool { return false } // the file is stripped
	}
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		return int(s.Section) >= len(f.Sections) || f.Sections[s.Section].Flags&elf.SHF_ALLOC == 0 || elf.ST_TYPE(s.Info) == elf.STT_TLS
	})
	slices.SortFunc(symbols, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return func(addr uint64) bool {
		i, _ := slices.BinarySearchFunc(symbols, addr, func(s elf.Symbol, a uint64) int {
			if s.Value <= a {
				return -1
			}
			return 1
		})
		if i == 0 {
			return false
		}
		section := f.Sections[symbols[i-1].Section]
		return addr-section.Addr >= section.Size
	}
}

// separateSymbols returns the symbols of the separate debug file of a file, or nil if there is
// none.
func separateSymbols(t testing.TB, path string) map[string][]uint64 {
	t.Helper()
	file, err := elffile.Open(path)
	require.NoError(t, err)
	defer file.Close()
	if hasDebug(file) {
		return nil
	}
	debug := files.Search{Source: files.Host{}}.DebugFile(t.Context(), file)
	if debug == nil {
		return nil
	}
	defer debug.Close()
	f, err := elf.Open(debug.Path)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	out := map[string][]uint64{}
	for _, s := range symbols {
		base := plainName(s.Name)
		out[base] = append(out[base], s.Value)
	}
	return out
}

// plainName returns a symbol without its version, its clone suffix, and glibc's prefix for internal
// aliases.
func plainName(name string) string {
	return strings.TrimPrefix(names.Undecorated(name), "__GI_")
}

// sameSymbol reports whether both names are of one symbol. llvm-symbolizer prints no name, an
// alias, a name that only the debug information has (__strstr_generic), or the name without its
// suffix.
func (d difference) sameSymbol() bool {
	theirs, ours := plainName(d.llvm.name), plainName(d.ours.name)
	_, known := d.separate[theirs]
	alias := !known || slices.ContainsFunc(d.separate[theirs], func(a uint64) bool { return slices.Contains(d.separate[ours], a) })
	return theirs == "??" || theirs == ours || alias
}

func linkageOf(l *Location, frame int) string {
	if !l.Named() {
		return ""
	}
	return l.Frames[frame].Linkage
}

// explain adds each address to the classes of its frames.
func (g *agreement) explain(t testing.TB, path string, found []difference) {
	t.Helper()
	var last uint64
	seen := map[string]bool{}
	for i, d := range found {
		if i == 0 || d.addr != last {
			clear(seen)
		}
		last = d.addr
		k := slices.IndexFunc(explanations, func(e explanation) bool { return e.explains(d) })
		require.GreaterOrEqual(t, k, 0, "new difference at %s 0x%x (%s):\nllvm    %s\nours    %s\nc++filt %s", path, d.addr, d.linkage, d.llvm, d.ours, d.cxxfilt)
		if class := explanations[k].class; !seen[class] {
			seen[class] = true
			g.classes[class]++
		}
	}
}

// locate returns the frames of ELF addresses, with names demangled as llvm-symbolizer does.
func locate(t testing.TB, path string, addrs []uint64) []Location {
	t.Helper()
	locations, err := ELF(t.Context(), path, addrs, Options{Demangle: DemangleFull})
	require.NoError(t, err)
	require.Len(t, locations, len(addrs))
	return locations
}

// addNames demangles the linkage names of all differences with c++filt.
func addNames(t testing.TB, found []difference) {
	t.Helper()
	if len(found) == 0 {
		return
	}
	var in strings.Builder
	for _, d := range found {
		fmt.Fprintln(&in, d.linkage)
	}
	cmd := exec.Command(testutil.Need(t, "c++filt"))
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Len(t, lines, len(found))
	for i := range found {
		found[i].cxxfilt = lines[i]
	}
}

// check logs the result.
func (g agreement) check(t testing.TB, what string) {
	t.Helper()
	t.Logf("%s: %d addresses, %d equal, %v", what, g.addresses, g.equal, g.classes)
	require.NotZero(t, g.addresses)
}
