package symcache

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
)

// builder makes a cache file. Strings, and frames with the same callers, are stored once.
type builder struct {
	key     string
	flags   uint32
	strings []string
	ids     map[string]uint32
	text    int // bytes of all strings
	nodes   []node
	nodeIDs map[node]uint32 // number plus 1
	answers []answer
}

func newBuilder(key string, flags uint32) *builder {
	return &builder{
		key: key, flags: flags, strings: []string{""}, ids: map[string]uint32{"": 0}, nodeIDs: map[node]uint32{},
	}
}

// add adds the answer for an address. If an address is added twice, the first answer is kept.
func (b *builder) add(addr uint64, e *Entry) {
	a := answer{addr: addr, source: e.Source, reason: e.Reason}
	if len(e.Frames) == 0 {
		a.ref, a.distance = b.intern(e.Near), e.NearDistance
	}
	for i := len(e.Frames) - 1; i >= 0; i-- {
		a.ref = b.node(&e.Frames[i], a.ref)
	}
	b.answers = append(b.answers, a)
}

func (b *builder) intern(s string) uint32 {
	id, ok := b.ids[s]
	if !ok {
		id = uint32(len(b.strings))
		b.ids[s] = id
		b.strings = append(b.strings, s)
		b.text += len(s)
	}
	return id
}

// node returns the number plus 1 of a frame with a caller.
func (b *builder) node(f *StoredFrame, caller uint32) uint32 {
	n := node{
		b.intern(f.Function), b.intern(f.Linkage), b.intern(f.File),
		uint32(f.Line), uint32(f.Column), uint32(f.StartLine), caller << 1,
	}
	if f.Inlined {
		n.caller |= 1
	}
	id, ok := b.nodeIDs[n]
	if !ok {
		b.nodes = append(b.nodes, n)
		id = uint32(len(b.nodes))
		b.nodeIDs[n] = id
	}
	return id
}

// size returns the size of the file in bytes.
func (b *builder) size() int {
	return headerSize + len(b.key) + 4*len(b.strings) + b.text + nodeSize*len(b.nodes) + answerSize*len(b.answers) + 4
}

// encode writes the file.
func (b *builder) encode(w io.Writer) error {
	slices.SortStableFunc(b.answers, func(x, y answer) int { return cmp.Compare(x.addr, y.addr) })
	b.answers = slices.CompactFunc(b.answers, func(x, y answer) bool { return x.addr == y.addr })
	if b.size() > maxFile {
		return errTooBig
	}
	sum := crc32.New(castagnoli())
	out := io.MultiWriter(w, sum)
	le := binary.LittleEndian
	head := []byte(magic)
	for _, n := range []int{len(b.key), len(b.strings), b.text, len(b.nodes), len(b.answers), int(b.flags)} {
		head = le.AppendUint32(head, uint32(n))
	}
	head = append(head, b.key...)
	end := uint32(0)
	for _, s := range b.strings {
		end += uint32(len(s))
		head = le.AppendUint32(head, end)
	}
	if _, err := out.Write(head); err != nil {
		return err
	}
	if err := b.encodeTables(out); err != nil {
		return err
	}
	_, err := w.Write(le.AppendUint32(nil, sum.Sum32()))
	return err
}

func (b *builder) encodeTables(out io.Writer) error {
	le := binary.LittleEndian
	for _, s := range b.strings {
		if _, err := io.WriteString(out, s); err != nil {
			return err
		}
	}
	var row []byte
	for _, n := range b.nodes {
		row = row[:0]
		for _, v := range [...]uint32{n.function, n.linkage, n.file, n.line, n.column, n.startLine, n.caller} {
			row = le.AppendUint32(row, v)
		}
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	for _, a := range b.answers {
		row = le.AppendUint64(le.AppendUint64(row[:0], a.addr), a.distance)
		row = append(le.AppendUint32(row, a.ref), a.source, a.reason, 0, 0)
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	return nil
}
