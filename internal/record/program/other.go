//go:build !linux

package program

// Target is the program to record.
type Target struct{ Path string }
