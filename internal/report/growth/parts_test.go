package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

// TestPartsOfARow: a site that leaks on one call path and fills on others is one row, with a line about its parts.
func TestPartsOfARow(t *testing.T) {
	leak := trend.Verdict{Label: verdict.Leak, Confidence: 0.92}
	s := &growth.Site{Verdict: leak, Gained: 5 << 20, Parts: []growth.Part{
		{Verdict: leak, Gained: 2 << 20, Members: make([]symbolize.SiteID, 1)},
		{Verdict: trend.Verdict{Label: verdict.Warming, Confidence: 0.1}, Gained: 3 << 20, Members: make([]symbolize.SiteID, 2)},
	}}
	require.Equal(t, "1 call path: leak 92%, +2.00 MiB; 2 call paths: warming, +3.00 MiB", parts(s))
	require.Equal(t, []partJSON{{"leak", 0.92, 1, 2 << 20}, {"warming", 0.1, 2, 3 << 20}}, partsOf(s))
	require.Empty(t, parts(&growth.Site{Verdict: leak}))
	require.Nil(t, partsOf(&growth.Site{Verdict: leak}))
}

// TestChanceInWords: the chance is rounded in one place, and is never 0 or 100 %.
func TestChanceInWords(t *testing.T) {
	for p, want := range map[float64][2]string{
		0: {"below 1 %", "leak <1%"}, 0.5: {"50 %", "leak 50%"}, 0.9949: {"99 %", "leak 99%"}, 0.9951: {"over 99 %", "leak >99%"},
	} {
		require.Equal(t, want, [2]string{text.Percent(p), LabelText(verdict.Leak, p)})
	}
	require.Equal(t, "stable", LabelText(verdict.Stable, 0.2))
}
