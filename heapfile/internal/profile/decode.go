package profile

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/heaplapse/heaplapse/heapfile/internal/grow"
)

// Numbers of the fields of profile.proto.
const (
	profileSampleType  = 1
	profileSample      = 2
	profileMapping     = 3
	profileLocation    = 4
	profileFunction    = 5
	profileString      = 6
	profileDropFrames  = 7
	profileKeepFrames  = 8
	profileTime        = 9
	profileDuration    = 10
	profilePeriodType  = 11
	profilePeriod      = 12
	profileComment     = 13
	profileDefaultType = 14
	profileDocURL      = 15

	valueTypeType = 1
	valueTypeUnit = 2

	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3

	labelKey = 1

	mappingID      = 1
	mappingStart   = 2
	mappingLimit   = 3
	mappingOffset  = 4
	mappingFile    = 5
	mappingBuildID = 6

	locationID      = 1
	locationMapping = 2
	locationAddress = 3
	locationLine    = 4

	lineFunction = 1
	lineLine     = 2
	lineColumn   = 3

	functionID     = 1
	functionName   = 2
	functionSystem = 3
	functionFile   = 4
	functionStart  = 5
)

// maxSize is the largest content that is read. The largest profiles of real services have some tens
// of MiB.
const maxSize = 1 << 30

// Decoder reads one profile after another into the same memory. The zero value is ready to use.
type Decoder struct {
	// Check, if not nil, is called from time to time, and with the number of bytes before many are
	// allocated. Its error ends the file.
	Check func(more int64) error

	p   Profile
	buf []byte
}

// Read reads a profile. It is valid until the next call. The error is a [*RefusedError] if the
// profile is one of another kind than the package reads; other errors are about damaged content.
func (d *Decoder) Read(r io.Reader) (*Profile, error) {
	if err := d.readAll(r); err != nil {
		return nil, err
	}
	p := &d.p
	p.reset(d.buf, d.Check)
	if err := p.tables(); err != nil {
		return nil, err
	}
	if err := p.resolve(); err != nil {
		return nil, err
	}
	if err := p.classify(); err != nil {
		return nil, err
	}
	return p, nil
}

// readAll reads the content into the buffer.
func (d *Decoder) readAll(r io.Reader) (err error) {
	for d.buf = d.buf[:0]; len(d.buf) <= maxSize; {
		if d.buf, err = grow.Room(d.buf, d.Check); err != nil {
			return err
		}
		n, err := r.Read(d.buf[len(d.buf):cap(d.buf)])
		d.buf = d.buf[:len(d.buf)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read failed: %w", err)
		}
	}
	return fmt.Errorf("it has more than %d MiB", maxSize>>20)
}

// raw is the content of a profile before its numbers are looked up in its tables.
type raw struct {
	data     []byte
	check    func(more int64) error
	types    []valueType
	strings  []span
	maps     []mapping
	funcs    []function
	locs     []location
	lines    []line
	comments []uint64
	samples  samples

	time, duration, period   int64
	dropFrames, defaultType  uint64
	funcIndex, mapIndex, loc index
}

// span is a range of the data.
type span struct{ begin, end uint32 }

// samples is the range of the data that contains all samples.
type samples struct{ begin, end, count int }

type valueType struct{ kind, unit uint64 }

type mapping struct {
	id, start, limit, offset uint64
	file, buildID            uint32
}

// function has the numbers of its texts in the string table.
type function struct {
	id                 uint64
	name, system, file uint32
	start              uint32
}

// location has its lines in raw.lines, innermost first.
type location struct {
	id, mapping, address uint64
	begin, end           uint32
}

type line struct {
	function     uint64
	line, column uint32
}

// reset forgets the profile before, but keeps its memory.
func (r *raw) reset(data []byte, check func(more int64) error) {
	*r = raw{
		data: data, check: check,
		types: r.types[:0], strings: r.strings[:0], maps: r.maps[:0], funcs: r.funcs[:0], locs: r.locs[:0],
		lines: r.lines[:0], comments: r.comments[:0], funcIndex: r.funcIndex, mapIndex: r.mapIndex, loc: r.loc,
	}
}

// positionError is an error at a byte of the data.
func positionError(at int, err error) error {
	return fmt.Errorf("byte %d of the profile: %w", at, err)
}

// checkEvery is the number of fields after which the check is called.
const checkEvery = 1 << 16

// tables decodes all fields except samples.
func (r *raw) tables() error {
	rest := r.data
	for n := 0; len(rest) > 0; n++ {
		at := len(r.data) - len(rest)
		f, after, err := next(rest)
		if err == nil {
			err = r.field(&f, at, len(r.data)-len(after))
		}
		if err == nil && n%checkEvery == 0 && r.check != nil {
			err = r.check(0)
		}
		if err != nil {
			return positionError(at, err)
		}
		rest = after
	}
	return nil
}

