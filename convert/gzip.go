package convert

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// packer compresses the profiles of one series into gzip files (RFC 1952). The tables, which all
// profiles share, are compressed once. This is possible because a deflate stream can be split at a
// flush if what follows does not refer to data before it: another compressor writes the rest.
type packer struct {
	once sync.Once
	head []byte // gzip header and compressed tables, up to a flush
	crc  uint32 // checksum of the tables
	err  error
	pool sync.Pool // of *deflater
}

// deflater is a compressor with its output buffer. Both are large and reused.
type deflater struct {
	buf bytes.Buffer
	z   *flate.Writer
}

func (p *packer) deflater() (*deflater, error) {
	d, ok := p.pool.Get().(*deflater)
	if !ok {
		z, err := flate.NewWriter(nil, compressionLevel)
		if err != nil {
			return nil, err
		}
		d = &deflater{z: z}
	}
	d.buf.Reset()
	d.z.Reset(&d.buf)
	return d, nil
}

// compressionLevel is the fastest one: profiles are large and short-lived.
const compressionLevel = 1

// gzipHeader contains no name and no time, so the same input gives the same bytes. RFC 1952,
// section 2.3: magic number, method (8 is deflate), flags, time, extra flags, operating system (255
// is unknown).
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// prepare compresses the tables, in the first call only.
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

// WriteTo writes the profile, compressed with gzip. It may be called concurrently for several
// profiles of one series.
func (e Encoded) WriteTo(w io.Writer) (int64, error) {
	p := &e.tables.packer
	if err := p.prepare(e.tables.encoded); err != nil {
		return 0, err
	}
	d, err := p.deflater()
	if err != nil {
		return 0, err
	}
	defer p.pool.Put(d)
	if _, err := d.z.Write(e.own); err != nil {
		return 0, err
	}
	if err := d.z.Close(); err != nil {
		return 0, err
	}
	trailer := binary.LittleEndian.AppendUint32(nil, crc32.Update(p.crc, crc32.IEEETable, e.own))
	trailer = binary.LittleEndian.AppendUint32(trailer, uint32(len(e.tables.encoded)+len(e.own)))
	d.buf.Write(trailer)
	n, err := w.Write(p.head)
	if err != nil {
		return int64(n), err
	}
	m, err := d.buf.WriteTo(w)
	return int64(n) + m, err
}

// Bytes returns the uncompressed profile.
func (e Encoded) Bytes() []byte {
	return append(bytes.Clone(e.tables.encoded), e.own...)
}
