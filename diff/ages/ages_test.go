package ages

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/heapfile"
)

// seconds is a time.
func seconds(n float64) time.Time { return time.Unix(1000, int64(n*1e9)) }

// TestCohorts: what was allocated between two times is divided evenly; what is older than the series belongs to the
// first part, and what is newer to the last.
func TestCohorts(t *testing.T) {
	var ends [Parts]time.Time
	for i := range ends {
		ends[i] = seconds(float64(i + 1))
	}
	for _, c := range []struct {
		after, before float64
		want          Cohorts
	}{
		{-5, -5, Cohorts{100}},
		{0.25, 0.5, Cohorts{100}},
		{2, 3, Cohorts{0, 0, 100}},
		{2.5, 3.5, Cohorts{0, 0, 50, 50}},
		{1.5, 3.5, Cohorts{0, 25, 50, 25}},
		{7.5, 8.5, Cohorts{0, 0, 0, 0, 0, 0, 0, 100}},
		{5, 5, Cohorts{0, 0, 0, 0, 100}},
	} {
		var got Cohorts
		got.add(seconds(c.after), heapfile.Birth{Before: seconds(c.before), Objects: 1, Bytes: 100}, ends)
		assert.Equal(t, c.want, got, "%v to %v", c.after, c.before)
	}
}

func TestOld(t *testing.T) {
	share, ok := Cohorts{10, 0, 0, 20, 0, 0, 0, 10}.Old()
	assert.True(t, ok)
	assert.InDelta(t, 0.75, share, 1e-9)
	_, ok = Cohorts{}.Old()
	assert.False(t, ok)
	_, ok = (*Ages)(nil).Old(nil)
	assert.False(t, ok)
}

func TestBegins(t *testing.T) {
	after := begins(map[int][]heapfile.Birth{
		0: {{Before: seconds(1)}, {Before: seconds(4)}}, 1: {{Before: seconds(2)}},
	})
	assert.Equal(t, map[time.Time]time.Time{seconds(1): seconds(1), seconds(2): seconds(1), seconds(4): seconds(2)}, after)
}
