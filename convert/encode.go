package convert

import (
	"encoding/binary"
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Fields of profile.proto (github.com/google/pprof/proto/profile.proto).
const (
	wireVarint = 0
	wireBytes  = 2

	fieldSample    = 2
	fieldString    = 6
	fieldTimeNanos = 9
	fieldPeriod    = 12
	fieldComment   = 13

	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3

	labelKey     = 1
	labelText    = 2
	labelNumber  = 3
	labelNumUnit = 4
)

// encoder appends to a profile. Protobuf joins repeated fields wherever they
// stand, so samples and their strings simply follow the shared tables.
type encoder struct {
	t       *tables
	buf     []byte
	scratch []byte
	strings map[string]uint64
	next    uint64
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

// text returns the index of a string, which is added to the table if it is new.
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

// sample adds a sample with its encoded labels.
func (e *encoder) sample(locations []byte, c heapfile.Counts, labels []byte) {
	values := [...]int64{c.AllocObjects, c.AllocBytes, c.InuseObjects, c.InuseBytes}
	from := 0
	if !e.t.hasAlloc {
		from = 2
	}
	m := appendBytes(e.scratch[:0], sampleLocation, locations)
	var packed [4 * binary.MaxVarintLen64]byte
	v := packed[:0]
	for _, x := range values[from:] {
		v = binary.AppendUvarint(v, uint64(x))
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
	return appendBytes(nil, sampleLabel, appendVarint(appendVarint(nil, labelKey, e.text(key)), labelText, e.text(value)))
}

func (e *encoder) numberLabel(key string, v int64, unit string) []byte {
	m := appendVarint(appendVarint(nil, labelKey, e.text(key)), labelNumber, uint64(v))
	return appendBytes(nil, sampleLabel, appendVarint(m, labelNumUnit, e.text(unit)))
}

// meta adds what is said of the profile as a whole.
func (e *encoder) meta(c *Converter, head *series.Head, notes []string) {
	if c.series.Clock.Source.IsTime() {
		e.buf = appendVarint(e.buf, fieldTimeNanos, uint64(c.series.Clock.Times[head.Index].UnixNano()))
	}
	e.buf = appendVarint(e.buf, fieldPeriod, uint64(head.Period))
	for _, text := range append(c.comments(head), notes...) {
		e.buf = appendVarint(e.buf, fieldComment, e.text(text))
	}
}

// comments say where a profile comes from and what it lacks.
func (c *Converter) comments(head *series.Head) []string {
	out := []string{"converted from " + filepath.Base(head.Path), "format: " + head.Format.String()}
	if c.o.Tool != "" {
		out = append(out, "by: "+c.o.Tool)
	}
	if !c.hasAlloc {
		out = append(out, "no alloc_objects and alloc_space: the snapshots have no cumulative counts")
	}
	for _, w := range head.Warnings {
		w.File = filepath.Base(w.File)
		out = append(out, "warning: "+w.Error())
	}
	return out
}

// Encoded is a profile that waits to be compressed: the tables and what follows them.
type Encoded struct {
	tables *tables
	own    []byte
}

// Encode encodes the profile of one snapshot, or of what changed. It is fast; compression, which
// is not, is left to Encoded.WriteTo, which may run elsewhere.
func (c *Converter) Encode(s *Samples) Encoded {
	s.prune(c.o.MaxSamples)
	e := newEncoder(c.tables)
	e.samples(s, nil)
	e.meta(c, s.Head, s.notes)
	return Encoded{c.tables, e.buf}
}

// Merge collects the snapshots of a series in one profile. Its samples carry the labels
// "snapshot" (its name: pprof would take a mere number for a numeric label) and "elapsed" (seconds
// since the first, where times are known), for pprof's -tagfocus and -tagroot.
type Merge struct {
	c     *Converter
	e     *encoder
	first *series.Head
	notes []string
}

// NewMerge starts a merged profile.
func (c *Converter) NewMerge() *Merge {
	return &Merge{c: c, e: newEncoder(c.tables), notes: []string{
		"snapshots of one process, one after the other, whose sum means nothing: choose one with -tagfocus=snapshot=" +
			BaseName(c.series.Heads[0].Path),
	}}
}

// Add adds a snapshot.
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

// Encode ends the merged profile.
func (m *Merge) Encode() Encoded {
	if m.first != nil {
		m.e.meta(m.c, m.first, m.notes)
	}
	return Encoded{m.c.tables, m.e.buf}
}
