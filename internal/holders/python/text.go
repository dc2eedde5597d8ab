//go:build linux

package python

import "strings"

// maxText is the length of the longest name.
const maxText = 200

// str returns the text of a str, or "" if it is not one, not in ASCII, or too long for a name.
func (in *Interpreter) str(address uint64) string {
	o, ok := in.object(address)
	if !ok || o.kind != strKind {
		return ""
	}
	n := in.read.Word(address + size)
	if in.text(in.read.Number(address+strState)) != in.ascii || n > maxText {
		return ""
	}
	return string(in.read.Bytes(address+in.ascii, int(n)))
}

// isIdentifier reports whether a text may be a name of a program.
func isIdentifier(s string) bool {
	const longest = 80
	for i, c := range []byte(s) {
		if !isLetter(c) && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= longest
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// isQualified reports whether a text is a name like "app.Session" or "make.<locals>.add".
func isQualified(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		inner := part
		if strings.HasPrefix(part, "<") && strings.HasSuffix(part, ">") {
			inner = part[1 : len(part)-1]
		}
		if !isIdentifier(inner) {
			return false
		}
	}
	return true
}

// isModule reports whether a text may be the name of a module. It may be that of a file, such as "my-plugin".
func isModule(s string) bool { return isQualified(strings.ReplaceAll(s, "-", "_")) }

// fileName returns the last part of the path of a file, or "" if it is no usual name.
func fileName(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for _, c := range []byte(name) {
		if !isLetter(c) && (c < '0' || c > '9') && !strings.ContainsRune("-+.<>", rune(c)) {
			return ""
		}
	}
	return name
}
