package births

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	points = 33
	last   = points - 1
)

// growing are the births of a series of objects of 100 bytes. In each interval as many are allocated, of a leak, which
// lives forever, or one more than before, of sessions that live for some intervals. Both grow evenly.
func growing(life float64) (b Births, growth float64) {
	const objects, size = 1000, 100
	born := func(at int) float64 {
		if math.IsInf(life, 1) {
			return objects
		}
		return objects * float64(at+1) / life
	}
	lives := func(at, now int) bool { return at <= now && float64(now-at) <= life }
	for at := range points {
		one := Birth{Before: float64(at)}
		if lives(at, last) {
			one.Objects, one.Bytes = born(at), size*born(at)
		}
		b.List = append(b.List, one)
	}
	for after := range eighths {
		inUse := make([]float64, eighths)
		for at := range points {
			if lives(at, (after+1)*last/eighths) {
				inUse[max(0, at-1)*eighths/last] += size * born(at)
			}
		}
		b.Cohorts = append(b.Cohorts, inUse)
	}
	return b, objects * size * last
}

func described(t *testing.T, life float64) *Features {
	t.Helper()
	b, growth := growing(life)
	f := b.Describe(0, last, growth)
	require.NotNil(t, f)
	return f
}

// TestLeak: half of the growth is that of the first half, all eighths have as much, and nothing dies.
func TestLeak(t *testing.T) {
	f := described(t, math.Inf(1))
	for feature, want := range map[Feature]float64{
		Quarter: 0.25, Half: 0.5, ThreeQuarters: 0.75, SevenEighths: 0.875, Least: 1, Second: 1, Median: 1, Evenness: 1,
		Trend: 0, Last: 1, Fall: 0, PairFall: 0, ObjectSize: 0, Settled: 1, SettledLater: 1, SettledEarly: 1,
		SettledMiddle: 1, Next: 1, Died: 0,
	} {
		assert.InDelta(t, want, f[feature], 0.01, feature.String())
	}
}

// TestSessions: nothing of the first three quarters is in use, and what was in use after them has died.
func TestSessions(t *testing.T) {
	f := described(t, 3)
	for _, feature := range []Feature{Quarter, Half, ThreeQuarters, Old, Before, Least, Median} {
		assert.InDelta(t, 0, f[feature], 0.01, feature.String())
	}
	assert.Less(t, f[SettledMiddle], 0.1)
	assert.Less(t, f[Next], 0.1)
	assert.Less(t, f[PairFall], -3.)
}

// TestUnknown: births of an early snapshot do not describe the end, those of a recorder that hardly ran do not tell what
// is old, and those of nothing describe nothing.
func TestUnknown(t *testing.T) {
	b, growth := growing(math.Inf(1))
	early := Births{List: b.List[:points/3], Cohorts: b.Cohorts}
	require.Nil(t, early.Describe(0, last, growth))
	many := Births{List: b.List, Cohorts: b.Cohorts[:3]}
	require.False(t, many.Describe(0, last, growth).Settles())
	require.True(t, b.Describe(0, last, growth).Settles())
	vague := Births{List: []Birth{b.List[2], {Before: last - 2, Objects: 1000, Bytes: growth * 0.9}, b.List[last]}}
	require.Nil(t, vague.Describe(0, last, growth))
	container := Births{List: []Birth{{Before: 1, Objects: 1, Bytes: growth}, {Before: last}}}
	require.Nil(t, container.Describe(0, last, growth))
	nothing := Births{List: []Birth{{Before: last}}, Cohorts: b.Cohorts}
	require.Nil(t, nothing.Describe(0, last, growth))
	require.Nil(t, (*Births)(nil).Describe(0, last, growth))
}

// TestNames: each feature has a name of its own.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for f := range FeatureCount {
		require.Regexp(t, `^[a-z][a-z-]*$`, f.String())
		require.False(t, seen[f.String()], f.String())
		seen[f.String()] = true
	}
}
