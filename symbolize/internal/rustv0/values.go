package rustv0

import (
	"math"
	"strconv"
	"strings"
)

// lifetime prints a lifetime: 0 is an erased one, 1 is the one that was bound last.
func (r *reader) lifetime(n uint64) {
	if n == 0 {
		r.print("'_")
		return
	}
	if n > r.lifetimes {
		r.fail()
		return
	}
	if depth := r.lifetimes - n; depth < 26 {
		r.print("'" + string(rune('a'+depth)))
	} else {
		r.print("'z" + strconv.FormatUint(depth-25, 10))
	}
}

// constant reads the value of a const generic argument.
func (r *reader) constant() {
	defer r.leave()
	if !r.enter() {
		return
	}
	switch kind := r.next(); kind {
	case 'a', 's', 'l', 'x', 'n', 'i':
		if r.accept('n') {
			r.print("-")
		}
		r.integer()
	case 'h', 't', 'm', 'y', 'o', 'j':
		r.integer()
	case 'b':
		r.boolean()
	case 'c':
		r.character()
	case 'p':
		r.print("_")
	case 'B':
		r.backref(r.constant)
	default:
		r.fail()
	}
}

func (r *reader) integer() {
	digits := r.hex()
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		r.print("0x" + digits)
		return
	}
	r.print(strconv.FormatUint(v, 10))
}

func (r *reader) boolean() {
	switch r.hex() {
	case "0":
		r.print("false")
	case "1":
		r.print("true")
	default:
		r.fail()
	}
}

func (r *reader) character() {
	digits := r.hex()
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) > 6 {
		r.fail()
		return
	}
	switch escape := strings.IndexByte("\t\r\n'\\", byte(v)); {
	case v < 0x80 && escape >= 0:
		r.print(`'\` + `trn'\`[escape:escape+1] + "'")
	case v >= ' ' && v <= '~':
		r.print("'" + string(rune(v)) + "'")
	default:
		r.print(`'\u{` + digits + `}'`)
	}
}

// hex reads hexadecimal digits without leading zeros, and the underscore after them.
func (r *reader) hex() string {
	rest := r.in[r.pos:]
	n := strings.IndexByte(rest, '_')
	if n <= 0 || (n > 1 && rest[0] == '0') || strings.Trim(rest[:n], "0123456789abcdef") != "" {
		r.fail()
		return ""
	}
	r.pos += n + 1
	return rest[:n]
}

// tagged reads a letter and a number plus 1. It returns 0 if the letter is not next.
func (r *reader) tagged(tag byte) uint64 {
	if !r.accept(tag) {
		return 0
	}
	n := r.base62()
	if n == math.MaxUint64 {
		r.fail()
	}
	return n + 1
}

// base62 reads <base-62-number>: _ is 0, 0_ is 1.
func (r *reader) base62() (n uint64) {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if r.accept('_') {
		return 0
	}
	for !r.failed && !r.accept('_') {
		d := strings.IndexByte(digits, r.next())
		if d < 0 || n > (math.MaxUint64-62)/62 {
			r.fail()
		}
		n = n*62 + uint64(max(d, 0))
	}
	return n + 1
}

// decimal reads a number without leading zeros: 00 is two numbers.
func (r *reader) decimal() (n int) {
	if r.accept('0') {
		return 0
	}
	begin := r.pos
	for r.pos < len(r.in) && r.in[r.pos] >= '0' && r.in[r.pos] <= '9' && n <= len(r.in) {
		n = 10*n + int(r.next()-'0')
	}
	if r.pos == begin {
		r.fail()
	}
	return n
}

// identifier reads a name, which may be empty.
func (r *reader) identifier() string {
	name, punycode := r.bytes()
	if !punycode || r.failed || r.mute > 0 {
		return name
	}
	name, ok := decodePunycode(name)
	if !ok {
		r.fail()
	}
	return name
}

// bytes reads <undisambiguated-identifier> without decoding it.
func (r *reader) bytes() (name string, punycode bool) {
	punycode = r.accept('u')
	n := r.decimal()
	r.accept('_') // present if the name begins with a digit or an underscore
	if r.failed || n > len(r.in)-r.pos {
		r.fail()
		return "", false
	}
	name = r.in[r.pos : r.pos+n]
	r.pos += n
	if strings.ContainsFunc(name, func(c rune) bool { return c != '_' && !isLetterOrDigit(c) }) {
		r.fail()
	}
	return name, punycode
}

func isLetterOrDigit(c rune) bool {
	return c < 0x80 && (isLetter(byte(c)) || (c >= '0' && c <= '9'))
}
