package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/symbolize"
)

// TestHolders: the call paths of a site, and the sites of a row, add up.
func TestHolders(t *testing.T) {
	h := Holders{}
	g := answer.Holder{Blocks: 9, Kind: answer.Global, Name: "g"}
	two := &answer.Site{Live: 20, Old: 9, Held: answer.Held{Looked: 9, By: []answer.Holder{g}}}
	h.Add(1, two)
	h.Add(1, two)
	h.Add(2, &answer.Site{Live: 9, Old: 9, Held: answer.Held{Looked: 1, By: []answer.Holder{{Blocks: 1, Kind: answer.Lost}}}})
	row := h.Of([]symbolize.SiteID{1, 2, 3})
	require.Equal(t, 19, row.Looked)
	require.Equal(t, 18, row.By[0].Blocks)
	require.Equal(t, 49, row.Live)
	require.False(t, row.All)
	h.Add(4, &answer.Site{Live: 2, Old: 2, Held: answer.Held{Looked: 2, By: []answer.Holder{{Blocks: 2, Kind: answer.Lost}}}})
	require.True(t, h.Of([]symbolize.SiteID{4}).All)
	require.Zero(t, Holders(nil).Of([]symbolize.SiteID{1}))
}
