package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// TestEvidenceOfAProgram: a report of one program of a recording is not joined to the others. If none of
// them is that program, it may be another build of any.
func TestEvidenceOfAProgram(t *testing.T) {
	report, err := evidence.Read(testutil.Data(t, "evidence", "memcheck.xml")) // of /opt/evidence/bin/service
	require.NoError(t, err)
	index := evidence.NewIndex([]*evidence.Report{report}, nil)
	found := func(exe string, all ...string) bool {
		l := lossesOf{index: index}
		for _, other := range all {
			l.processes = append(l.processes, series.Process{Exe: other})
		}
		frame := symbolize.Frame{Function: "Client::fetch", File: "service.cc", Line: 29}
		return len(l.of(&series.Process{Exe: exe}).At(frame)) > 0
	}
	require.True(t, found("/srv/service", "/srv/service", "/srv/worker"))
	require.False(t, found("/srv/worker", "/srv/service", "/srv/worker"))
	require.True(t, found("/srv/service-debug", "/srv/service-debug", "/srv/worker"))
	require.True(t, found("", "/srv/service", ""), "its program is unknown")
}
