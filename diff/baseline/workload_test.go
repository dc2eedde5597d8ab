package baseline

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCommandWorkload: a job in another directory is the same work, and one with other arguments is not.
func TestCommandWorkload(t *testing.T) {
	of := func(command ...string) string { return CommandWorkload(command) }
	old := of("python3", "/srv/v1/job.py", "--input=/data/1/rows.csv", "40")
	assert.Equal(t, old, of("/usr/bin/python3", "../v2/job.py", "--input=rows.csv", "40"))
	for _, other := range [][]string{
		{"python3", "/srv/v1/job.py", "--input=/data/1/rows.csv", "50"},
		{"python3", "/srv/v1/other.py", "--input=/data/1/rows.csv", "40"},
		{"python3", "/srv/v1/job.py", "--input=/data/1/more.csv", "40"},
	} {
		assert.NotEqual(t, old, of(other...), other)
	}
	assert.NotEqual(t, of("get", "http://a/x"), of("get", "http://b/x"), "a URL is not a path")
	assert.Empty(t, of())
}

// TestSameWorkload: a run that an earlier version saved has another hash for the same command.
func TestSameWorkload(t *testing.T) {
	now := &Meta{Command: []string{"job", "/v2/x"}, Workload: CommandWorkload([]string{"job", "/v2/x"})}
	for _, c := range []struct {
		m    Meta
		want bool
	}{
		{Meta{Command: []string{"job", "/v1/x"}, Workload: "command 0123456789ab"}, true},
		{Meta{Command: []string{"job", "y"}, Workload: "command 0123456789ab"}, false},
		{Meta{Workload: "command 0123456789ab"}, false},
		{Meta{Command: []string{"job", "/v2/x"}, Workload: "nightly"}, false},
		{Meta{}, true},
	} {
		assert.Equal(t, c.want, c.m.SameWorkload(now), "%+v", c.m)
	}
	assert.Equal(t, "job /v2/x", now.WorkloadName())
}
