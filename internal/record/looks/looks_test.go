//go:build linux

package looks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestTimesOfLooks: the newest look is from the second half of the recording.
func TestTimesOfLooks(t *testing.T) {
	for every, want := range map[time.Duration][]time.Duration{
		0: {time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}, time.Minute: {time.Minute, 2 * time.Minute},
	} {
		l, at := Looks{Options: Options{Every: every}}, time.Duration(0)
		for _, w := range want {
			at = l.after(at)
			assert.Equal(t, w, at)
		}
	}
}