// field decodes a field of the profile between two bytes of the data.
func (r *raw) field(f *field, begin, end int) (err error) {
	switch f.number {
	case profileSampleType, profileSample, profileMapping, profileLocation, profileFunction, profileString,
		profilePeriodType:
		if f.wire != wireBytes {
			return errWire
		}
	}
	switch f.number {
	case profileSampleType:
		t, err := decodeValueType(f.bytes)
		if err == nil {
			r.types, err = grow.Append(r.types, t, r.check)
		}
		return err
	case profileSample:
		if r.samples.count == 0 {
			r.samples.begin = begin
		}
		r.samples.end = end
		r.samples.count++
	case profileMapping:
		return r.mapping(f.bytes)
	case profileLocation:
		return r.location(f.bytes)
	case profileFunction:
		return r.function(f.bytes)
	case profileString:
		r.strings, err = grow.Append(r.strings, span{uint32(end - len(f.bytes)), uint32(end)}, r.check)
	case profileComment:
		r.comments, err = f.appendNumbers(r.comments, r.check)
	case profileDropFrames:
		r.dropFrames, err = f.number64()
	case profileDefaultType:
		r.defaultType, err = f.number64()
	case profileTime:
		r.time, err = f.int64()
	case profileDuration:
		r.duration, err = f.int64()
	case profilePeriod:
		r.period, err = f.int64()
	}
	return err
}

func (f *field) int64() (int64, error) {
	v, err := f.number64()
	return int64(v), err
}

func decodeValueType(b []byte) (t valueType, err error) {
	for len(b) > 0 && err == nil {
		var f field
		if f, b, err = next(b); err != nil {
			break
		}
		switch f.number {
		case valueTypeType:
			t.kind, err = f.number64()
		case valueTypeUnit:
			t.unit, err = f.number64()
		}
	}
	return t, err
}

var (
	errNoID   = errors.New("an ID is 0")
	errString = errors.New("a string is not in the table")
)

// text returns the number of a string. Whether the table has it is known only at the end.
func (f *field) text() (uint32, error) {
	v, err := f.number64()
	if err == nil && v > math.MaxUint32 {
		err = errString
	}
	return uint32(v), err
}

// small returns a number of a line or column; 0 if it is not a plausible one.
func (f *field) small() (uint32, error) {
	v, err := f.number64()
	if v > math.MaxInt32 {
		v = 0
	}
	return uint32(v), err
}

// The decoders of messages are loops, because a callback for each field would allocate it.

func (r *raw) mapping(b []byte) (err error) {
	var m mapping
	for len(b) > 0 && err == nil {
		var f field
		if f, b, err = next(b); err != nil {
			break
		}
		switch f.number {
		case mappingID:
			m.id, err = f.number64()
		case mappingStart:
			m.start, err = f.number64()
		case mappingLimit:
			m.limit, err = f.number64()
		case mappingOffset:
			m.offset, err = f.number64()
		case mappingFile:
			m.file, err = f.text()
		case mappingBuildID:
			m.buildID, err = f.text()
		}
	}
	if err == nil {
		r.maps, err = grow.Append(r.maps, m, r.check)
	}
	return identified("mapping", m.id, err)
}

// identified returns the error of a message, or that of its ID.
func identified(kind string, id uint64, err error) error {
	if err == nil && id == 0 {
		err = errNoID
	}
	if err != nil {
		return fmt.Errorf("a %s: %w", kind, err)
	}
	return nil
}

func (r *raw) function(b []byte) (err error) {
	var fn function
	for len(b) > 0 && err == nil {
		var f field
		if f, b, err = next(b); err != nil {
			break
		}
		switch f.number {
		case functionID:
			fn.id, err = f.number64()
		case functionName:
			fn.name, err = f.text()
		case functionSystem:
			fn.system, err = f.text()
		case functionFile:
			fn.file, err = f.text()
		case functionStart:
			fn.start, err = f.small()
		}
	}
	if err == nil {
		r.funcs, err = grow.Append(r.funcs, fn, r.check)
	}
	return identified("function", fn.id, err)
}

func (r *raw) location(b []byte) (err error) {
	l := location{begin: uint32(len(r.lines))}
	for len(b) > 0 && err == nil {
		var f field
		if f, b, err = next(b); err != nil {
			break
		}
		switch f.number {
		case locationID:
			l.id, err = f.number64()
		case locationMapping:
			l.mapping, err = f.number64()
		case locationAddress:
			l.address, err = f.number64()
		case locationLine:
			if f.wire != wireBytes {
				err = errWire
				break
			}
			err = r.line(f.bytes)
		}
	}
	l.end = uint32(len(r.lines))
	if err == nil {
		r.locs, err = grow.Append(r.locs, l, r.check)
	}
	return identified("location", l.id, err)
}

