//go:build !linux

package sig

// FailAtFileLimit does nothing: recording requires Linux.
func FailAtFileLimit() {}

// FailAtClosedPipe does nothing: recording requires Linux.
func FailAtClosedPipe() {}

// Die does nothing: recording requires Linux.
func Die(int) {}
