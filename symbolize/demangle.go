package symbolize

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/heaplapse/heaplapse/symbolize/internal/itanium"
	"github.com/heaplapse/heaplapse/symbolize/internal/rustv0"
)

// Demangle is how much of a C++ or Rust name is shown.
type Demangle uint8

// The ways to show names.
const (
	DemangleSimple Demangle = iota // without parameters and clone suffixes; templates are kept
	DemangleFull                   // everything
	DemangleNone                   // the linkage name
	DemangleLLVM                   // everything, in the style of llvm-symbolizer
)

// The longest names that are demangled: by us, whose memory is some 50 times as much, and by the library, whose time for
// crafted names is exponential.
const (
	maxMangled    = 256 << 10
	maxForLibrary = 16 << 10
)

// demangler shows names, one at a time. Its zero value is ready; each goroutine needs its own.
type demangler struct {
	cxx itanium.Demangler
	buf []byte
}

// demangleName shows one name.
func demangleName(linkage string, mode Demangle) string { return new(demangler).name(linkage, mode) }

// name shows a linkage name; names that are not mangled stay as they are, but for what DemangleSimple drops of any name.
func (d *demangler) name(linkage string, mode Demangle) string {
	if mode == DemangleNone || len(linkage) > maxMangled {
		return linkage
	}
	if function, ok := strings.CutSuffix(linkage, stubSuffix); ok && function != "" {
		return d.name(function, mode) + stubSuffix
	}
	if mode == DemangleSimple {
		linkage = undecorated(linkage)
	}
	if !isMangled(linkage) {
		return linkage
	}
	switch {
	case linkage[1] == 'R':
		return rustName(linkage, mode)
	case mode == DemangleFull || (mode != DemangleLLVM && isLegacyRust(linkage)):
		return fromLibrary(linkage, mode)
	}
	return d.cxxName(linkage, mode)
}

// cxxName shows a name of C++. What our demangler refuses, names of old compilers, is left to the library; what is too large is
// too large for it as well.
func (d *demangler) cxxName(linkage string, mode Demangle) string {
	style := itanium.Full
	if mode == DemangleSimple {
		style = itanium.Simple
	}
	shown, err := d.cxx.Append(d.buf[:0], linkage, style)
	d.buf = shown[:0]
	switch {
	case errors.Is(err, itanium.ErrTooLarge):
		return linkage
	case err != nil || len(shown) == 0:
		return fromLibrary(linkage, mode)
	}
	return string(shown)
}

// fromLibrary shows Rust's older names, and those of compilers before there was an ABI.
func fromLibrary(linkage string, mode Demangle) string {
	if len(linkage) > maxForLibrary {
		return linkage
	}
	var options []demangle.Option
	switch mode {
	case DemangleSimple:
		options = []demangle.Option{demangle.NoParams, demangle.NoEnclosingParams, demangle.NoClones}
	case DemangleLLVM:
		options = []demangle.Option{demangle.LLVMStyle}
	}
	name, err := demangle.ToString(linkage, options...)
	if err != nil || name == "" {
		return linkage
	}
	if strings.Contains(name, ", >") { // a Replacer copies in any case
		name = emptyPacks.Replace(name)
	}
	return name
}

// rustName shows a name of Rust's own mangling.
func rustName(linkage string, mode Demangle) string {
	if len(linkage) > maxForLibrary {
		return linkage
	}
	name, suffix, more := strings.Cut(linkage, ".")
	shown, err := rustv0.Demangle(name)
	switch {
	case err != nil:
		return linkage
	case more && mode == DemangleFull:
		return shown + " [clone ." + suffix + "]"
	case more && mode == DemangleLLVM:
		return shown + " (." + suffix + ")"
	}
	return shown
}

// isLegacyRust recognises the names that Rust makes in the manner of C++: their last part is a hash, h and 16 hexadecimal
// digits. For llvm-symbolizer they are names of C++.
func isLegacyRust(s string) bool {
	if end := strings.LastIndex(s, "E."); end > 0 {
		s = s[:end+1]
	}
	const hash = len("17h0123456789abcdefE")
	return len(s) > hash && strings.HasSuffix(s, "E") && s[len(s)-hash:len(s)-hash+3] == "17h"
}

// stubSuffix stands behind the names of PLT stubs.
const stubSuffix = "@plt"

// decorations are what compilers and linkers add behind a name: clone suffixes (.isra.0, .cold, Go's .abi0) and
// symbol versions (@@GLIBC_2.34).
var decorations = regexp.MustCompile(`(\.(cold|part|isra|constprop|lto_priv|localalias|llvm|abi0|abiinternal)(\.[0-9]+)*)*(@@?[A-Z][A-Za-z0-9_.]*)?$`)

// undecorated is a name without decorations. Nearly all names have none.
func undecorated(name string) string {
	if strings.IndexByte(name, '.') < 0 && strings.IndexByte(name, '@') < 0 {
		return name
	}
	return cmp.Or(decorations.ReplaceAllString(name, ""), name)
}

// emptyPacks drops the comma that the library leaves before an empty argument pack: _Tuple_impl<0ul, long const&, >.
var emptyPacks = strings.NewReplacer(">, >", "> >", ", >", ">")

// isMangled recognises Itanium (_Z, with one to four underscores) and Rust v0 (_R) names.
func isMangled(s string) bool {
	rest := strings.TrimLeft(s, "_")
	under := len(s) - len(rest)
	if rest == "" || under == 0 {
		return false
	}
	return (rest[0] == 'Z' && under <= 4) || (rest[0] == 'R' && under == 1)
}
