//go:build linux

package looks

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/internal/record/collect"
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

// TestTooLargeLater: the answer about a process that has become too large is old, and the user is told why.
func TestTooLargeLater(t *testing.T) {
	var told []string
	l := New(Options{Tell: func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }})
	large, small := os.Getpid(), os.Getppid()
	l.told[large] = seen{live: 9, time: time.Date(2026, 3, 2, 14, 7, 5, 0, time.Local)}
	l.told[small] = l.told[large]
	l.tooLarge(collect.Running{PID: large}, errors.New("it has 129 threads"))
	l.End()
	assert.Equal(t, []string{fmt.Sprintf(
		"what holds the memory of process %d is told as it was at 14:07:05: since then, it has 129 threads", large)}, told)
}
