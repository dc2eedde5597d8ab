package bundle

import (
	"archive/tar"
	"context"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/heaplapse/heaplapse/internal/infile"
)

// maxLoose is the greatest size of an entry that a compressed snapshot takes, in bytes. A larger one is stored as it
// is. A snapshot of PyTorch has 4 MB.
const maxLoose = 256 << 20

// looseSize returns the size of what [loosen] writes for a file; 0 if gzip did not compress it, if it is damaged, or if
// that is more than maxLoose.
func looseSize(path string) int64 {
	f, _, err := infile.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	var n counter
	if loosen(&n, f) != nil {
		return 0
	}
	return int64(n)
}

// loosen copies a gzip file with the same header and content, but without compression.
func loosen(w io.Writer, r io.Reader) error {
	in, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	out, err := gzip.NewWriterLevel(w, gzip.NoCompression)
	if err != nil {
		return err
	}
	out.Header = in.Header
	n, err := io.Copy(out, io.LimitReader(in, maxLoose+1))
	if err != nil {
		return err
	}
	if n > maxLoose {
		return fmt.Errorf("more than %d bytes", maxLoose)
	}
	return out.Close()
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// writeLoose writes a snapshot that gzip compressed.
func (p *part) writeLoose(ctx context.Context, t *tar.Writer, f io.ReaderAt) error {
	if err := t.WriteHeader(header(p.entry, p.loose)); err != nil {
		return err
	}
	err := loosen(t, io.NewSectionReader(&interruptible{ctx, f}, 0, p.info.Size()))
	if err == nil {
		err = t.Flush()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w (%w)", p.changed(), err)
	}
	return nil
}
