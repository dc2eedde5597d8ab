package config

import "github.com/heaplapse/heaplapse/internal/units"

// Bytes reads a size.
func Bytes(text string) (float64, error) {
	n, err := units.ParseBytes(text)
	return float64(n), err
}

// Share reads a percentage as a share of 1.
func Share(text string) (float64, error) {
	f, err := units.ParsePercent(text)
	return f / 100, err
}
