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
	}, Survival([]int{5, 10, 119}, []ages.Cohorts{{2048, 0, 0}, {1024, 0, 0}, {0, 0, 3072}}))
	assert.Nil(t, Survival([]int{5, 10}, []ages.Cohorts{{0, 0}, {0, 0}}))
}
