//go:build linux

// Package compress compresses snapshots.
//
// The format is gzip, because google/pprof, as well as heaplapse, reads a snapshot that is
// compressed with it. Level 3 makes a snapshot of 5 MB 20 times smaller in 11 ms; zstd would make
// it 26 times smaller in 15 ms.
package compress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// Suffix is what the name of a compressed file has after that of the plain one.
const Suffix = ".gz"

const level = 3

// File writes a compressed copy of a file beside it, with the owner, the permissions and the time
// of the file, and returns its size. The copy appears whole or not at all. The file itself stays:
// the caller removes the one that is not needed.
func File(ctx context.Context, path string) (size int64, err error) {
	// The directory may belong to another user, who could make a link.
	in, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, &fs.PathError{Op: "compress", Path: path, Err: errors.New("not a regular file")}
	}
	o := atomicfile.Options{Mode: info.Mode().Perm(), Replace: true, Finish: func(out *os.File) error {
		size, err = finish(out, info)
		return err
	}}
	err = atomicfile.Write(path+Suffix, o, func(out io.Writer) error {
		return pack(out, &reader{ctx, in}, info.ModTime())
	})
	return size, err
}

// pack writes what is read, compressed, and when it was modified.
func pack(out io.Writer, in io.Reader, modified time.Time) error {
	z, err := gzip.NewWriterLevel(out, level)
	if err != nil {
		return err
	}
	z.ModTime = modified
	_, err = io.Copy(z, in)
	return errors.Join(err, z.Close())
}

// reader reads a file until a context is canceled.
type reader struct {
	ctx  context.Context //nolint:containedctx // io.Reader has no other place for it
	file *os.File
}

func (r *reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.file.Read(b)
}

// finish gives the copy the owner and the time of the file, and returns its size. Only root may
// give a file to another user.
func finish(out *os.File, like fs.FileInfo) (size int64, err error) {
	if st, ok := like.Sys().(*syscall.Stat_t); ok {
		if err := out.Chown(int(st.Uid), int(st.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return 0, err
		}
	}
	if err := out.Chmod(like.Mode().Perm()); err != nil { // after the change of the owner
		return 0, err
	}
	// The path of the open file, because another user may have put a link at its name.
	if err := os.Chtimes(fmt.Sprintf("/proc/self/fd/%d", out.Fd()), like.ModTime(), like.ModTime()); err != nil {
		return 0, err
	}
	info, err := out.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
