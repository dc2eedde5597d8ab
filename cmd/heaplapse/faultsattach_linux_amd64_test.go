package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestAttachFaults lets each file operation of attach fail or be short. The process that it attaches
// to goes on and ends well. Either there are snapshots, or a message names the file that prevents
// that. No temporary files stay.
//
// It takes a sample of the operations; `make faults` takes all of them.
func TestAttachFaults(t *testing.T) {
	testutil.NoRace(t)
	clean := attachUnder(t, place{}, fault{})
	require.Equal(t, exitOK, clean.status, clean.stderr)
	require.Empty(t, judgeAttach(clean))
	tryFaults(t, clean, attachUnder, judgeAttach)
}

func attachUnder(t *testing.T, at place, how fault) *faultedRecording {
	p := runPlain(t, python(t), program(t, "service.py"))
	o := runUnder(t, at, how, "attach", p.pid(), "-o", "$D/rec", "--every", "50ms", "--duration", "200ms")
	p.end(t)
	assert.Equal(t, 0, p.state.ExitStatus(), "the process: %s", p.stderr)
	assert.Empty(t, p.stderr)
	return o
}

// judgeAttach returns what is wrong with a recording by attach, or "".
func judgeAttach(o *faultedRecording) string {
	const failed, leftAlone = 125, 126
	dir := filepath.Join(o.dir, "rec")
	said := strings.Contains(strings.ReplaceAll(o.stderr, "go to "+dir, ""), o.dir) || strings.Contains(o.stderr, "TMPDIR")
	snapshots, _ := filepath.Glob(filepath.Join(dir, "*.heap*"))
	_, err := os.Stat(dir)
	switch {
	case crashed(o.stderr):
		return "it crashed"
	case o.leftOver() != "":
		return "left over: " + o.leftOver()
	case o.status == failed || o.status == leftAlone:
		if !said {
			return "no message names a file"
		}
		if err == nil && !o.preventsRemoval(dir) {
			return "a directory without a recording"
		}
		return ""
	case o.status != exitOK:
		return fmt.Sprintf("status %d", o.status)
	case len(snapshots) == 0:
		return "no snapshots"
	}
	info := exec.Command("heaplapse", "info", dir, "--no-cache")
	if out, err := info.CombinedOutput(); exitStatus(err) == 2 {
		return "info cannot read it: " + string(out)
	}
	return ""
}
