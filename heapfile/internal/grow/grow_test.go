package grow

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAppend: large slices are checked each time that they grow, and keep their content.
func TestAppend(t *testing.T) {
	calls := 0
	check := func(int64) error { calls++; return nil }
	var s []int
	const n = 4 << 20
	for i := range n {
		var err error
		s, err = Append(s, i, check)
		require.NoError(t, err)
	}
	for i := range n {
		if s[i] != i {
			require.Equal(t, i, s[i])
		}
	}
	require.Greater(t, calls, 5)
	require.Less(t, calls, 40)
	failed := errors.New("too much")
	s = s[:cap(s)]
	left, err := Append(s, 1, func(more int64) error {
		require.GreaterOrEqual(t, more, int64(8*len(s)))
		return failed
	})
	require.Equal(t, failed, err)
	require.Len(t, left, len(s))
	few, err := Append([]byte("a"), 'b', func(int64) error { return failed })
	require.NoError(t, err, "a small slice is not checked")
	require.Equal(t, "ab", string(few))
}
