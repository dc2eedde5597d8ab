//go:build !linux

package program

// Target is the program to be recorded.
type Target struct{ Path string }
