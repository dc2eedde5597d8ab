package itanium

import (
	"math"
	"strconv"
	"strings"
)

// float writes a floating literal: LLVM as printf's %a does, in hexadecimal, the GNU tools its bytes.
func (w *printer) float(n *node) {
	if w.style == gnu {
		w.writeByte('(')
		w.write(floats[n.count].name)
		w.write(")[")
		w.write(n.text)
		w.writeByte(']')
		return
	}
	switch floats[n.count].letter {
	case 'f':
		bits, _ := strconv.ParseUint(n.text, 16, 32)
		w.hexFloat(float64(math.Float32frombits(uint32(bits))))
		w.writeByte('f')
	case 'd':
		bits, _ := strconv.ParseUint(n.text, 16, 64)
		w.hexFloat(math.Float64frombits(bits))
	default:
		w.extended(n.text)
		w.writeByte('L')
	}
}

// hexFloat writes a number as glibc's %a does: an exponent without leading zeros, and denormals with a 0 in front.
func (w *printer) hexFloat(v float64) {
	bits := math.Float64bits(v)
	if bits>>63 != 0 {
		w.writeByte('-')
	}
	exponent, fraction := int(bits>>52&0x7ff), bits<<12
	lead := "1"
	switch {
	case exponent == 0x7ff && fraction != 0:
		w.write("nan")
		return
	case exponent == 0x7ff:
		w.write("inf")
		return
	case exponent == 0 && fraction == 0:
		lead, exponent = "0", 1023
	case exponent == 0:
		lead, exponent = "0", 1
	}
	w.hexDigits(lead, fraction, exponent-1023)
}

// hexDigits writes 0x<lead>.<fraction>p<exponent>; the fraction's most significant digit is its top four bits.
func (w *printer) hexDigits(lead string, fraction uint64, exponent int) {
	w.write("0x")
	w.write(lead)
	if fraction != 0 {
		w.writeByte('.')
		digits := strconv.FormatUint(fraction, 16)
		w.write(strings.Repeat("0", 16-len(digits)))
		w.write(strings.TrimRight(digits, "0"))
	}
	w.writeByte('p')
	if exponent >= 0 {
		w.writeByte('+')
	}
	w.writeInt(int32(exponent))
}

// extended writes the long double of x86: 1 bit sign, 15 bits exponent, 64 bits mantissa with its leading 1. glibc shows the
// first four of them in front of the point.
func (w *printer) extended(hex string) {
	head, _ := strconv.ParseUint(hex[:4], 16, 16)
	mantissa, _ := strconv.ParseUint(hex[4:], 16, 64)
	if head>>15 != 0 {
		w.writeByte('-')
	}
	exponent := int(head & 0x7fff)
	switch {
	case exponent == 0x7fff && mantissa<<1 != 0:
		w.write("nan")
	case exponent == 0x7fff:
		w.write("inf")
	case mantissa == 0:
		w.write("0x0p+0")
	default:
		w.hexDigits(strconv.FormatUint(mantissa>>60, 16), mantissa<<4, max(exponent, 1)-16383-3)
	}
}

// quoted writes an array of characters as a string literal. If that is none, it writes nothing.
func (w *printer) quoted(n *node) bool {
	array := &w.nodes[n.a]
	if array.kind != kindArray || w.nodes[array.a].kind != kindBuiltin || w.nodes[array.a].text != "char" {
		return false
	}
	start := len(w.out)
	w.writeByte('"')
	escaped := false // the last one was written as a number
	for _, e := range w.lists[n.list.lo:n.list.hi] {
		c, err := strconv.ParseUint(w.nodes[e].text, 10, 8)
		if w.nodes[e].kind != kindInteger || err != nil {
			w.rewind(start)
			return false
		}
		if escaped && isHexDigit(byte(c)) {
			w.write(`""`) // or it would be read as part of the number
		}
		escaped = w.quotedByte(byte(c))
	}
	w.writeByte('"')
	return true
}

func isHexDigit(c byte) bool { return isHex(c) || c >= 'A' && c <= 'F' }

// quotedByte writes a byte of a string, and says whether it is written as a number.
func (w *printer) quotedByte(c byte) bool {
	const special, letters = "\a\b\f\n\r\t\v\"\\", `abfnrtv"\`
	if i := strings.IndexByte(special, c); i >= 0 {
		w.writeByte('\\')
		w.writeByte(letters[i])
		return false
	}
	if c >= 32 && c != 127 {
		w.writeByte(c)
		return false
	}
	w.writeByte('\\')
	if c > 7 {
		w.writeByte('x')
	}
	w.out = append(w.out, strings.ToUpper(strconv.FormatUint(uint64(c), 16))...)
	return true
}
