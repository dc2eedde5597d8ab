//go:build linux && amd64

package holders

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
)

// TestChooseSites: the call paths of a large import do not hide a leak that began after it.
func TestChooseSites(t *testing.T) {
	bySite := map[uint32]*answer.Site{}
	for n := range uint32(4000) {
		bySite[n] = &answer.Site{Live: 1, Old: 1}
	}
	bySite[4000] = &answer.Site{Live: 96}
	bySite[4001] = &answer.Site{Live: answer.LeastOld - 1}
	bySite[4002] = &answer.Site{Live: 90, Old: 30}
	chosen := choose(bySite)
	require.Len(t, chosen, maxSites+1)
	assert.Equal(t, uint32(4002), chosen[0], "most old samples")
	assert.Equal(t, uint32(4000), chosen[maxSites], "only new samples, but many")
	assert.NotContains(t, chosen, uint32(4001))
}
