//go:build !linux

package running

// Recording is one that another heaplapse is making of a process.
type Recording struct {
	Dir   string
	Image int
}

// Of returns false: recording requires Linux.
func Of(int) (Recording, bool) { return Recording{}, false }
