//go:build linux

package python

// measure returns the number of elements of an object, and the most that it keeps; -1 if it has none.
func (in *Interpreter) measure(o object) (length, limit int64) {
	length, limit = -1, -1
	word := func(offset uint64) int64 { return int64(in.read.Word(o.address + offset)) }
	const setUsed, dequeLimit, cacheDict, cacheLimit = 24, 64, 72, 96
	switch o.kind {
	case dictKind:
		length = word(dictUsed)
	case listKind, tupleKind:
		length = word(size)
	case setKind, frozenSetKind:
		length = word(setUsed)
	case dequeKind:
		length, limit = word(size), word(dequeLimit)
	case lruCacheKind:
		limit = word(cacheLimit)
		if d, ok := in.object(uint64(word(cacheDict))); ok && d.kind == dictKind {
			length = int64(in.read.Word(d.address + dictUsed))
		}
	case otherKind:
		length, limit = in.limitAttribute(o)
	}
	if length < 0 {
		length = -1
	}
	if limit <= 0 && (limit != 0 || o.kind != dequeKind && o.kind != lruCacheKind) {
		limit = -1
	}
	return length, limit
}

// limitAttribute returns the length and the limit of queue.Queue, of asyncio.Queue, and of the caches of cachetools.
func (in *Interpreter) limitAttribute(o object) (length, limit int64) {
	const most = 50
	length, limit = -1, -1
	n := 0
	for e := range in.attributes(o) {
		if n++; n > most {
			break
		}
		switch in.str(e.Key) {
		case "maxsize", "_maxsize", "_Cache__maxsize":
			limit = in.integer(e.Value)
		case "queue", "_queue", "_Cache__data":
			if inner, ok := in.object(e.Value); ok && inner.kind != otherKind {
				length, _ = in.measure(inner)
			}
		}
	}
	if limit <= 0 || length < 0 {
		return -1, -1
	}
	return length, limit
}

// integer returns the value of an int of one digit, which has 30 bits, or -1.
func (in *Interpreter) integer(address uint64) int64 {
	o, ok := in.object(address)
	if !ok || o.kind != intKind {
		return -1
	}
	const digit = 24
	one := in.read.Word(address+size) == 1 // number of digits; negative for negative numbers
	if in.minor >= 12 {
		const shift, sign = 3, 3
		tag := in.read.Word(address + size)
		one = tag>>shift == 1 && tag&sign == 0
	}
	if !one {
		return -1
	}
	return int64(in.read.Number(address + digit))
}
