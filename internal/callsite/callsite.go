// Package callsite recognizes return addresses by the call before them.
package callsite

// Size is the number of bytes before a return address that X86 needs: the longest call without
// prefixes.
const Size = 7

// X86 reports whether code that ends at a return address may end with a call: E8 with a
// displacement of four bytes, or FF /2 with any operand, which has 2 to 7 bytes (Intel SDM volume
// 2, CALL and tables 2-1 to 2-3). Other code may look like that, too: one of some ten addresses
// does.
func X86(b [Size]byte) bool {
	const direct, indirect, group = 0xe8, 0xff, 2
	if b[Size-5] == direct {
		return true
	}
	for i := range Size - 1 {
		if b[i] == indirect && b[i+1]>>3&7 == group && i+size(b[i+1:]) == Size {
			return true
		}
	}
	return false
}

// size returns the size of an instruction of one byte, the given ModRM byte, and its operand.
func size(modRM []byte) int {
	const inRegister, withSIB, noBase = 3, 4, 5
	mode, register := modRM[0]>>6, modRM[0]&7
	n := 2
	if mode != inRegister && register == withSIB {
		n++
		if len(modRM) < 2 {
			return n
		}
		register = modRM[1] & 7
	}
	switch {
	case mode == 1:
		n++
	case mode == 2, mode == 0 && register == noBase:
		n += 4
	}
	return n
}
