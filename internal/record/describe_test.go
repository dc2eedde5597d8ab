package record

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/internal/record/collect"
)

// TestOutcomeOfAFailedProgram: the last line of a recording says how the program failed, but not that it
// was ended.
func TestOutcomeOfAFailedProgram(t *testing.T) {
	const shell = 128
	for _, c := range []struct {
		status int
		signal syscall.Signal
		want   string
	}{
		{0, 0, "12 snapshots of process 7"},
		{3, 0, "12 snapshots of process 7; the program failed with exit status 3"},
		{shell + int(syscall.SIGSEGV), syscall.SIGSEGV, "12 snapshots of process 7; the program was killed by SIGSEGV"},
		{shell + int(syscall.SIGTERM), syscall.SIGTERM, "12 snapshots of process 7"},
		{shell + int(syscall.SIGINT), 0, "12 snapshots of process 7"},
	} {
		o := Outcome{Result: collect.Result{Status: c.status, Signal: int(c.signal), Snapshots: 12, Processes: 1, Main: 7}}
		assert.Equal(t, c.want, o.String())
	}
}