func (r *raw) line(b []byte) (err error) {
	var l line
	for len(b) > 0 && err == nil {
		var f field
		if f, b, err = next(b); err != nil {
			break
		}
		switch f.number {
		case lineFunction:
			l.function, err = f.number64()
		case lineLine:
			l.line, err = f.small()
		case lineColumn:
			l.column, err = f.small()
		}
	}
	if err == nil {
		r.lines, err = grow.Append(r.lines, l, r.check)
	}
	return err
}

// resolve builds the indexes of the tables and checks that every number is in them.
func (r *raw) resolve() error {
	if err := r.mapIndex.build("mapping", len(r.maps), r.check, func(i int) uint64 { return r.maps[i].id }); err != nil {
		return err
	}
	if err := r.funcIndex.build("function", len(r.funcs), r.check, func(i int) uint64 { return r.funcs[i].id }); err != nil {
		return err
	}
	if err := r.loc.build("location", len(r.locs), r.check, func(i int) uint64 { return r.locs[i].id }); err != nil {
		return err
	}
	if err := r.checkTexts(); err != nil {
		return err
	}
	for _, l := range r.locs {
		if l.mapping != 0 && r.mapIndex.find(l.mapping) < 0 {
			return fmt.Errorf("location %d: there is no mapping %d", l.id, l.mapping)
		}
		for _, ln := range r.lines[l.begin:l.end] {
			if ln.function != 0 && r.funcIndex.find(ln.function) < 0 {
				return fmt.Errorf("location %d: there is no function %d", l.id, ln.function)
			}
		}
	}
	return nil
}

// checkTexts checks that the table of strings has every text.
func (r *raw) checkTexts() error {
	n := uint64(len(r.strings))
	known := func(texts ...uint64) bool {
		for _, t := range texts {
			if t != 0 && t >= n {
				return false
			}
		}
		return true
	}
	for _, t := range r.types {
		if !known(t.kind, t.unit) {
			return fmt.Errorf("a sample type: %w", errString)
		}
	}
	for _, m := range r.maps {
		if !known(uint64(m.file), uint64(m.buildID)) {
			return fmt.Errorf("mapping %d: %w", m.id, errString)
		}
	}
	for _, f := range r.funcs {
		if !known(uint64(f.name), uint64(f.system), uint64(f.file)) {
			return fmt.Errorf("function %d: %w", f.id, errString)
		}
	}
	if !known(r.dropFrames, r.defaultType) || !known(r.comments...) {
		return fmt.Errorf("a comment or option: %w", errString)
	}
	return nil
}

// bytesOf returns the text with a number, which checkTexts has checked.
func (r *raw) bytesOf(text uint64) []byte {
	if text >= uint64(len(r.strings)) {
		return nil // 0 without a table
	}
	s := r.strings[text]
	return r.data[s.begin:s.end]
}

// index finds the entries of a table by their IDs, which usually are 1 to n.
type index struct {
	dense  []uint32 // by ID: position + 1
	sparse map[uint64]uint32
}

// zeros returns n zeros, in the memory of s if it is large enough.
func zeros(s []uint32, n int) []uint32 {
	if cap(s) < n {
		return make([]uint32, n)
	}
	clear(s[:n])
	return s[:n]
}

// build makes the index of n entries. check is called before its memory is allocated.
func (x *index) build(kind string, n int, check func(more int64) error, id func(int) uint64) error {
	var largest uint64
	for i := range n {
		largest = max(largest, id(i))
	}
	const entry = 32 // bytes of an entry of x.sparse
	dense := largest <= 2*uint64(n)+1024
	more := int64(entry * n)
	if dense {
		more = 4 * (int64(largest) + 1 - int64(cap(x.dense)))
	}
	if check != nil && more > 0 {
		if err := check(more); err != nil {
			return err
		}
	}
	x.sparse = nil
	if dense {
		x.dense = zeros(x.dense, int(largest)+1)
	} else {
		x.sparse = make(map[uint64]uint32, n)
	}
	for i := range n {
		if x.find(id(i)) >= 0 {
			return fmt.Errorf("two %ss have the ID %d", kind, id(i))
		}
		if x.sparse != nil {
			x.sparse[id(i)] = uint32(i) + 1
		} else {
			x.dense[id(i)] = uint32(i) + 1
		}
	}
	return nil
}

// find returns the position of an ID in the table, or -1.
func (x *index) find(id uint64) int {
	if x.sparse != nil {
		return int(x.sparse[id]) - 1
	}
	if id >= uint64(len(x.dense)) {
		return -1
	}
	return int(x.dense[id]) - 1
}
