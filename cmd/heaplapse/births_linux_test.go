package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// TestBirths records a program that allocates in phases, each after a snapshot has told of the one before: the
// snapshots tell their order, and --older-than leaves out the later ones. What was reallocated is as old as it was.
func TestBirths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, out := filepath.Join(dir, "phases"), filepath.Join(dir, "out")
	text, err := exec.Command(testutil.Need(t, "gcc"), "-O1", "-g", "-o", program, "testdata/phases.c").CombinedOutput()
	require.NoError(t, err, "%s", text)
	cmd := exec.Command("heaplapse", "record", "-o", out, "--sample-period", "1", "--every", "100ms", "--no-holders",
		"--", program)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var born map[string][2]time.Time
	var last, third int // snapshots
	for phase := 1; phase <= 4; phase++ {
		name := fmt.Sprintf("phase_%d", phase)
		require.Eventually(t, func() bool {
			last, born = phasesOf(t, out)
			_, ok := born[name]
			return ok
		}, 5*time.Minute, 50*time.Millisecond, "%s", &stderr)
		if phase == 3 {
			third = last
		}
		if phase < 4 {
			_, err := stdin.Write([]byte("\n"))
			require.NoError(t, err)
		}
	}
	assert.NotContains(t, born, "phase_2", "it was freed")
	assert.NotContains(t, born, "phase_1", "it was reallocated")
	assert.True(t, born["phase_1_grows"][1].Before(born["phase_3"][0]), "%v", born)
	assert.True(t, born["phase_3"][1].Before(born["phase_4"][0]), "%v", born)
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait(), "%s", &stderr)

	s, err := series.Open([]string{out}, series.Options{})
	require.NoError(t, err)
	defer s.Close()
	end, err := s.ReadBirths(len(s.Heads) - 1)
	require.NoError(t, err)
	assert.NotEmpty(t, end.Births, "the program ended while the last snapshot was taken")
	age := s.Clock.Times[last].Sub(born["phase_3"][1])
	text, err = exec.Command("heaplapse", "top", out, "--snapshot", strconv.Itoa(last+1), "--older-than", age.String(),
		"--format", "json", "-q").Output()
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
	assert.EqualValues(t, 50*1011, old["phase_1_grows"])
	assert.EqualValues(t, 50*1003, old["phase_3"])
	assert.Zero(t, old["phase_4"])
	assert.Zero(t, old["phase_2"])
	after := born["phase_1_grows"][1].Sub(s.Clock.Times[0])
	text, err = exec.Command("heaplapse", "top", out, "--snapshot", strconv.Itoa(last+1), "--older-than", age.String(),
		"--born-after", after.String(), "-q").Output()
	require.NoError(t, err)
	assert.Contains(t, string(text), "phase_3")
	assert.NotContains(t, string(text), "phase_1_grows", "%s was allocated before", after)
	checkBornBefore(t, s.Heads[third].Path, s.Heads[last].Path)
}

// checkBornBefore compares a snapshot of the third phase with one of the fourth: what was allocated
// since does not count.
func checkBornBefore(t *testing.T, third, fourth string) {
	t.Helper()
	text, err := exec.Command("heaplapse", "diff", third, fourth, "--born-before", "base", "--format", "json", "-q").Output()
	require.NoError(t, err)
	validate(t, compileSchema(t, "diff"), string(text))
	var diff struct {
		Born  time.Time `json:"born_before"`
		Sites []struct {
			Blame         struct{ Function string }
			Base, Current struct {
				Bytes int64 `json:"inuse_bytes"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &diff))
	assert.False(t, diff.Born.IsZero())
	got := map[string][2]int64{}
	for _, s := range diff.Sites {
		got[s.Blame.Function] = [2]int64{s.Base.Bytes, s.Current.Bytes}
	}
	assert.Equal(t, map[string][2]int64{
		"phase_1": {50 * 1001, 0}, "phase_1_grows": {0, 50 * 1011}, "phase_2": {50 * 1002, 0},
	}, got)
}

// phasesOf returns the index of the last snapshot in a directory that tells when memory was allocated, and the first
// and the last time of each phase.
func phasesOf(t *testing.T, dir string) (index int, born map[string][2]time.Time) {
	t.Helper()
	s, err := series.Open([]string{dir}, series.Options{})
	if err != nil {
		return 0, nil // there is none yet
	}
	defer s.Close()
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
	require.NoError(t, err)
	for index = len(s.Heads) - 1; index >= 0; index-- {
		snap, err := s.ReadBirths(index)
		if err != nil || len(snap.Births) == 0 {
			continue // it is being compressed, or the recorder was busy
		}
		born = map[string][2]time.Time{}
		for row, births := range snap.Births {
			births = slices.DeleteFunc(births, func(b heapfile.Birth) bool { return b.Objects == 0 })
			for _, id := range symbols.Stack(snap.Samples[row].Stack) {
				if l := symbols.Locations[id]; len(l.Frames) > 0 && strings.HasPrefix(l.Frames[0].Function, "phase_") {
					born[l.Frames[0].Function] = [2]time.Time{births[0].Before, births[len(births)-1].Before}
				}
			}
		}
		return index, born
	}
	return 0, nil
}
