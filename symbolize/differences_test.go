package symbolize

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

// difference is a frame that llvm-symbolizer 14 prints in another way than this package.
type difference struct {
	addr       uint64
	llvm, ours printed
	linkage    string // the mangled name that we found
	cxxfilt    string // what binutils' c++filt makes of it, the referee in questions of names
	// separate is the addresses of each symbol of the debug file, if the debug information is in a file of its own.
	separate map[string][]uint64
	// inStubs: the address is one of a PLT section, where objdump gives it the label stub, or none.
	inStubs bool
	stub    string
	// beyond: the section of the last symbol before the address ends before it.
	beyond bool
}

// explanation is a class of differences, and why the output of this package is right or equivalent.
type explanation struct {
	class, reason string
	explains      func(d difference) bool
}

// explanations are all known classes of differences; the first that explains a difference counts.
var explanations = []explanation{
	{
		"llvm: cannot demangle",
		"llvm-symbolizer prints names of GCC's `srSt…` expressions and of transaction clones mangled, 14 those of newer manglings too; c++filt agrees with us",
		func(d difference) bool { return d.llvm.name == d.linkage && d.refereeAgrees() },
	},
	{
		"llvm: nameless constructor",
		"llvm 14 loses the name of a constructor or destructor behind an ABI tag: failure[abi:cxx11]::~(); c++filt agrees with us",
		func(d difference) bool { return nameless.MatchString(d.llvm.name) && d.refereeAgrees() },
	},
	{
		"llvm: marker of a unit",
		"gcc -flto leaves a symbol without type, such as lib.cc.27a97082, whose section is not even code; llvm 14 names functions, and the gaps between them, by it",
		func(d difference) bool {
			return unitMarker.MatchString(d.llvm.name) && d.ours.position() == d.llvm.position() && (d.ours.name == "??" || d.refereeAgrees())
		},
	},
	{
		"llvm: neighbour of a PLT stub",
		"llvm 14 knows no PLT stubs: it prints the function before them, or nothing; objdump agrees with us",
		func(d difference) bool {
			return d.inStubs && d.linkage == d.stub && (d.stub != "" || d.ours == unknown[0])
		},
	},
	{
		"llvm: behind a section's end",
		"llvm 14 has a symbol without a size reach beyond its section: the gap behind .fini is `_fini`, and the end of the address space `_end`",
		func(d difference) bool { return d.beyond && d.ours == unknown[0] },
	},
	{
		"llvm: no symbols of the debug file",
		"llvm 14 takes the symbols of the stripped file, we those of its debug file: with clone suffixes, versions and static functions",
		func(d difference) bool {
			noPlace := d.llvm.file == "??" && d.ours.line == 0 // but for the symbol's file
			return d.separate != nil && d.sameSymbol() && (d.llvm.position() == d.ours.position() || noPlace)
		},
	},
}

// flat removes the spelling differences between llvm and c++filt.
var flat = strings.NewReplacer("(", "", ")", "", " ", "", "[clone", "", "]", "")

var nameless = regexp.MustCompile(`\]::~?\(`)

var unitMarker = regexp.MustCompile(`^\w+\.cc\.[0-9a-f]+$`)

func (p printed) position() printed { return printed{file: p.file, line: p.line, column: p.column} }

// refereeAgrees reports whether the frames differ only in their names, and c++filt agrees with this package.
func (d difference) refereeAgrees() bool {
	return d.ours.position() == d.llvm.position() && d.linkage != "" && flat.Replace(d.ours.name) == flat.Replace(d.cxxfilt)
}

// agreement counts the results of a comparison.
type agreement struct {
	addresses, equal int
	classes          map[string]int // addresses by class of difference
}

// compareWithLLVM compares all frames of addresses. It fails the test for a different number of frames, and for a
// difference without explanation.
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
	addReferee(t, found)
	result.explain(t, path, found)
	return result
}

// beyondSection returns a function that reports whether the section of the last symbol before an address ends before
// it.
func beyondSection(t testing.TB, path string) func(addr uint64) bool {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return func(uint64) bool { return false } // stripped
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

// separateSymbols returns the symbols of a file's separate debug file, nil if there is none.
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

// plainName returns a symbol without its version, clone suffix, and glibc's prefix for internal aliases.
func plainName(name string) string {
	return strings.TrimPrefix(names.Undecorated(name), "__GI_")
}

// sameSymbol reports whether the names are of one symbol: llvm has none, or an alias, or one that only the debug
// information has (__strstr_generic), or the name without its suffix.
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

// explain counts each address in the classes of its frames.
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
		require.GreaterOrEqual(t, k, 0, "unexplained at %s 0x%x (%s):\nllvm    %s\nours    %s\nc++filt %s", path, d.addr, d.linkage, d.llvm, d.ours, d.cxxfilt)
		if class := explanations[k].class; !seen[class] {
			seen[class] = true
			g.classes[class]++
		}
	}
}

// locate names ELF addresses as llvm-symbolizer does.
func locate(t testing.TB, path string, addrs []uint64) []Location {
	t.Helper()
	locations, err := ELF(t.Context(), path, addrs, Options{Demangle: DemangleFull})
	require.NoError(t, err)
	require.Len(t, locations, len(addrs))
	return locations
}

// addReferee asks c++filt for all linkage names at once.
func addReferee(t testing.TB, found []difference) {
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

// check logs the agreement. Each difference is explained by now.
func (g agreement) check(t testing.TB, what string) {
	t.Helper()
	t.Logf("%s: %d addresses, %d equal, %v", what, g.addresses, g.equal, g.classes)
	require.NotZero(t, g.addresses)
}
