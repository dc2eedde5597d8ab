// Package running finds the recordings that other processes of heaplapse are making.
package running

// Recording is one that another heaplapse is making of a process.
type Recording struct {
	// Dir is its directory, and Image the number of the process image.
	Dir   string
	Image int
}
