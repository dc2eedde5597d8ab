package printable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/printable"
)

func TestRune(t *testing.T) {
	for _, r := range "aé漢😀 \u00a0\u0301" {
		require.True(t, printable.Rune(r), "%q", r)
	}
	for _, r := range "\x00\t\n\r\x1b\x7f\u0085\u009b\u00ad\u200b\u202e\u2066\u2028\u2029\ufeff" {
		require.False(t, printable.Rune(r), "%q", r)
	}
}
