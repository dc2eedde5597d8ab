package heapfile

// The decoders of the fields of a row take and return slices, so that a row is read from left to
// right without allocation.

// skipSpaces drops leading blanks and tabs.
func skipSpaces(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// parseInt reads an optional sign and digits after blanks, `  -12`, and
// returns what follows. Numbers beyond int64 are refused.
func parseInt(b []byte) (int64, []byte, bool) {
	b = skipSpaces(b)
	negative := false
	if len(b) > 0 && b[0] == '-' {
		negative, b = true, b[1:]
	}
	var v int64
	i := 0
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		if i >= 18 && v > (1<<63-1-int64(d))/10 {
			return 0, nil, false
		}
		v = v*10 + int64(d)
	}
	if i == 0 {
		return 0, nil, false
	}
	if negative {
		v = -v
	}
	return v, b[i:], true
}

// parsePair reads `12: 3456` and returns what follows.
func parsePair(b []byte) (objects, bytes int64, rest []byte, ok bool) {
	if objects, b, ok = parseInt(b); !ok || len(b) == 0 || b[0] != ':' {
		return 0, 0, nil, false
	}
	if bytes, b, ok = parseInt(b[1:]); !ok {
		return 0, 0, nil, false
	}
	return objects, bytes, b, true
}

// parseBracket reads `12: 3456 [ 78: 9012]` and returns what follows.
func parseBracket(b []byte) (c Counts, rest []byte, ok bool) {
	if c.InuseObjects, c.InuseBytes, b, ok = parsePair(b); !ok {
		return Counts{}, nil, false
	}
	b = skipSpaces(b)
	if len(b) == 0 || b[0] != '[' {
		return Counts{}, nil, false
	}
	if c.AllocObjects, c.AllocBytes, b, ok = parsePair(b[1:]); !ok {
		return Counts{}, nil, false
	}
	b = skipSpaces(b)
	if len(b) == 0 || b[0] != ']' {
		return Counts{}, nil, false
	}
	return c, b[1:], true
}

// parseCounts reads `12: 3456 [ 78: 9012] @` and returns what follows the @.
func parseCounts(b []byte) (c Counts, rest []byte, ok bool) {
	if c, b, ok = parseBracket(b); !ok {
		return Counts{}, nil, false
	}
	b = skipSpaces(b)
	if len(b) == 0 || b[0] != '@' {
		return Counts{}, nil, false
	}
	return c, b[1:], true
}

// hexDigit maps an ASCII byte to its value; 0xff means that it is not a hexadecimal digit.
var hexDigit = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for c := byte('0'); c <= '9'; c++ {
		t[c] = c - '0'
	}
	for c := byte('a'); c <= 'f'; c++ {
		t[c] = c - 'a' + 10
		t[c-'a'+'A'] = c - 'a' + 10
	}
	return t
}()

// parseHex reads bare hex digits, at most 64 bits of them, and returns what follows.
func parseHex(b []byte) (uint64, []byte, bool) {
	var v uint64
	i := 0
	for ; i < len(b); i++ {
		d := hexDigit[b[i]]
		if d == 0xff {
			break
		}
		if v>>60 != 0 {
			return 0, nil, false
		}
		v = v<<4 | uint64(d)
	}
	if i == 0 {
		return 0, nil, false
	}
	return v, b[i:], true
}

// appendAddrs reads ` 0x7f01 0x7f02 (nil)` to the end of the line.
func appendAddrs(addrs []Addr, b []byte) ([]Addr, bool) {
	for {
		b = skipSpaces(b)
		if len(b) == 0 {
			return addrs, true
		}
		a, rest, ok := parseAddr(b)
		if !ok || (len(rest) > 0 && rest[0] != ' ' && rest[0] != '\t') {
			return addrs, false
		}
		addrs, b = append(addrs, a), rest
	}
}

// parseAddr reads `0x7f01`, or `(nil)` as glibc prints a null pointer.
func parseAddr(b []byte) (Addr, []byte, bool) {
	if len(b) > 2 && b[0] == '0' && (b[1] == 'x' || b[1] == 'X') {
		v, rest, ok := parseHex(b[2:])
		return Addr(v), rest, ok
	}
	if len(b) >= 5 && string(b[:5]) == "(nil)" {
		return 0, b[5:], true
	}
	return 0, nil, false
}
