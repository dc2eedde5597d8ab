package trend

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const bornPoints = 33

// rising is a series that grows evenly, with objects of 100 bytes. live is the time that an object lives; what is older
// than that was freed, and the growth is that of the load. A leak lives forever.
func rising(live float64) Points {
	const perPoint = 1000 // objects that are kept
	var p Points
	freed := func(born, now int) bool { return float64(now-born) > live }
	cohort := func(born int) float64 { // objects
		if math.IsInf(live, 1) {
			return perPoint
		}
		return perPoint * float64(born+1) / live
	}
	allocated := 0.
	for i := range bornPoints {
		allocated += cohort(i)
		sum := 0.
		for born := range i + 1 {
			if !freed(born, i) {
				sum += cohort(born)
			}
		}
		p.T, p.Live = append(p.T, float64(i)), append(p.Live, 100*sum)
		p.Objects, p.Alloc = append(p.Objects, sum), append(p.Alloc, 100*allocated)
	}
	const last = bornPoints - 1
	for born := range bornPoints {
		b := Birth{Before: float64(born)}
		if !freed(born, last) {
			b.Objects, b.Bytes = cohort(born), 100*cohort(born)
		}
		p.Births = append(p.Births, b)
	}
	for after := range eighths {
		inUse := make([]float64, eighths)
		for born := range bornPoints {
			part, now := max(0, born-1)*eighths/last, (after+1)*last/eighths
			if born <= now && !freed(born, now) {
				inUse[part] += 100 * cohort(born)
			}
		}
		p.Cohorts = append(p.Cohorts, inUse)
	}
	return p
}

func bornFeatures(t *testing.T, p Points) *BirthFeatures {
	t.Helper()
	v := Judge(p, Options{})
	require.NotNil(t, v.Births)
	return v.Births
}

// TestBirthsOfALeak: half of the growth is that of the first half, all eighths have as much, and nothing dies.
func TestBirthsOfALeak(t *testing.T) {
	f := bornFeatures(t, rising(math.Inf(1)))
	for feature, want := range map[BirthFeature]float64{
		BirthQuarter: 0.25, BirthHalf: 0.5, BirthThreeQuarters: 0.75, BirthSevenEighths: 0.875, BirthLeast: 1, BirthSecond: 1,
		BirthMedian: 1, BirthEvenness: 1, BirthTrend: 0, BirthLast: 1, BirthFall: 0, BirthPairFall: 0, BirthObjectSize: 0,
		BirthSettled: 1, BirthSettledLater: 1, BirthSettledEarly: 1, BirthSettledMiddle: 1, BirthNext: 1, BirthDied: 0,
	} {
		assert.InDelta(t, want, f[feature], 0.01, feature.String())
	}
}

// TestBirthsOfSessions: nothing of the first three quarters is in use, and what was in use there has died.
func TestBirthsOfSessions(t *testing.T) {
	f := bornFeatures(t, rising(3))
	for feature, want := range map[BirthFeature]float64{
		BirthQuarter: 0, BirthHalf: 0, BirthThreeQuarters: 0, BirthOld: 0, BirthBefore: 0, BirthLeast: 0, BirthMedian: 0,
	} {
		assert.InDelta(t, want, f[feature], 0.01, feature.String())
	}
	assert.Less(t, f[BirthSettledMiddle], 0.1)
	assert.Less(t, f[BirthNext], 0.1)
	assert.Less(t, f[BirthPairFall], -3.)
}

// TestAgesDecide: of two series that grow alike, one leaks if what it allocated early stays, and the other does not if
// that was freed.
func TestAgesDecide(t *testing.T) {
	leak, sessions := rising(math.Inf(1)), rising(3)
	leak.Live, leak.Objects, leak.Alloc = sessions.Live, sessions.Objects, sessions.Alloc
	withoutBirths := sessions
	withoutBirths.Births, withoutBirths.Cohorts = nil, nil
	plain := Judge(withoutBirths, Options{})
	require.Nil(t, plain.Births)
	assert.Less(t, Judge(sessions, Options{}).Confidence, plain.Confidence)
	assert.Greater(t, Judge(leak, Options{}).Confidence, plain.Confidence)
}

// TestBirthsOfAnEarlySnapshot do not describe the end of a series.
func TestBirthsOfAnEarlySnapshot(t *testing.T) {
	p := rising(math.Inf(1))
	p.Births = p.Births[:bornPoints/3]
	require.Nil(t, Judge(p, Options{}).Births)
	p.Births = []Birth{{Before: bornPoints}}
	require.Nil(t, Judge(p, Options{}).Births, "nothing is in use")
}
