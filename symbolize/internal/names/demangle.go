package names

import (
	"cmp"
	"math/bits"
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/heaplapse/heaplapse/symbolize/internal/rustv0"
)

// Mode selects what is displayed of a name.
type Mode uint8

// The modes. The names in the comments are those of _ZN5Cache3addEi.cold.
const (
	Simple Mode = iota // no parameters, clone suffixes and symbol versions: Cache::add
	Full               // everything, as llvm-symbolizer prints it: Cache::add(int) (.cold)
	None               // the linkage name
)

// maxMangled is the length up to which names are demangled. The time that a name takes grows with the
// square of its length: a hostile name of this length takes some 20 ms.
const maxMangled = 4 << 10

// Demangle returns the display name for a linkage name. It returns names that are not mangled
// unchanged, apart from the suffixes that Simple removes from all names.
func Demangle(linkage string, mode Mode) string {
	if mode == None || len(linkage) > maxMangled {
		return linkage
	}
	if function, ok := strings.CutSuffix(linkage, StubSuffix); ok && function != "" {
		return Demangle(function, mode) + StubSuffix
	}
	if mode == Simple {
		linkage = withoutToken(Undecorated(linkage))
	}
	switch {
	case !IsMangled(linkage):
		return linkage
	case linkage[1] == 'R':
		return rust(linkage, mode)
	case mode == Simple && isLegacyRust(linkage):
		if name, ok := legacyRust(linkage); ok {
			return name
		}
	}
	return cplusplus(linkage, mode)
}

// cplusplus demangles a C++ name.
func cplusplus(linkage string, mode Mode) string {
	plain := Undecorated(linkage)
	limit := bits.Len(uint(16<<10 + 256*len(plain))) // of the result, as a power of 2
	options := []demangle.Option{demangle.MaxLength(limit)}
	if mode == Simple {
		options = append(options, demangle.NoParams, demangle.NoEnclosingParams, demangle.NoClones)
	} else {
		options = append(options, demangle.LLVMStyle, demangle.NoRust) // LLVM treats legacy Rust as C++
	}
	name, err := demangle.ToString(plain, options...)
	switch {
	case err != nil, name == "", len(name) >= 1<<limit:
		return linkage
	case mode == Simple:
		return withoutEmptyPacks(name)
	case plain != linkage:
		return asLLVM14(name) + " (" + linkage[len(plain):] + ")"
	}
	return asLLVM14(name)
}

// asLLVM14 spells a full name as LLVM does up to version 14: A<B<int> >, operator<<<int>.
func asLLVM14(name string) string {
	name = operatorWithArguments.Replace(withoutEmptyPacks(name))
	if !strings.Contains(name, ">>") {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		if closesTwo(name[:i+1]) {
			b.WriteByte(' ')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

var operatorWithArguments = strings.NewReplacer("operator<< <", "operator<<<", "operator< <", "operator<<")

// closesTwo reports whether the last two bytes of the beginning of a name close two lists of template arguments.
// They can also be an operator.
func closesTwo(s string) bool {
	before, ok := strings.CutSuffix(s, ">>")
	return ok && !strings.HasSuffix(before, "operator") && !strings.HasSuffix(before, " ")
}

// withoutEmptyPacks removes the comma that the library prints before an empty argument pack:
// _Tuple_impl<0ul, long const&, >.
func withoutEmptyPacks(name string) string {
	if !strings.Contains(name, ", >") {
		return name // Replace always copies
	}
	return emptyPacks.Replace(name)
}

var emptyPacks = strings.NewReplacer(">, >", "> >", ", >", ">")

// rust demangles a name of Rust's v0 mangling.
func rust(linkage string, mode Mode) string {
	mangled, suffix, cloned := strings.Cut(linkage, ".")
	name, err := rustv0.Demangle(mangled)
	switch {
	case err != nil:
		return linkage
	case cloned && mode == Full:
		return name + " (." + suffix + ")"
	}
	return name
}

// allocToken matches what clang -fsanitize=alloc-token puts before the name of an allocation
// function: __alloc_token_ or, with the fast ABI, __alloc_token_3_.
var allocToken = regexp.MustCompile(`^__alloc_token_([0-9]+_)?`)

// withoutToken returns the name of the allocation function that a name with an allocation token
// stands for: malloc for __alloc_token_malloc, _Znwm for __alloc_token_0__Znwm.
func withoutToken(name string) string {
	if !strings.HasPrefix(name, "__alloc_token_") {
		return name // nearly all names
	}
	return cmp.Or(allocToken.ReplaceAllString(name, ""), name)
}

// IsMangled reports whether a name begins like a mangled one: with one to four underscores and Z
// (C++), or with _R (Rust).
func IsMangled(s string) bool {
	rest := strings.TrimLeft(s, "_")
	under := len(s) - len(rest)
	if rest == "" || under == 0 {
		return false
	}
	return (rest[0] == 'Z' && under <= 4) || (rest[0] == 'R' && under == 1)
}

// StubSuffix follows the name of the function in the name of its PLT stub.
const StubSuffix = "@plt"

// decorations matches what compilers and linkers append to a name: clone suffixes (.isra.0, .cold,
// and Go's .abi0) and symbol versions (@@GLIBC_2.34).
var decorations = regexp.MustCompile(
	`(\.(cold|part|isra|constprop|lto_priv|localalias|llvm|abi0|abiinternal)(\.[0-9]+)*)*(@@?[A-Z][A-Za-z0-9_.]*)?$`,
)

// Undecorated returns a name without clone suffixes and symbol version.
func Undecorated(name string) string {
	if strings.IndexByte(name, '.') < 0 && strings.IndexByte(name, '@') < 0 {
		return name // nearly all names
	}
	return cmp.Or(decorations.ReplaceAllString(name, ""), name)
}
