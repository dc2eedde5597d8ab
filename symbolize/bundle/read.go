package bundle

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/klauspost/compress/zstd"
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
	dir   string
	files map[string]*File // by path
}

// Is reports whether a file is a bundle. It reads the first bytes.
func Is(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || string(magic[:]) != "\x28\xb5\x2f\xfd" {
		return false
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false
	}
	z, err := decoder(f)
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

// Open unpacks a bundle into a new directory below dir, or below the default directory for
// temporary files if dir is "". Close removes it. Zeros become holes.
func Open(file, dir string) (*Bundle, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := &Bundle{files: map[string]*File{}}
	if b.dir, err = os.MkdirTemp(dir, "heaplapse-bundle-"); err != nil {
		return nil, fmt.Errorf("%s: cannot be unpacked: %w", file, err)
	}
	u := unpacker{bundle: b, left: max(floorContent, maxRatio*info.Size())}
	if err := u.unpack(bufio.NewReaderSize(f, 1<<20)); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("it is truncated: %w; copy it again", err)
		}
		return nil, errors.Join(fmt.Errorf("%s: not a usable bundle: %w", file, err), b.Close())
	}
	return b, nil
}

// Close removes the unpacked files.
func (b *Bundle) Close() error { return os.RemoveAll(b.dir) }

// unpacker writes the entries of an archive.
type unpacker struct {
	bundle   *Bundle
	root     *os.Root
	times    map[string]time.Time // of the entries that have not been read yet
	apparent int64
	left     int64 // non-zero bytes that may still be written
}

func (u *unpacker) unpack(r io.Reader) error {
	z, err := decoder(r)
	if err != nil {
		return err
	}
	defer z.Close()
	t := tar.NewReader(z)
	h, err := t.Next()
	if err != nil {
		return err
	}
	if h.Name != indexName {
		return fmt.Errorf("its first entry is %q, not %s", h.Name, indexName)
	}
	ix, err := readIndex(t)
	if err != nil {
		return err
	}
	u.bundle.use(ix)
	u.times = ix.entries()
	if len(u.times) > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	if u.root, err = os.OpenRoot(u.bundle.dir); err != nil {
		return err
	}
	defer u.root.Close()
	return u.entries(t)
}

func (b *Bundle) use(ix *Index) {
	b.Index = *ix
	for i := range b.Index.Files {
		b.files[b.Index.Files[i].Path] = &b.Index.Files[i]
	}
}

// entries writes all entries. Each entry of the index must exist exactly once.
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
		if err := u.write(h, t, modified); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
	}
	for name := range u.times {
		return fmt.Errorf("%d entries of the index are missing, such as %q", len(u.times), name)
	}
	return nil
}

func (u *unpacker) write(h *tar.Header, r io.Reader, modified time.Time) error {
	if err := u.root.MkdirAll(path.Dir(h.Name), 0o700); err != nil {
		return err
	}
	f, err := u.root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(u.fill(f, r, h.Size), f.Close())
	if err != nil || modified.IsZero() {
		return err
	}
	return u.root.Chtimes(h.Name, modified, modified)
}

// fill writes the content of a file except for zeros.
func (u *unpacker) fill(f *os.File, r io.Reader, size int64) error {
	if err := f.Truncate(size); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for at := int64(0); at < size; {
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), size-at)])
		if err != nil {
			return err
		}
		if !isZero(buf[:n]) {
			if u.left -= int64(n); u.left < 0 {
				return errors.New("it expands to more than its size allows")
			}
			if _, err := f.WriteAt(buf[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
	}
	return nil
}

func isZero(b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), len(zeroPage))
		if string(b[:n]) != string(zeroPage[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}
