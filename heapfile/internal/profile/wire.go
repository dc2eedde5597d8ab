package profile

import (
	"encoding/binary"
	"errors"

	"github.com/heaplapse/heaplapse/heapfile/internal/grow"
)

// Wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

var (
	errVarint = errors.New("a number is not complete")
	errLength = errors.New("a field is longer than its message")
	errWire   = errors.New("a field has the wrong type")
)

// field is one field of a message: a number or, if wire is wireBytes, bytes.
type field struct {
	number uint64
	wire   byte
	value  uint64
	bytes  []byte
}

// next decodes the first field of a message and returns what follows it.
func next(b []byte) (f field, rest []byte, err error) {
	key, n := uvarint(b)
	if n <= 0 {
		return f, nil, errVarint
	}
	b = b[n:]
	f.number, f.wire = key>>3, byte(key&7)
	switch f.wire {
	case wireVarint:
		if f.value, n = uvarint(b); n <= 0 {
			return f, nil, errVarint
		}
		return f, b[n:], nil
	case wireBytes:
		size, n := uvarint(b)
		if n <= 0 {
			return f, nil, errVarint
		}
		if b = b[n:]; size > uint64(len(b)) {
			return f, nil, errLength
		}
		f.bytes = b[:size:size]
		return f, b[size:], nil
	case wireFixed64, wireFixed32:
		size := 8
		if f.wire == wireFixed32 {
			size = 4
		}
		if len(b) < size {
			return f, nil, errLength
		}
		return f, b[size:], nil
	}
	return f, nil, errWire
}

// uvarint is [binary.Uvarint], faster for the small numbers of which profiles consist.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	if len(b) > 1 && b[1] < 0x80 {
		return uint64(b[0]&0x7f) | uint64(b[1])<<7, 2
	}
	return binary.Uvarint(b)
}

// number64 returns the value of a field of numbers that is not repeated.
func (f *field) number64() (uint64, error) {
	if f.wire != wireVarint {
		return 0, errWire
	}
	return f.value, nil
}

// appendNumbers appends the values of a field of repeated numbers, which may be packed. check is
// that of [grow.Append].
func (f *field) appendNumbers(to []uint64, check func(more int64) error) (_ []uint64, err error) {
	switch f.wire {
	case wireVarint:
		return grow.Append(to, f.value, check)
	case wireBytes:
		for b := f.bytes; len(b) > 0; {
			v, n := uvarint(b)
			if n <= 0 {
				return to, errVarint
			}
			if to, err = grow.Append(to, v, check); err != nil {
				return to, err
			}
			b = b[n:]
		}
		return to, nil
	}
	return to, errWire
}

// Sniff reports whether the first bytes of a file are fields of a profile. The last field may be
// longer than head, and a profile that starts with a type may be damaged behind it.
func Sniff(head []byte) bool {
	fields, typed := 0, false
	for len(head) > 0 {
		key, n := uvarint(head)
		if n <= 0 || key>>3 == 0 || key>>3 >= uint64(len(wireOf)) || wireOf[key>>3]&(1<<(key&7)) == 0 {
			return typed
		}
		f, rest, err := next(head)
		fields++
		if err != nil {
			break // it may be longer than head
		}
		if f.number == profileSampleType || f.number == profilePeriodType {
			if _, err := decodeValueType(f.bytes); err != nil {
				return false
			}
			typed = true
		}
		head = rest
	}
	return fields > 0
}

// wireOf has the wire types that each field of a profile may have, as bits.
var wireOf = [...]byte{
	profileSampleType: 1 << wireBytes, profileSample: 1 << wireBytes, profileMapping: 1 << wireBytes,
	profileLocation: 1 << wireBytes, profileFunction: 1 << wireBytes, profileString: 1 << wireBytes,
	profileDropFrames: 1 << wireVarint, profileKeepFrames: 1 << wireVarint, profileTime: 1 << wireVarint,
	profileDuration: 1 << wireVarint, profilePeriodType: 1 << wireBytes, profilePeriod: 1 << wireVarint,
	profileComment: 1<<wireVarint | 1<<wireBytes, profileDefaultType: 1 << wireVarint, profileDocURL: 1 << wireVarint,
}
