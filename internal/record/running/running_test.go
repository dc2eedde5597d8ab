//go:build linux

package running

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestImageOf(t *testing.T) {
	for name, want := range map[string]int{
		"python3.11.4711.events.jsonl": 0, "python3.4711.2.events.jsonl": 2, "python3.11.47110.events.jsonl": -1,
		"python3.4711.frames.jsonl": -1, "python3.4711.x.events.jsonl": -1, "4711.12.events.jsonl": -1, "a.4711..events.jsonl": -1,
	} {
		image, ok := imageOf(name, 4711)
		if assert.Equal(t, want >= 0, ok, name) && ok {
			assert.Equal(t, want, image, name)
		}
	}
}
