package trend

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModelIsReadAsWritten(t *testing.T) {
	again, err := ParseModel(model().String())
	require.NoError(t, err)
	require.Equal(t, model(), again)
	require.NotEmpty(t, model().Trees)
}

func TestModelIsASumOfTrees(t *testing.T) {
	m, err := ParseModel("# two trees\nbase -1\nload<0.5 1 tail<2 -2 3\n0.25\n")
	require.NoError(t, err)
	odds := func(load, tail float64) float64 {
		var f Features
		f[FeatureLoad], f[FeatureTail] = load, tail
		p := m.Probability(&f)
		return math.Log(p / (1 - p))
	}
	require.InDelta(t, 0.25, odds(0.4, 0), 1e-12)
	require.InDelta(t, -2.75, odds(0.5, 1), 1e-12, "a value equal to the threshold takes the right branch")
	require.InDelta(t, 2.25, odds(1, 2), 1e-12)
}

func TestDamagedModelsAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"base x":           "line 1",
		"\nload<0.5 1":     "line 2: a tree ends early",
		"load<a 1 2":       "line 1",
		"speed<1 1 2":      `unknown feature "speed"`,
		"load<0.5 1 2 3":   `unexpected "3" after the end of a tree`,
		"load<0.5 one two": "line 1",
	} {
		_, err := ParseModel(text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestFeaturesAreFinite: no feature is NaN or infinite, for any values of the series.
func TestFeaturesAreFinite(t *testing.T) {
	shapes := map[string]func(i int) (live, objects, alloc float64){
		"zeros": func(int) (float64, float64, float64) { return 0, 0, 0 },
		"huge":  func(i int) (float64, float64, float64) { return 9e18, 9e18, 9e18 },
		"one jump": func(i int) (float64, float64, float64) {
			return 9e18 * float64(i/5), float64(i / 5), 9e18 * float64(i/5)
		},
		"falling":         func(i int) (float64, float64, float64) { return 1e9 - float64(i)*1e8, 1, 1e9 },
		"alloc backwards": func(i int) (float64, float64, float64) { return float64(i) * 1e7, 1, 1e9 - float64(i)*1e8 },
	}
	for name, shape := range shapes {
		for _, n := range []int{MinPoints, 7, 12, 64, 500} {
			var p Points
			for i := range n {
				live, objects, alloc := shape(i * 10 / n)
				p.T = append(p.T, float64(i))
				p.Live, p.Objects, p.Alloc = append(p.Live, live), append(p.Objects, objects), append(p.Alloc, alloc)
			}
			s, ok := prepare(p, Options{})
			require.True(t, ok)
			l := s.line()
			for k, v := range s.features(l, s.curves(), s.growth(l)) {
				require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s of %s, %d points", Feature(k), name, n)
			}
			require.False(t, math.IsNaN(Judge(p, Options{}).Confidence))
		}
	}
}
