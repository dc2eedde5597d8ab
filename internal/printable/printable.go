// Package printable tells which characters of a text from the input may be printed. Names, paths
// and command lines may be hostile to a terminal.
package printable

import "unicode"

// Rune reports whether a character may be printed as it is: it controls neither a terminal nor the
// direction of text, and ends no line.
func Rune(r rune) bool { return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
