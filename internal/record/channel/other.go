//go:build !linux

package channel

// Receiver is not used: recording requires Linux.
type Receiver struct{}
