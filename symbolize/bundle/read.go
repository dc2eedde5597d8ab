package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/spool"
)

// Limits of unpacking. Holes in files cost only time. Everything else takes disk space, and a small
// archive must not take gigabytes.
const (
	maxEntries   = 1 << 20
	maxApparent  = 1 << 38 // bytes, holes included
	floorContent = 4 << 30 // non-zero bytes that any archive may have
	maxRatio     = 256     // above floorContent, the maximum expansion ratio
	maxWindow    = 128 << 20
)

// Bundle is an unpacked archive.
type Bundle struct {
	Index Index
	spool *spool.Spool
	files map[string]*File // by path
}

// Is reports whether a file is a bundle. It reads the first bytes.
func Is(file string) bool {
	f, _, err := infile.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return Begins(f)
}

// Begins reports whether a bundle begins with what a reader has.
func Begins(r io.Reader) bool {
	var magic [4]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil || string(magic[:]) != "\x28\xb5\x2f\xfd" {
		return false
	}
	z, err := decoder(io.MultiReader(bytes.NewReader(magic[:]), r))
	if err != nil {
		return false
	}
	defer z.Close()
	h, err := tar.NewReader(z).Next()
	return err == nil && h.Name == indexName
}

func decoder(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
}

// Open unpacks a bundle into a temporary file without a name. Close frees its space, and so does the
// end of the process. Zeros become holes.
func Open(file string) (*Bundle, error) {
	f, info, err := infile.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, info.Size(), file)
}

// Read unpacks a bundle as Open does. size is the number of bytes that r has; name names it in errors.
func Read(r io.Reader, size int64, name string) (*Bundle, error) {
	b, err := unpack(r, size, name)
	if err == nil && len(b.Index.Snapshots) == 0 {
		err = fmt.Errorf("%s: not a usable bundle: it holds no snapshots; read the directory of the recording instead", name)
		err = errors.Join(err, b.Close())
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// unpack unpacks a bundle, which may have no snapshots.
func unpack(r io.Reader, size int64, name string) (*Bundle, error) {
	unpacked, err := spool.New()
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be unpacked: %w", name, err)
	}
	unpacked.Limit = max(floorContent, maxRatio*size)
	b := &Bundle{spool: unpacked, files: map[string]*File{}}
	u := unpacker{bundle: b}
	if err := u.unpack(bufio.NewReaderSize(r, 1<<20)); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("it is truncated: %w; copy it again", err)
		}
		return nil, errors.Join(fmt.Errorf("%s: not a usable bundle: %w", name, err), b.Close())
	}
	return b, nil
}

// Close removes the unpacked files.
func (b *Bundle) Close() error { return b.spool.Close() }

// unpacker reads the entries of an archive.
type unpacker struct {
	bundle   *Bundle
	times    map[string]time.Time // of the entries that have not been read yet
	apparent int64
}

func (u *unpacker) unpack(r io.Reader) error {
	z, err := decoder(r)
	if err != nil {
		return err
	}
	defer z.Close()
	t := tar.NewReader(z)
	ix, err := firstIndex(t)
	if err != nil {
		return err
	}
	u.bundle.use(ix)
	u.times = ix.entries()
	if len(u.times) > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	return u.entries(t)
}

// firstIndex reads the index, which is the first entry.
func firstIndex(t *tar.Reader) (*Index, error) {
	h, err := t.Next()
	if err != nil {
		return nil, err
	}
	if h.Name != indexName {
		return nil, fmt.Errorf("its first entry is %q, not %s", h.Name, indexName)
	}
	return readIndex(t)
}

func (b *Bundle) use(ix *Index) {
	b.Index = *ix
	for i := range b.Index.Files {
		b.files[b.Index.Files[i].Path] = &b.Index.Files[i]
	}
}

// entries unpacks all entries. Each entry of the index must exist exactly once.
func (u *unpacker) entries(t *tar.Reader) error {
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		modified, known := u.times[h.Name]
		if !known || h.Typeflag != tar.TypeReg {
			return fmt.Errorf("entry %q is not one of the index", h.Name)
		}
		delete(u.times, h.Name)
		if u.apparent += h.Size; u.apparent > maxApparent {
			return fmt.Errorf("entry %q: it unpacks to more than %d bytes", h.Name, int64(maxApparent))
		}
		err = u.bundle.spool.Add(h.Name, modified, t)
		if errors.Is(err, spool.ErrLimit) {
			err = errors.New("it expands to more than its size allows")
		}
		if err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
	}
	for name := range u.times {
		return fmt.Errorf("%d entries of the index are missing, such as %q", len(u.times), name)
	}
	return nil
}
