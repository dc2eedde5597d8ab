package table

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// asideSuffix is that of a directory that is being swapped.
const asideSuffix = ".old"

// exchangeByRenames swaps two directories. For a moment b does not exist.
func exchangeByRenames(a, b string) error {
	aside := a + asideSuffix
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(aside, b))
	}
	return os.Rename(aside, a)
}

// lockFolder keeps other compactions away until the file is closed.
func lockFolder(folder string) (*os.File, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: another compaction is running: %w", folder, err)
	}
	return f, nil
}
