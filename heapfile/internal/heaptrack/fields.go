package heaptrack

import "bytes"

// fields reads the fields of a line from left to right.
type fields struct{ rest []byte }

// number returns the next field, a hexadecimal number. ok is false at the end of the line and for
// anything else.
func (f *fields) number() (v uint64, ok bool) {
	digits := 0
	for _, c := range f.rest {
		var d byte
		switch {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		case c == ' ' && digits > 0:
			f.rest = f.rest[digits+1:]
			return v, true
		default:
			return 0, false
		}
		if digits++; digits > 16 {
			return 0, false
		}
		v = v<<4 | uint64(d)
	}
	f.rest = f.rest[digits:]
	return v, digits > 0
}

// numbers reads as many numbers as there are places.
func (f *fields) numbers(into ...*uint64) bool {
	for _, p := range into {
		var ok bool
		if *p, ok = f.number(); !ok {
			return false
		}
	}
	return true
}

// sized returns the next field, a text after its length.
func (f *fields) sized() (text []byte, ok bool) {
	n, ok := f.number()
	if !ok || n > uint64(len(f.rest)) {
		return nil, false
	}
	text, f.rest = f.rest[:n], bytes.TrimPrefix(f.rest[n:], []byte(" "))
	return text, true
}

// word returns the text up to the next space.
func (f *fields) word() (text []byte, ok bool) {
	text, f.rest, _ = bytes.Cut(f.rest, []byte(" "))
	return text, len(text) > 0
}
