package trend

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/verdict"
)

// TestModelsAgreeWithLightGBM compares with the log-odds that LightGBM computed for some examples when
// it fitted the models.
func TestModelsAgreeWithLightGBM(t *testing.T) {
	for file, m := range map[string]struct {
		trees []tree
		names []string
	}{
		"model_cases.txt":  {model(), featureNames()},
		"births_cases.txt": {birthModel(), birthNames()},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		cases := 0
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if fields[0] == "#" {
				continue
			}
			f := make([]float64, len(m.names))
			for _, field := range fields[1:] {
				name, number, _ := strings.Cut(field, "=")
				require.Contains(t, m.names, name)
				f[slices.Index(m.names, name)], err = strconv.ParseFloat(number, 64)
				require.NoError(t, err)
			}
			want, err := strconv.ParseFloat(fields[0], 64)
			require.NoError(t, err)
			require.InDelta(t, want, logOdds(m.trees, f), 0.01, line)
			cases++
		}
		require.Greater(t, cases, 20)
	}
}

func TestModelIsASumOfTrees(t *testing.T) {
	m, err := parseModel("# two trees\nfeature load 0.25 0.5\nfeature tail 2\n0:1 10000 1:0 -20000 30000\n-7500\n", featureNames())
	require.NoError(t, err)
	odds := func(load, tail float64) float64 {
		var f Features
		f[FeatureLoad], f[FeatureTail] = load, tail
		return logOdds(m, f[:])
	}
	require.InDelta(t, 0.25, odds(0.5, 3), 1e-12, "a value equal to the threshold takes the left branch")
	require.InDelta(t, -2.75, odds(0.6, 2), 1e-12)
	require.InDelta(t, 2.25, odds(1, 2.1), 1e-12)
}

func TestDamagedModelsAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"x":                                 "line 1",
		"feature load 0.5\n0:0 1":           "line 2: a tree ends early",
		"feature":                           "line 1",
		"feature ":                          "line 1: a list of thresholds has no feature",
		"feature load a":                    "line 1",
		"feature speed 1\n0:0 1 2":          `line 1: unknown feature "speed"`,
		"feature load 0.5\n0:0 1 2 3":       `line 2: unexpected "3" after the end of a tree`,
		"feature load 0.5\n0:1 1 2":         "line 2: threshold of a split: 1 is not below 1",
		"feature load 0.5\n0:-1 1 2":        "line 2: threshold of a split: -1 is not below 1",
		"feature load 0.5\n1:0 1 2":         "line 2: feature of a split: 1 is not below 1",
		"feature load 0.5\n0:0 one two":     "line 2",
		"feature load 0.5\n0:0  2":          "line 2",
		"feature load 0.5\n0:0 1 2\n0:0 1 ": "line 3: a tree ends early",
	} {
		_, err := parseModel(text, featureNames())
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
		for _, n := range []int{verdict.MinPoints, 7, 12, 64, 500} {
			var p Points
			for i := range n {
				live, objects, alloc := shape(i * 10 / n)
				p.T = append(p.T, float64(i))
				p.Work = append(p.Work, alloc)
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
