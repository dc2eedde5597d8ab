package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseSize reads 4096, 512KiB, 1.5MB, 2G: powers of 1024, but of 1000 for KB, MB, GB, TB.
func parseSize(text string) (int64, error) {
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
