package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
)

// TestLinesArePooledApart: two lines of a Python function are two sites. A cache on one of them does not get the
// evidence of a leak on the other.
func TestLinesArePooledApart(t *testing.T) {
	g := &Report{Series: &series.Series{}}
	key := func(kind identity.KeyKind, line int) siteKey {
		return g.keyOf(siteview.View{Keys: identity.Keys{Kind: kind, Site: 7}, Blame: siteview.Blame{Line: line}})
	}
	require.NotEqual(t, key(identity.KeyScript, 21), key(identity.KeyScript, 22))
	require.Equal(t, key(identity.KeyScript, 21), key(identity.KeyScript, 21))
	require.Equal(t, key(identity.KeyFunction, 21), key(identity.KeyFunction, 22), "a native function is one site")
}
