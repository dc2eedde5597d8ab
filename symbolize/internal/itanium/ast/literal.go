package ast

import (
	"math"
	"strconv"
	"strings"
)

// float prints a floating literal: LLVM in hexadecimal, as printf's %a does; c++filt as its bytes.
func (w *Printer) float(n *Node) {
	if w.style == GNU {
		w.writeByte('(')
		w.write(floats[n.Count].name)
		w.write(")[")
		w.write(n.Text)
		w.writeByte(']')
		return
	}
	switch floats[n.Count].letter {
	case 'f':
		bits, _ := strconv.ParseUint(n.Text, 16, 32)
		w.hexFloat(float64(math.Float32frombits(uint32(bits))))
		w.writeByte('f')
	case 'd':
		bits, _ := strconv.ParseUint(n.Text, 16, 64)
		w.hexFloat(math.Float64frombits(bits))
	default:
		w.extended(n.Text)
		w.writeByte('L')
	}
}

// hexFloat prints a number as glibc's %a does: the exponent has no leading zeros, and denormals
// begin with 0.
func (w *Printer) hexFloat(v float64) {
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

// hexDigits prints 0x<lead>.<fraction>p<exponent>. The first digit of the fraction is in its top
// four bits.
func (w *Printer) hexDigits(lead string, fraction uint64, exponent int) {
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

// extended prints a long double of x86: 1 bit sign, 15 bits exponent, 64 bits mantissa including
// the leading 1. glibc prints the first four bits of the mantissa before the point.
func (w *Printer) extended(hex string) {
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

// quoted prints an array of characters as a string literal. It prints nothing and returns false if
// the node is not such an array.
func (w *Printer) quoted(n *Node) bool {
	array := &w.nodes[n.A]
	if array.Kind != Array || w.nodes[array.A].Kind != Builtin || w.nodes[array.A].Text != "char" {
		return false
	}
	start := len(w.out)
	w.writeByte('"')
	escaped := false // the last character was printed as a number
	for _, e := range w.lists[n.List.Lo:n.List.Hi] {
		c, err := strconv.ParseUint(w.nodes[e].Text, 10, 8)
		if w.nodes[e].Kind != Integer || err != nil {
			w.rewind(start)
			return false
		}
		if escaped && isHexDigit(byte(c)) {
			w.write(`""`) // ends the number
		}
		escaped = w.quotedByte(byte(c))
	}
	w.writeByte('"')
	return true
}

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// quotedByte prints a byte of a string and reports whether it is printed as a number.
func (w *Printer) quotedByte(c byte) bool {
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
