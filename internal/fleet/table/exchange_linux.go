package table

import "golang.org/x/sys/unix"

// exchange swaps two directories, so that a reader sees the one or the other.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS { // the file system cannot
		return exchangeByRenames(a, b)
	}
	return err
}
