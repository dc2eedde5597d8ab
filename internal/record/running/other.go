//go:build !linux

package running

// Of returns false: recording requires Linux.
func Of(int) (Recording, bool) { return Recording{}, false }
