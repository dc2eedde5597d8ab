package console

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReworded: an error of the system about a path tells what to do.
func TestReworded(t *testing.T) {
	for _, c := range []struct {
		op   string
		err  syscall.Errno
		want string
	}{
		{"mkdir", syscall.EACCES, "/none/a: permission denied: choose another place, with -o"},
		{"mkdir", syscall.EROFS, "/none/a: read-only file system: choose another place, with -o"},
		{"mkdir", syscall.ENOENT, "/none/a: there is no directory /none: make it first"},
		{"open", syscall.EACCES, "/none/a: permission denied: use a user who has access"},
		{"open", syscall.ENOENT, "/none/a: no such file or directory: check the path"},
		{"read", syscall.EIO, "read /none/a: input/output error"},
	} {
		err := fmt.Errorf("base: %w", &fs.PathError{Op: c.op, Path: "/none/a", Err: c.err})
		require.Equal(t, "base: "+c.want, Reworded(err))
	}
}
