package units_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/units"
)

func TestBytesHasThreeDigits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "0.98 KiB", 1024: "1.00 KiB", 10 << 10: "10.0 KiB", 100 << 10: "100 KiB",
		1 << 20: "1.00 MiB", -3 << 20: "-3.00 MiB", 1 << 62: "4.00 EiB",
	} {
		require.Equal(t, want, units.Bytes(n))
		require.Equal(t, want, units.Bytes(float64(n)))
	}
	require.Equal(t, "+1.50 KiB", units.SignedBytes(1536))
	require.Equal(t, "-1.50 KiB", units.SignedBytes(-1536))
	require.Equal(t, "0 B", units.SignedBytes(0))
}

func TestRoundBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1000: "1000 B", 1024: "1 KiB", 512 << 10: "512 KiB", 3 << 29: "1.5 GiB", 1<<20 + 1<<10: "1.001 MiB"} {
		require.Equal(t, want, units.RoundBytes(n))
	}
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0s", 0.25: "300ms", 46: "46s", 90: "1m30s", 3600: "1h", 3660: "1h1m", 3601: "1h0m1s", 86400 * 2: "48h"} {
		require.Equal(t, want, units.Duration(seconds))
	}
}

func TestCounts(t *testing.T) {
	require.Equal(t, "0 snapshots", units.Count(0, "snapshot"))
	require.Equal(t, "1 snapshot", units.Count(1, "snapshot"))
	require.Equal(t, "24 snapshots", units.Count(24, "snapshot"))
	require.Equal(t, "1 library", units.CountOf(1, "library", "libraries"))
	require.Equal(t, "2 libraries", units.CountOf(2, "library", "libraries"))
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.001: "<1 %", 0.005: "0 %", 0.0051: "1 %", 0.5: "50 %", 1: "100 %"} {
		require.Equal(t, want, units.Percent(share))
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "1B": 1, "1K": 1024, "1k": 1024, "1KiB": 1024, "64 KiB": 64 << 10, "1KB": 1000, "1.5MB": 1500000, "2G": 2 << 30,
		"1T": 1 << 40, "0.5 MiB": 1 << 19,
	} {
		n, err := units.ParseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{"", "MiB", "-1", "1X", "1BK", "NaN", "Inf", "1e300", "9000000T", "x1", "1,5M", "1 2"} {
		_, err := units.ParseBytes(text)
		require.ErrorContains(t, err, "is not a size: want a number with an optional unit", text)
	}
}

func TestParsePercent(t *testing.T) {
	for text, want := range map[string]float64{"10": 10, "0.5%": 0.5, "3 %": 3, "0": 0} {
		f, err := units.ParsePercent(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, f, 0, text)
	}
	for _, text := range []string{"", "%", "-1", "ten", "NaN", "Inf%"} {
		_, err := units.ParsePercent(text)
		require.ErrorContains(t, err, "is not a percentage", text)
		_, err = units.ParseNumber(text)
		require.ErrorContains(t, err, "must be a non-negative number", text)
	}
}
