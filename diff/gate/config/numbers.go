package config

import "github.com/heaplapse/heaplapse/internal/units"

// Bytes reads a size, such as 512KiB, as a threshold in bytes.
func Bytes(text string) (float64, error) {
	n, err := units.ParseBytes(text)
	return float64(n), err
}

// Share reads a percentage, such as 0.5%, as a share of 1.
func Share(text string) (float64, error) {
	f, err := units.ParsePercent(text)
	return f / 100, err
}
