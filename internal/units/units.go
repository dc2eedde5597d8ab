// Package units writes and reads quantities for people: sizes, durations, counts and percentages.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var binaryUnits = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Bytes shows a number of bytes with three significant digits: 512 B, 1.50 KiB, -20.0 MiB.
func Bytes[N int | int64 | float64](n N) string {
	f, unit := float64(n), 0
	for math.Abs(f) >= 1000 && unit < len(binaryUnits)-1 {
		f /= 1024
		unit++
	}
	digits := 0
	switch a := math.Abs(f); {
	case unit == 0:
	case a < 10:
		digits = 2
	case a < 100:
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, f, binaryUnits[unit])
}

// SignedBytes is [Bytes] with a plus sign for what is positive.
func SignedBytes[N int | int64 | float64](n N) string {
	if n > 0 {
		return "+" + Bytes(n)
	}
	return Bytes(n)
}

// RoundBytes shows a number of bytes without trailing zeros, for sizes that people choose: 512 KiB,
// 1.5 GiB.
func RoundBytes(n int64) string {
	f, unit := float64(n), 0
	for f >= 1024 && unit < len(binaryUnits)-1 {
		f /= 1024
		unit++
	}
	return fmt.Sprintf("%.4g %s", f, binaryUnits[unit])
}

// Duration shows a number of seconds: 300ms, 46s, 12m30s, 3h, 3h5m.
func Duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d >= time.Minute {
		d = d.Round(time.Second)
	} else {
		d = d.Round(100 * time.Millisecond)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Count is "1 snapshot", "24 snapshots", for nouns whose plural ends in s.
func Count(n int, noun string) string { return CountOf(n, noun, noun+"s") }

// CountOf is "1 library", "24 libraries".
func CountOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Percent shows a share of 1 as a whole percentage. A share above 0 is at least "<1 %".
func Percent(share float64) string {
	if share > 0 && share < 0.005 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Grouped shows a count with a comma before each three digits: 41,203.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
