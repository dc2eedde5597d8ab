package names

import (
	"math/bits"
	"strconv"
	"strings"
)

// legacyHash is the last component of a name of Rust's legacy mangling, and the end of the name.
const legacyHash = "17h0123456789abcdefE"

// isLegacyRust reports whether a name is of Rust's legacy mangling, which resembles that of C++.
// Its last component is a hash: h and 16 hexadecimal digits.
func isLegacyRust(s string) bool {
	s = withoutClone(s)
	if len(s) <= len(legacyHash) || !strings.HasSuffix(s, "E") {
		return false
	}
	hash := s[len(s)-len(legacyHash):]
	return strings.HasPrefix(hash, "17h") && isHash(hash[3:len(hash)-1])
}

// isHash reports whether digits are hexadecimal, and random: at least 5 of them are different, as
// in other demanglers.
func isHash(digits string) bool {
	var seen uint
	for _, c := range digits {
		i := strings.IndexRune("0123456789abcdef", c)
		if i < 0 {
			return false
		}
		seen |= 1 << i
	}
	return bits.OnesCount(seen) >= 5
}

// withoutClone drops the suffix of a function that the compiler copied: .llvm.123.
func withoutClone(s string) string {
	if end := strings.LastIndex(s, "E."); end > 0 {
		return s[:end+1]
	}
	return s
}

// legacyRust demangles a name for which isLegacyRust is true, without its hash:
//
//	_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE
//	<&T as core::fmt::Debug>::fmt
func legacyRust(s string) (string, bool) {
	s = withoutClone(s)
	_, rest, found := strings.Cut(s[:len(s)-len(legacyHash)], "ZN")
	var b strings.Builder
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n == 0 || n > len(rest)-digits {
			return "", false
		}
		if b.Len() > 0 {
			b.WriteString("::")
		}
		writeComponent(&b, rest[digits:digits+n])
		rest = rest[digits+n:]
	}
	return b.String(), found && b.Len() > 0
}

// writeComponent replaces the escapes of a component. The compiler puts an underscore before a
// component that begins with an escape. The text after an unknown escape stays as it is.
func writeComponent(b *strings.Builder, s string) {
	if strings.HasPrefix(s, "_$") {
		s = s[1:]
	}
	for s != "" {
		plain := strings.IndexAny(s, "$.")
		if plain < 0 {
			plain = len(s)
		}
		b.WriteString(s[:plain])
		s = s[plain:]
		text, rest := unescape(s)
		b.WriteString(text)
		s = rest
	}
}

// unescape returns the text of the escape that s begins with, and what follows it.
func unescape(s string) (text, rest string) {
	switch {
	case s == "":
		return "", ""
	case strings.HasPrefix(s, ".."):
		return "::", s[2:]
	case s[0] == '.':
		return ".", s[1:]
	}
	code, after, closed := strings.Cut(s[1:], "$")
	if text := legacyEscapes[code]; closed && text != "" {
		return text, after
	}
	if hex, ok := strings.CutPrefix(code, "u"); ok && closed {
		if r, err := strconv.ParseUint(hex, 16, 32); err == nil && strconv.IsPrint(rune(r)) {
			return string(rune(r)), after
		}
	}
	return s, ""
}

var legacyEscapes = map[string]string{
	"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ",",
}

// fromCDemangler returns the name of a function of legacy Rust whose mangled name a demangler of C++ has
// demangled, so that it has escapes and the hash:
//
//	_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$::fmt::h0123456789abcdef
//	<&T as core::fmt::Debug>::fmt
func fromCDemangler(s string) (string, bool) {
	name, hash, found := cutLast(s, "::h")
	if !found || len(hash) != 16 || !isHash(hash) {
		return "", false
	}
	var b strings.Builder
	for i, component := range strings.Split(name, "::") {
		if i > 0 {
			b.WriteString("::")
		}
		writeComponent(&b, component)
	}
	return b.String(), true
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
