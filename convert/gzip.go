package convert

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// packer compresses profiles of one series into gzip files (RFC 1952). The tables, which all share,
// are compressed once: a deflate stream may be cut at a flush, and what follows starts afresh.
type packer struct {
	once sync.Once
	head []byte // gzip header and the compressed tables, up to a flush
	crc  uint32 // of the tables
	err  error
}

// compressionLevel is the fastest: profiles are large and short-lived.
const compressionLevel = 1

// gzipHeader has no name and no time, so that the same input gives the same bytes.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

func (p *packer) prepare(tables []byte) error {
	p.once.Do(func() {
		var b bytes.Buffer
		b.Write(gzipHeader)
		w, err := flate.NewWriter(&b, compressionLevel)
		if err == nil {
			_, err = w.Write(tables)
		}
		if err == nil {
			err = w.Flush()
		}
		p.head, p.crc, p.err = b.Bytes(), crc32.ChecksumIEEE(tables), err
	})
	return p.err
}

// WriteTo writes the compressed profile. It may run concurrently with others of the same series.
func (e Encoded) WriteTo(w io.Writer) (int64, error) {
	p := &e.tables.packer
	if err := p.prepare(e.tables.encoded); err != nil {
		return 0, err
	}
	var b bytes.Buffer
	b.Write(p.head)
	z, err := flate.NewWriter(&b, compressionLevel)
	if err == nil {
		_, err = z.Write(e.own)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return 0, err
	}
	trailer := binary.LittleEndian.AppendUint32(nil, crc32.Update(p.crc, crc32.IEEETable, e.own))
	trailer = binary.LittleEndian.AppendUint32(trailer, uint32(len(e.tables.encoded)+len(e.own)))
	b.Write(trailer)
	return b.WriteTo(w)
}

// Bytes is the profile uncompressed.
func (e Encoded) Bytes() []byte {
	return append(bytes.Clone(e.tables.encoded), e.own...)
}
