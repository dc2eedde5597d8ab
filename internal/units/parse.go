package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var factors = map[string]float64{
	"": 1, "B": 1,
	"K": 1 << 10, "KIB": 1 << 10, "KB": 1e3,
	"M": 1 << 20, "MIB": 1 << 20, "MB": 1e6,
	"G": 1 << 30, "GIB": 1 << 30, "GB": 1e9,
	"T": 1 << 40, "TIB": 1 << 40, "TB": 1e12,
}

// ParseBytes reads a size: 4096, 512KiB, 1.5MB, 2G. K, M, G and T are powers of 1024; KB, MB, GB
// and TB are powers of 1000.
func ParseBytes(text string) (int64, error) {
	number := strings.TrimRight(text, "KMGTiBkb ")
	factor, ok := factors[strings.ToUpper(strings.TrimSpace(text[len(number):]))]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || v < 0 || v*factor > math.MaxInt64/2 || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a size: want a number with an optional unit, like 64KiB or 1MiB", text)
	}
	return int64(v * factor), nil
}

// ParsePercent reads a percentage, with the sign or without: 10, 0.5%.
func ParsePercent(text string) (float64, error) {
	f, err := ParseNumber(strings.TrimSpace(strings.TrimSuffix(text, "%")))
	if err != nil {
		return 0, fmt.Errorf("%q is not a percentage: want a number such as 10 or 0.5%%", text)
	}
	return f, nil
}

// ParseNumber reads a finite number that is not negative.
func ParseNumber(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q must be a non-negative number", text)
	}
	return f, nil
}
