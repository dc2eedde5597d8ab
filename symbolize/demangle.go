package symbolize

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"
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

// maxMangled caps the names that are demangled: the time for crafted ones is exponential.
const maxMangled = 16 << 10

// demangleName shows a linkage name; names that are not mangled stay as they are, but for
// what DemangleSimple drops of any name.
func demangleName(linkage string, mode Demangle) string {
	if mode == DemangleNone || len(linkage) > maxMangled {
		return linkage
	}
	if function, ok := strings.CutSuffix(linkage, stubSuffix); ok && function != "" {
		return demangleName(function, mode) + stubSuffix
	}
	if mode == DemangleSimple {
		linkage = cmp.Or(decorations.ReplaceAllString(linkage, ""), linkage)
	}
	if !isMangled(linkage) {
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
	if mode == DemangleLLVM {
		if strings.Contains(name, "operator<") {
			name = operatorTemplates.Replace(name)
		}
		return joinClones(spaceClosers(name))
	}
	return name
}

// stubSuffix stands behind the names of PLT stubs.
const stubSuffix = "@plt"

// decorations are what compilers and linkers add behind a name: clone suffixes (.isra.0, .cold, Go's .abi0) and
// symbol versions (@@GLIBC_2.34).
var decorations = regexp.MustCompile(`(\.(cold|part|isra|constprop|lto_priv|localalias|llvm|abi0|abiinternal)(\.[0-9]+)*)*(@@?[A-Z][A-Za-z0-9_.]*)?$`)

// emptyPacks drops the comma that the demangler leaves before an empty argument pack: _Tuple_impl<0ul, long const&, >.
var emptyPacks = strings.NewReplacer(">, >", "> >", ", >", ">")

// joinClones writes `f(int) (.constprop.0.isra.0)`, as llvm-symbolizer does, for `f(int) (.constprop.0) (.isra.0)`.
func joinClones(name string) string {
	if first := strings.Index(name, " (."); first >= 0 {
		return name[:first+2] + strings.ReplaceAll(name[first+2:], ") (.", ".")
	}
	return name
}

// operatorTemplates drops the blank between operator< and its template arguments, as llvm-symbolizer 14 does.
var operatorTemplates = strings.NewReplacer("operator<< <", "operator<<<", "operator< <", "operator<<")

// spaceClosers writes `> >` where templates close, as llvm-symbolizer 14 does, but keeps operator>>.
func spaceClosers(name string) string {
	if !strings.Contains(name, ">>") {
		return name
	}
	var b strings.Builder
	b.Grow(len(name) + strings.Count(name, ">"))
	start := 0
	for i := 1; i < len(name); i++ {
		if name[i] == '>' && name[i-1] == '>' && !strings.HasSuffix(name[:i], "operator>") {
			b.WriteString(name[start:i])
			b.WriteByte(' ')
			start = i
		}
	}
	b.WriteString(name[start:])
	return b.String()
}

// isMangled recognises Itanium (_Z, with one to four underscores) and Rust v0 (_R) names.
func isMangled(s string) bool {
	rest := strings.TrimLeft(s, "_")
	under := len(s) - len(rest)
	if rest == "" || under == 0 {
		return false
	}
	return (rest[0] == 'Z' && under <= 4) || (rest[0] == 'R' && under == 1)
}
