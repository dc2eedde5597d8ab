package siteview

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDistinct: each list has what tells it from the others, and not what all have.
func TestDistinct(t *testing.T) {
	for lists, want := range map[string]string{
		"a b c|a b d":           "c|d",
		"a b|a b c":             "|c",
		"a b|a b":               "|",
		"a x y|a x z|a w":       "x y|x z|w",
		"1 2 3 4 5|1 2 3 4 6|0": "1 … 5|1 … 6|0",
	} {
		var in [][]string
		for list := range strings.SplitSeq(lists, "|") {
			in = append(in, strings.Fields(list))
		}
		require.Equal(t, want, strings.Join(distinct(in, " "), "|"), lists)
	}
}
