package bundle

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"
)

// Limits of the content that is taken out of gzip's compression, in bytes: of one snapshot and of all. Other snapshots
// are stored as they are. A reader of bundles takes 4 GiB of any archive, and a snapshot of PyTorch has 4 MB.
const (
	maxLoose    = 256 << 20
	maxAllLoose = 1 << 30
)

// looseSize returns the size of what [loosen] writes for a file, which it reads from the start. It is 0 if gzip did not
// compress the file, if that is damaged, or if it has more content than left, which is lowered by what was read.
func looseSize(f io.ReaderAt, left *int64) int64 {
	var size counter
	content, err := loosen(&size, io.NewSectionReader(f, 0, math.MaxInt64), min(maxLoose, *left))
	*left -= content
	if err != nil {
		return 0
	}
	return int64(size)
}

// loosen copies a gzip file with the same header and content, but without compression. It returns the size of the
// content that was copied.
func loosen(w io.Writer, r io.Reader, limit int64) (int64, error) {
	in, err := gzip.NewReader(r)
	if err != nil {
		return 0, err
	}
	out, err := gzip.NewWriterLevel(w, gzip.NoCompression)
	if err != nil {
		return 0, err
	}
	out.Header = in.Header
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return min(n, limit), errors.Join(err, out.Close())
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
	_, err := loosen(t, io.NewSectionReader(&interruptible{ctx, f}, 0, p.info.Size()), maxLoose)
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
