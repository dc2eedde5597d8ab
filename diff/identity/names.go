package identity

import (
	"strings"

	"github.com/heaplapse/heaplapse/internal/lazyregexp"
)

// Suffixes that compilers add to a function's name when they clone, split or promote it, what
// demanglers make of them, and symbol versions.
var (
	cloneNote   = lazyregexp.New(` ?[\[(](\.|clone )[^\])]*[\])]$`)
	cloneSuffix = lazyregexp.New(
		`(\.(cold|constprop|isra|part|lto_priv|llvm|localalias|__uniq|warm|hot|unlikely|ctor|dtor))(\.[0-9A-Za-z_]+)*$|\.\d+$`,
	)
	abiTag   = lazyregexp.New(`\[abi:[^\]]*\]`)
	version  = lazyregexp.New(`@@?[A-Z][A-Za-z]*_[A-Za-z0-9._]+$`)
	rustHash = lazyregexp.New(`::h[0-9a-f]{16}$`)
	lambda   = lazyregexp.New(
		`\{lambda\([^{}]*\)#\d+\}|\{lambda#\d+\}|'lambda\d*'(\([^()]*\))?|\$_\d+|<lambda\([^<>]*\)>`,
	)
	rustClosure = lazyregexp.New(`\{\{closure\}\}|\{closure(_env)?#\d+\}`)
	anonymous   = lazyregexp.New(`\(anonymous namespace\)|\{anonymous\}|_GLOBAL__N_[A-Za-z0-9_.]*`)
	inlineStd   = strings.NewReplacer("std::__1::", "std::", "std::__cxx11::", "std::", "std::__ndk1::", "std::")
)

// Normalize drops from a demangled name what differs between builds of the same source: clone
// suffixes, ABI tags, symbol versions, hashes, the numbers of lambdas, and inline namespaces of the
// standard library.
func Normalize(name string) string {
	for {
		shorter := version().ReplaceAllString(cloneSuffix().ReplaceAllString(cloneNote().ReplaceAllString(name, ""), ""), "")
		if shorter == name {
			break
		}
		name = shorter
	}
	name = rustHash().ReplaceAllString(name, "")
	name = abiTag().ReplaceAllString(name, "")
	name = lambda().ReplaceAllString(name, "{lambda}")
	name = rustClosure().ReplaceAllString(name, "{closure}")
	name = anonymous().ReplaceAllString(name, "(anonymous namespace)")
	return inlineStd.Replace(name)
}

// Names normalises the names of a series. It remembers them, because most functions have many
// locations. The zero value is ready. It is not safe for concurrent use.
type Names struct{ known map[string]string }

// Normalize returns what [Normalize] does.
func (n *Names) Normalize(name string) string {
	short, ok := n.known[name]
	if !ok {
		if n.known == nil {
			n.known = map[string]string{}
		}
		short = Normalize(name)
		n.known[name] = short
	}
	return short
}

// Untemplated drops template arguments: std::vector<int>::push_back becomes std::vector::push_back.
// Operators keep their angle brackets. So does Rust's <T as Trait> at the beginning of a name.
func Untemplated(name string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case depth == 0 && c == 'o' && strings.HasPrefix(name[i:], "operator"):
			n := operatorLength(name[i:])
			b.WriteString(name[i : i+n])
			i += n - 1
			if strings.HasPrefix(name[i+1:], " <") { // operator< <int>
				depth, i = 1, i+2
			}
		case c == '<' && (depth > 0 || i > 0 && name[i-1] != ' ' && name[i-1] != ':'):
			depth++
		case c == '>' && depth > 0 && name[i-1] != '-':
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// operatorLength is the length of an operator's name such as "operator<<" at the beginning of s.
func operatorLength(s string) int {
	n := len("operator")
	for _, symbol := range []string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"} {
		if strings.HasPrefix(s[n:], symbol) {
			return n + len(symbol)
		}
	}
	return n
}
