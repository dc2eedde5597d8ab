//go:build !linux

package memory

// resident returns false: it is not known.
func resident() (bytes int64, ok bool) { return 0, false }
