package rustv0

import (
	"strings"
	"unicode/utf8"
)

// decodePunycode decodes a name with letters outside ASCII (RFC 3492, with an underscore instead of
// the hyphen).
func decodePunycode(s string) (string, bool) {
	const base, initialBias, initialPoint = 36, 72, 128
	var out []rune
	if i := strings.LastIndexByte(s, '_'); i >= 0 {
		out, s = []rune(s[:i]), s[i+1:]
	}
	if s == "" {
		return "", false
	}
	point, at, bias := initialPoint, 0, initialBias
	for first := true; s != ""; first = false {
		before, weight := at, 1
		for k := base; ; k += base {
			digit, ok := punycodeDigit(s)
			if !ok || weight > utf8.MaxRune*maxShown/base {
				return "", false
			}
			s = s[1:]
			at += digit * weight
			threshold := min(max(k-bias, 1), 26)
			if digit < threshold {
				break
			}
			weight *= base - threshold
		}
		count := len(out) + 1
		bias = punycodeBias(at-before, count, first)
		if point += at / count; point > utf8.MaxRune || !utf8.ValidRune(rune(point)) {
			return "", false
		}
		at %= count
		out = append(out[:at], append([]rune{rune(point)}, out[at:]...)...)
		at++
	}
	return string(out), true
}

func punycodeDigit(s string) (int, bool) {
	if s == "" {
		return 0, false
	}
	switch c := s[0]; {
	case c >= 'a' && c <= 'z':
		return int(c - 'a'), true
	case c >= '0' && c <= '9':
		return int(c-'0') + 26, true
	}
	return 0, false
}

// punycodeBias returns the bias after a step (RFC 3492 section 6.1).
func punycodeBias(step, count int, first bool) int {
	const base, skew, damp = 36, 38, 700
	if first {
		step /= damp
	} else {
		step /= 2
	}
	step += step / count
	k := 0
	for ; step > (base-1)*26/2; k += base {
		step /= base - 1
	}
	return k + base*step/(step+skew)
}
