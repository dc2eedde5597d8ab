package spelling

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	words := []string{"heap-1", "heap-2", "record", "rec"}
	for mistyped, want := range map[string]string{
		"rekord": "record", "rce": "rec", "heap1": "heap-1", "hep-2": "heap-2", "x": "", "": "", "gate": "", "re": "",
	} {
		require.Equal(t, want, Nearest(mistyped, words), mistyped)
	}
}

func TestCompleted(t *testing.T) {
	words := []string{"output", "every", "every-alloc", "rss"}
	for prefix, want := range map[string]string{
		"out": "output", "o": "output", "every-": "every-alloc", "every": "", "e": "", "rsss": "", "": "",
	} {
		require.Equal(t, want, Completed(prefix, words), prefix)
	}
}
