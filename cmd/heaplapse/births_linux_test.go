package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// TestBirths records a program that allocates in phases, each between other snapshots than the one before: the
// snapshots tell their order, and --older-than leaves out the later ones.
func TestBirths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, out := filepath.Join(dir, "phases"), filepath.Join(dir, "out")
	text, err := exec.Command(testutil.Need(t, "gcc"), "-O1", "-g", "-o", program, "testdata/phases.c").CombinedOutput()
	require.NoError(t, err, "%s", text)
	text, err = exec.Command("heaplapse", "record", "-o", out, "--sample-period", "1", "--every", "100ms", "--no-holders",
		"--", program, out).CombinedOutput()
	require.NoError(t, err, "%s", text)

	s, err := series.Open([]string{out}, series.Options{})
	require.NoError(t, err)
	defer s.Close()
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
	require.NoError(t, err)
	last := len(s.Heads) - 2 // before that of the exit
	snap, err := s.ReadBirths(last)
	require.NoError(t, err)
	born := map[string][2]time.Time{} // the first and the last time of each phase
	for row, births := range snap.Births {
		for _, id := range symbols.Stack(snap.Samples[row].Stack) {
			if l := symbols.Locations[id]; len(l.Frames) > 0 && len(l.Frames[0].Function) == len("phase_1") {
				born[l.Frames[0].Function] = [2]time.Time{births[0].Before, births[len(births)-1].Before}
			}
		}
	}
	require.Contains(t, born, "phase_1")
	require.Contains(t, born, "phase_3")
	require.Contains(t, born, "phase_4")
	assert.NotContains(t, born, "phase_2", "it was freed")
	assert.True(t, born["phase_1"][1].Before(born["phase_3"][0]), "%v", born)
	assert.True(t, born["phase_3"][1].Before(born["phase_4"][0]), "%v", born)

	age := s.Clock.Times[last].Sub(born["phase_3"][1])
	text, err = exec.Command("heaplapse", "top", out, "--older-than", age.String(), "--format", "json", "-q").Output()
	require.NoError(t, err)
	var top struct {
		Rows []struct {
			Function string
			Flat     int64
		}
	}
	require.NoError(t, json.Unmarshal(text, &top))
	old := map[string]int64{}
	for _, r := range top.Rows {
		old[r.Function] = r.Flat
	}
	assert.EqualValues(t, 50*1001, old["phase_1"])
	assert.EqualValues(t, 50*1003, old["phase_3"])
	assert.Zero(t, old["phase_4"])
	assert.Zero(t, old["phase_2"])
}
