//go:build linux && amd64

package tracer

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCollectorRunsAfterOverlappingHolds: two processes are stopped at the same time, in either order.
func TestCollectorRunsAfterOverlappingHolds(t *testing.T) {
	const usual = 100
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	percent := func() int {
		p := debug.SetGCPercent(-1)
		debug.SetGCPercent(p)
		return p
	}
	for _, firstFirst := range []bool{true, false} {
		first, second := HoldCollector(), HoldCollector()
		if !firstFirst {
			first, second = second, first
		}
		first()
		assert.Equal(t, -1, percent(), "one process is still stopped")
		second()
		assert.Equal(t, usual, percent())
	}
}
