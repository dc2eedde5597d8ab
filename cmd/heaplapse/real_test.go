package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// truth is testdata/real/truth.json: what each recorded program does, known without looking at the
// recording.
type truth struct {
	Recordings []recording
}

type recording struct {
	Name, Program, Engine, Command string
	Snapshots                      int
	// Missed says why the leak is not found, where it is known that it is not. A false alarm is
	// never excused.
	Missed string
	// Leaks is empty for a program that does not leak.
	Leaks []struct {
		// Function is a regular expression for what the blame must be: the function, or
		// module+offset where the program's distribution has no name.
		Function string
		// Rate is in KiB a second, over the time in which it leaks; 0 where it is not known or not
		// steady.
		Rate float64 `json:"kib_per_second"`
	}
}

// found is what of `growth --format json` is judged.
type found struct {
	Verdict string
	Sites   []foundSite
}

type foundSite struct {
	Label        string
	Confidence   float64
	BytesPerHour *float64 `json:"bytes_per_hour"`
	InuseBytes   []*int64 `json:"inuse_bytes"`
	Blame        struct {
		Function string
		CalledBy string `json:"called_by"`
		File     string
		Line     int
	}
}

func (s *foundSite) leaks() bool { return strings.HasPrefix(s.Label, "leak") }

// TestRealRecordings judges every recording by what is known of the program: a leak is found and
// put down to the right function, and nothing else is called a leak. With -v it logs one line of a
// Markdown table for each recording.
func TestRealRecordings(t *testing.T) {
	testutil.NoRace(t)
	all := readTruth(t)
	var table strings.Builder
	wrong := 0
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			got := growthOf(t, r.Name)
			faults := r.faults(got)
			if len(faults) > 0 {
				wrong++
			}
			table.WriteString(r.row(got, faults))
			if r.Missed != "" {
				assert.Contains(t, faults, leakMissed, "the leak is found: take the note out of truth.json")
				faults = slices.DeleteFunc(faults, func(f string) bool { return f == leakMissed || strings.HasPrefix(f, "the verdict is ") })
			}
			assert.Empty(t, faults, "%s\nall sites: %s", r.Command, describeSites(got.Sites))
		})
	}
	t.Logf("%d of %d recordings judged rightly\n| recording | truth | verdict | called leak | |\n|---|---|---|---|---|\n%s", len(all)-wrong, len(all), table.String())
}

// TestTruthIsComplete checks that the manifest and the recordings agree.
func TestTruthIsComplete(t *testing.T) {
	all := readTruth(t)
	var named []string
	for _, r := range all {
		named = append(named, r.Name)
		dumps, err := filepath.Glob(testutil.Data(t, "real", r.Name, "*.heap.gz"))
		require.NoError(t, err)
		assert.Len(t, dumps, r.Snapshots, r.Name)
	}
	entries, err := os.ReadDir(testutil.Data(t, "real"))
	require.NoError(t, err)
	var recorded []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "src" && e.Name() != "sysroot" {
			recorded = append(recorded, e.Name())
		}
	}
	assert.ElementsMatch(t, recorded, named)
}

func readTruth(t *testing.T) []recording {
	t.Helper()
	data, err := os.ReadFile(testutil.Data(t, "real", "truth.json"))
	require.NoError(t, err)
	var all truth
	require.NoError(t, json.Unmarshal(data, &all))
	require.NotEmpty(t, all.Recordings)
	return all.Recordings
}

func growthOf(t *testing.T, name string) *found {
	t.Helper()
	out, stderr, code := invoke(t, "growth", "-q", "--format", "json", testutil.Data(t, "real", name), "--sysroot", testutil.Data(t, "real", "sysroot"))
	require.Equal(t, exitOK, code, stderr)
	var got found
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	return &got
}

// faults says what is wrong with a result, in words. A program that does not leak may be undecided:
// that is no false alarm.
func (r *recording) faults(got *found) []string {
	var faults []string
	hit := false
	for _, s := range got.Sites {
		switch {
		case !s.leaks():
		case r.isLeak(s.Blame.Function):
			hit = true
		default:
			faults = append(faults, fmt.Sprintf("%s does not leak", s.Blame.Function))
		}
	}
	switch {
	case len(r.Leaks) > 0 && !hit:
		faults = append(faults, leakMissed)
	case len(r.Leaks) > 0 && got.Verdict != "leak", len(r.Leaks) == 0 && got.Verdict == "leak":
		faults = append(faults, "the verdict is "+got.Verdict)
	}
	return faults
}

const leakMissed = "the leak is missed"

func (r *recording) isLeak(function string) bool {
	for _, l := range r.Leaks {
		if regexp.MustCompile(l.Function).MatchString(function) {
			return true
		}
	}
	return false
}

func (r *recording) row(got *found, faults []string) string {
	kind, mark := "no leak", "right"
	if len(r.Leaks) > 0 {
		kind = "leak"
		if rate := r.Leaks[0].Rate; rate > 0 {
			kind += fmt.Sprintf(" %.0f KiB/s", rate)
		}
	}
	if len(faults) > 0 {
		mark = "WRONG: " + strings.Join(faults, "; ")
	}
	leaks := slices.DeleteFunc(slices.Clone(got.Sites), func(s foundSite) bool { return !s.leaks() })
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", r.Name, kind, got.Verdict, describeSites(leaks), mark)
}

// describeSites gives label, confidence, KiB a second and blame of each site.
func describeSites(sites []foundSite) string {
	var parts []string
	for _, s := range sites {
		rate := "?"
		if s.BytesPerHour != nil {
			rate = fmt.Sprintf("%.0f KiB/s", *s.BytesPerHour/3600/1024)
		}
		name := s.Blame.Function
		if s.Blame.CalledBy != "" {
			name += " (called by " + s.Blame.CalledBy + ")"
		}
		parts = append(parts, fmt.Sprintf("%s %.0f %% %s %s", s.Label, 100*s.Confidence, rate, name))
	}
	return strings.Join(parts, "; ")
}
