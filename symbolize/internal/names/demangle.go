package names

import (
	"cmp"
	"errors"
	"math/bits"
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/heaplapse/heaplapse/symbolize/internal/itanium"
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

// Limits for hostile names. Package itanium needs memory of up to 50 times the length of a name.
// The other demanglers get shorter names only, because the time that the library needs can be
// exponential.
const (
	maxMangled   = 256 << 10
	maxForOthers = 16 << 10
)

// Demangler demangles names. Its zero value is ready to use. It keeps its memory from name to name;
// each goroutine needs its own.
type Demangler struct {
	cxx itanium.Demangler
	buf []byte
}

// Demangle demangles one name with a new [Demangler].
func Demangle(linkage string, mode Mode) string { return new(Demangler).Name(linkage, mode) }

// Name returns the display name for a linkage name. It returns names that are not mangled
// unchanged, apart from the suffixes that Simple removes from all names.
func (d *Demangler) Name(linkage string, mode Mode) string {
	if mode == None || len(linkage) > maxMangled {
		return linkage
	}
	if function, ok := strings.CutSuffix(linkage, StubSuffix); ok && function != "" {
		return d.Name(function, mode) + StubSuffix
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
	return d.cplusplus(linkage, mode)
}

// cplusplus demangles a C++ name. The library demangles what package itanium rejects, except for
// names that exceed a limit.
func (d *Demangler) cplusplus(linkage string, mode Mode) string {
	style := itanium.Full
	if mode == Simple {
		style = itanium.Simple
	}
	name, err := d.cxx.Append(d.buf[:0], linkage, style)
	d.buf = name[:0]
	switch {
	case errors.Is(err, itanium.ErrTooLarge):
		return linkage
	case err != nil || len(name) == 0:
		return fromLibrary(linkage, mode)
	}
	return string(name)
}

// fromLibrary demangles a name with github.com/ianlancetaylor/demangle.
func fromLibrary(linkage string, mode Mode) string {
	if len(linkage) > maxForOthers {
		return linkage
	}
	limit := bits.Len(uint(16<<10 + 256*len(linkage))) // as a power of 2, about that of package itanium
	options := []demangle.Option{demangle.MaxLength(limit)}
	if mode == Simple {
		options = append(options, demangle.NoParams, demangle.NoEnclosingParams, demangle.NoClones)
	} else {
		options = append(options, demangle.LLVMStyle, demangle.NoRust) // LLVM treats legacy Rust as C++
	}
	name, err := demangle.ToString(linkage, options...)
	if err != nil || name == "" || len(name) >= 1<<limit {
		return linkage
	}
	if strings.Contains(name, ", >") { // Replace always copies
		name = emptyPacks.Replace(name)
	}
	return name
}

// emptyPacks removes the comma that the library prints before an empty argument pack:
// _Tuple_impl<0ul, long const&, >.
var emptyPacks = strings.NewReplacer(">, >", "> >", ", >", ">")

// rust demangles a name of Rust's v0 mangling.
func rust(linkage string, mode Mode) string {
	if len(linkage) > maxForOthers {
		return linkage
	}
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
