//go:build !linux

package sig

// FailAtFileLimit does nothing: recording requires Linux.
func FailAtFileLimit() {}

// Die does nothing: recording requires Linux.
func Die(int) {}
