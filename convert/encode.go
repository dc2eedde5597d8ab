package convert

import (
	"encoding/binary"
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Wire types of protobuf, and field numbers of github.com/google/pprof/proto/profile.proto. Names
// in comments are those of the specification.
const (
	wireVarint = 0
	wireBytes  = 2 // length-delimited

	fieldSample    = 2  // Profile.sample
	fieldString    = 6  // Profile.string_table
	fieldTimeNanos = 9  // Profile.time_nanos
	fieldPeriod    = 12 // Profile.period
	fieldComment   = 13 // Profile.comment

	sampleLocation = 1 // Sample.location_id
	sampleValue    = 2 // Sample.value
	sampleLabel    = 3 // Sample.label

	labelKey     = 1 // Label.key
	labelText    = 2 // Label.str
	labelNumber  = 3 // Label.num
	labelNumUnit = 4 // Label.num_unit
)

// encoder appends to the encoded tables of a series. A protobuf decoder concatenates repeated
// fields wherever they occur, so samples and their strings can follow the tables.
type encoder struct {
	t       *tables
	buf     []byte            // the output, without the tables
	scratch []byte            // the message that sample builds
	strings map[string]uint64 // index of each string that was added to the table
	next    uint64            // index of the next string
}

func newEncoder(t *tables) *encoder {
	return &encoder{t: t, strings: map[string]uint64{}, next: uint64(t.strings)}
}

func appendKey(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field<<3|wire))
}

func appendVarint(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(appendKey(b, field, wireVarint), v)
}

func appendBytes(b []byte, field int, content []byte) []byte {
	b = binary.AppendUvarint(appendKey(b, field, wireBytes), uint64(len(content)))
	return append(b, content...)
}

// text returns the index of a string in the string table. It adds the string if it is new.
func (e *encoder) text(s string) uint64 {
	s = utf8(s)
	if i, ok := e.strings[s]; ok {
		return i
	}
	i := e.next
	e.next++
	e.strings[s] = i
	e.buf = appendBytes(e.buf, fieldString, []byte(s))
	return i
}

// sample adds a sample. locations holds encoded location IDs, labels encoded fields. The order of
// the values is that of Converter.types.
func (e *encoder) sample(locations []byte, c heapfile.Counts, labels []byte) {
	m := appendBytes(e.scratch[:0], sampleLocation, locations)
	var packed [4 * binary.MaxVarintLen64]byte
	v := packed[:0]
	for _, t := range e.t.types {
		v = binary.AppendUvarint(v, uint64(t.Of(c)))
	}
	m = appendBytes(m, sampleValue, v)
	m = append(m, labels...)
	e.scratch = m
	e.buf = appendBytes(e.buf, fieldSample, m)
}

func (e *encoder) samples(s *Samples, labels []byte) {
	for _, r := range s.rows {
		e.sample(e.t.stacks[r.stack], r.Counts, labels)
	}
	if s.folded > 0 {
		e.sample(e.t.folded, s.other, labels)
	}
}

func (e *encoder) textLabel(key, value string) []byte {
	m := appendVarint(nil, labelKey, e.text(key))
	return appendBytes(nil, sampleLabel, appendVarint(m, labelText, e.text(value)))
}

func (e *encoder) numberLabel(key string, v int64, unit string) []byte {
	m := appendVarint(appendVarint(nil, labelKey, e.text(key)), labelNumber, uint64(v))
	return appendBytes(nil, sampleLabel, appendVarint(m, labelNumUnit, e.text(unit)))
}

// meta adds the fields of the whole profile: time, period and comments.
func (e *encoder) meta(c *Converter, head *series.Head, notes []string) {
	if c.series.Clock.Source.IsTime() {
		e.buf = appendVarint(e.buf, fieldTimeNanos, uint64(c.series.Clock.Times[head.Index].UnixNano()))
	}
	e.buf = appendVarint(e.buf, fieldPeriod, uint64(head.Period))
	for _, text := range append(c.comments(head), notes...) {
		e.buf = appendVarint(e.buf, fieldComment, e.text(text))
	}
}

// comments returns the comments of a profile: its source, what it lacks, and the warnings about the
// snapshot.
func (c *Converter) comments(head *series.Head) []string {
	out := []string{"converted from " + filepath.Base(head.Path), "format: " + head.Format.String()}
	if c.o.Tool != "" {
		out = append(out, "by: "+c.o.Tool)
	}
	if ages := c.series.Ages().String(); ages != "" {
		out = append(out, "only memory in use "+ages)
	} else if !c.Has(AllocSpace) {
		out = append(out, "no alloc_objects and alloc_space: the snapshots have no cumulative counts")
	}
	for _, w := range head.Warnings {
		w.File = filepath.Base(w.File)
		out = append(out, "warning: "+w.Error())
	}
	return out
}

// Encoded is an encoded profile that is not compressed yet.
type Encoded struct {
	tables *tables
	own    []byte // the fields that follow the tables
}

// Encode encodes the profile of one snapshot or of a difference. Compression, which takes longer,
// is done by [Encoded.WriteTo], which may run in another goroutine.
func (c *Converter) Encode(s *Samples) Encoded {
	s.prune(c.o.MaxSamples)
	e := newEncoder(c.tables)
	e.samples(s, nil)
	e.meta(c, s.Head, s.notes)
	return Encoded{c.tables, e.buf}
}

// Merge builds one profile of several snapshots of a series. Each sample has the label "snapshot",
// with the snapshot's base name (pprof would parse a plain number as a numeric label). If times are
// known, it also has the numeric label "elapsed", in seconds since the first snapshot. They are for
// pprof's options -tagfocus and -tagroot.
type Merge struct {
	c     *Converter
	e     *encoder
	first *series.Head
	notes []string
}

// NewMerge starts a merged profile.
func (c *Converter) NewMerge() *Merge {
	return &Merge{c: c, e: newEncoder(c.tables), notes: []string{
		"consecutive snapshots of one process, whose sum has no meaning: select one with -tagfocus=snapshot=" +
			BaseName(c.series.Heads[0].Path),
	}}
}

// Add adds the samples of one snapshot.
func (m *Merge) Add(s *Samples) {
	if m.first == nil {
		m.first = s.Head
	}
	s.prune(m.c.o.MaxSamples)
	name := BaseName(s.Head.Path)
	labels := m.e.textLabel("snapshot", name)
	if clock := m.c.series.Clock; clock.Source.IsTime() {
		labels = append(labels, m.e.numberLabel("elapsed", int64(clock.At[s.Head.Index]), "seconds")...)
	}
	m.e.samples(s, labels)
	for _, n := range s.notes {
		m.notes = append(m.notes, name+": "+n)
	}
}

// Encode returns the merged profile. Its time, period and source are those of the first snapshot.
// Add must not be called after Encode.
func (m *Merge) Encode() Encoded {
	if m.first != nil {
		m.e.meta(m.c, m.first, m.notes)
	}
	return Encoded{m.c.tables, m.e.buf}
}
