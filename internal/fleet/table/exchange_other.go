//go:build !linux

package table

// exchange swaps two directories.
func exchange(a, b string) error { return exchangeByRenames(a, b) }
