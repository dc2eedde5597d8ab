package dwarf

import (
	"regexp"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// Compilers and demanglers call a function without a name differently: gcc writes "Server::start()::<lambda()>", clang
// "(lambda at server.cc:11:24)", and a demangler "Server::start()::'lambda'()", or 'lambda0' for the second one. So a
// class that has such a function among the arguments of its template is found by the mangled names of its member
// functions. Debug information does not have those of a class that only one source file knows.

// hasLambda reports whether the name of a type depends on how a function without a name is called.
func hasLambda(name string) bool { return strings.Contains(name, "lambda") }

// demangledLambda is how a demangler writes such a function.
var demangledLambda = regexp.MustCompile(`'lambda[0-9]*'(\([^()]*\))`)

// asGCC returns the name of a type as gcc writes it. Several functions may have the same name then.
func asGCC(name string) string { return demangledLambda.ReplaceAllString(name, "<lambda$1>") }

// memberPrefixes returns what the mangled names of the member functions of a class begin with. mangled is that of the
// class: the name of its table of virtual functions without _ZTV.
func memberPrefixes(mangled string) [2]string {
	if inner, ok := strings.CutPrefix(mangled, "N"); ok {
		mangled = strings.TrimSuffix(inner, "E")
	}
	return [2]string{"_ZN" + mangled, "_ZNK" + mangled}
}

// declares reports whether a class declares a member function of a class with a mangled name.
func (u *unit) declares(ref TypeRef, mangled string) bool {
	if mangled == "" {
		return false
	}
	prefixes := memberPrefixes(mangled)
	r := typeReader{unit: u, t: &Type{}}
	r.start(ref.off())
	for a := r.next(); a != nil && !r.c.Failed; a = r.next() {
		var e encoding.Entry
		a.Read(&r.c, r.Shape, &e)
		name := u.nameText(e.Linkage)
		if strings.HasPrefix(name, prefixes[0]) || strings.HasPrefix(name, prefixes[1]) {
			return true
		}
		if a.Children {
			r.skip(e.Sibling)
		}
	}
	return false
}
