//go:build !linux && !darwin

package debuginfod

// freeSpace returns false: it is not known.
func freeSpace(string) (free uint64, ok bool) { return 0, false }
