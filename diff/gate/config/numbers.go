package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseSize reads a number of bytes: 4096, 512KiB, 1.5MB, 2G: powers of 1024, but of 1000 for KB, MB, GB, TB.
func ParseSize(text string) (int64, error) {
	number := strings.TrimRight(text, "KMGTiBkb ")
	factor, ok := map[string]float64{
		"": 1, "B": 1,
		"K": 1 << 10, "KIB": 1 << 10, "KB": 1e3, "M": 1 << 20, "MIB": 1 << 20, "MB": 1e6,
		"G": 1 << 30, "GIB": 1 << 30, "GB": 1e9, "T": 1 << 40, "TIB": 1 << 40, "TB": 1e12,
	}[strings.ToUpper(strings.TrimSpace(text[len(number):]))]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || v < 0 || v*factor > math.MaxInt64/2 || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a size: want a number with an optional unit, like 64KiB or 1MiB", text)
	}
	return int64(v * factor), nil
}

// Bytes reads a size.
func Bytes(text string) (float64, error) {
	n, err := ParseSize(text)
	return float64(n), err
}

// Percent reads a percentage: 10, 0.5%.
func Percent(text string) (float64, error) {
	f, err := Number(strings.TrimSpace(strings.TrimSuffix(text, "%")))
	if err != nil {
		return 0, fmt.Errorf("%q is no percentage: want a number such as 10 or 0.5%%", text)
	}
	return f, nil
}

// Share reads a percentage as a share, 0 to 1.
func Share(text string) (float64, error) {
	f, err := Percent(text)
	return f / 100, err
}

// Number reads a number of 0 or more.
func Number(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is no number of 0 or more", text)
	}
	return f, nil
}
