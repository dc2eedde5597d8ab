package siteview

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/diff/ages"
)

func TestSurvival(t *testing.T) {
	assert.Equal(t, []string{
		"in use at snapshot        #6       #11      #120",
		"before #6           2.00 KiB  1.00 KiB       0 B",
		"from #11 to #120                        3.00 KiB",
	}, Survival([]int{5, 10, 119}, []ages.Cohorts{{2048, 0, 0}, {1024, 0, 0}, {0, 0, 3072}}, 0))
	assert.Nil(t, Survival([]int{5, 10}, []ages.Cohorts{{0, 0}, {0, 0}}, 0))
}

// TestNarrowSurvival: a narrow terminal has fewer parts, of which the last one ends with the last snapshot.
func TestNarrowSurvival(t *testing.T) {
	ends := []int{1, 2, 3, 4, 5}
	cohorts := []ages.Cohorts{{1024, 0, 0, 0, 0}, {1024, 2048, 0, 0, 0}, {1024, 2048, 3072, 0, 0}, {1024, 2048, 3072, 4096, 0},
		{1024, 2048, 3072, 4096, 5120}}
	assert.Equal(t, []string{
		"in use at snapshot        #2        #4        #6",
		"before #2           1.00 KiB  1.00 KiB  1.00 KiB",
		"from #2 to #4                 5.00 KiB  5.00 KiB",
		"from #4 to #6                           9.00 KiB",
	}, Survival(ends, cohorts, 48))
	assert.Equal(t, []string{
		"in use at snapshot        #3        #6",
		"before #3           3.00 KiB  3.00 KiB",
		"from #3 to #6                 12.0 KiB",
	}, Survival(ends, cohorts, 47))
	assert.Nil(t, Survival(ends, cohorts, 37))
}
