package bundle

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Write writes the archive, which it can do once. If the context ends, Write returns its error.
func (c *Contents) Write(ctx context.Context, w io.Writer) (err error) {
	defer func() { err = errors.Join(err, c.names.Close()) }()
	z, err := zstd.NewWriter(
		w,
		zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithWindowSize(window),
		zstd.WithEncoderConcurrency(1),
	)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	if err := c.writeIndex(t); err != nil {
		return errors.Join(err, z.Close())
	}
	for i := range c.parts {
		if err := c.parts[i].write(ctx, t); err != nil {
			return errors.Join(err, z.Close())
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// window is the maximum distance of repetitions, in bytes. Snapshots of one process are similar.
const window = 16 << 20

func (c *Contents) writeIndex(t *tar.Writer) error {
	text, err := json.MarshalIndent(&c.Index, "", " ")
	if err != nil {
		return err
	}
	if len(text) > maxIndex {
		return fmt.Errorf(
			"the index of %d snapshots and %d files is longer than %d bytes",
			len(c.Index.Snapshots),
			len(c.Index.Files),
			maxIndex,
		)
	}
	if err := t.WriteHeader(header(indexName, int64(len(text)))); err != nil {
		return err
	}
	_, err = t.Write(text)
	return err
}

// header returns the header of an entry, which depends only on the name and the size.
func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644}
}

func (p *part) write(ctx context.Context, t *tar.Writer) error {
	if p.content != nil {
		if err := t.WriteHeader(header(p.entry, p.info.Size())); err != nil {
			return err
		}
		return p.copy(t, &interruptible{ctx, p.content}, p.keep)
	}
	f := p.file
	p.file = nil
	if f == nil {
		var info fs.FileInfo
		var err error
		if f, info, err = infile.Open(p.path); err != nil {
			return err
		}
		if !os.SameFile(info, p.info) {
			f.Close()
			return p.changed()
		}
	}
	defer f.Close()
	if p.loose > 0 {
		return p.writeLoose(ctx, t, f)
	}
	if err := t.WriteHeader(header(p.entry, p.info.Size())); err != nil {
		return err
	}
	keep := p.keep
	if keep == nil {
		keep = []elffile.Range{{Size: uint64(p.info.Size())}}
	}
	if err := p.copy(t, &interruptible{ctx, f}, keep); err != nil {
		return err
	}
	return p.unchanged(f)
}

// copy writes the ranges, and zeros between them.
func (p *part) copy(w io.Writer, f *interruptible, keep []elffile.Range) error {
	at := uint64(0)
	for _, r := range keep {
		if err := zeros(w, r.Offset-at); err != nil {
			return err
		}
		n, err := io.Copy(w, io.NewSectionReader(f, int64(r.Offset), int64(r.Size)))
		if err != nil {
			return err
		}
		if uint64(n) != r.Size {
			return fmt.Errorf("%s: became shorter while it was read: run this again", p.path)
		}
		at = r.Offset + r.Size
	}
	return zeros(w, uint64(p.info.Size())-at)
}

// unchanged returns an error if a file with ranges has changed since they were recorded. Whole files,
// such as snapshots, may have grown: the bundle has their first bytes.
func (p *part) unchanged(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	same := info.Size() == p.info.Size() && info.ModTime().Equal(p.info.ModTime())
	if p.keep != nil && !same {
		return p.changed()
	}
	return nil
}

func (p *part) changed() error {
	return fmt.Errorf("%s: changed while it was read: run this again", p.path)
}

var zeroPage [64 << 10]byte

func zeros(w io.Writer, n uint64) error {
	for n > 0 {
		part := min(n, uint64(len(zeroPage)))
		if _, err := w.Write(zeroPage[:part]); err != nil {
			return err
		}
		n -= part
	}
	return nil
}

// interruptible is a file that cannot be read after the end of a context.
type interruptible struct {
	ctx  context.Context
	file io.ReaderAt
}

func (r *interruptible) ReadAt(b []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.file.ReadAt(b, off)
}
