//go:build unix

package infile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// OpenOwned opens a regular file in a directory like /tmp, where every user can make files. The
// file must belong to root or to one of the given users, and path must not be a symbolic link.
func OpenOwned(path string, users ...int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("is a symbolic link")}
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = owned(path, info, users)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func owned(path string, info fs.FileInfo, users []int) error {
	if !info.Mode().IsRegular() {
		return notRegular(path, info)
	}
	user, known := Owner(info)
	if !known || (user != 0 && !slices.Contains(users, user)) {
		return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("belongs to another user (%d)", user)}
	}
	return nil
}

// Owner returns the user to whom a file belongs.
func Owner(info fs.FileInfo) (user int, known bool) {
	st, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	return int(st.Uid), true
}
