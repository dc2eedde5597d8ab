package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
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
	Load                           struct {
		// Loops is the number of busy loops that ran beside it.
		Loops int `json:"busy_loops"`
	}
	// Wrong says why the recording is judged wrongly, where it is known that it is.
	Wrong string
	// Unfinished marks a recording that ends before the program is ready, or its table full. Nobody can tell from it
	// that the growth ends.
	Unfinished bool
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
	Verdict, Why string
	DataMissing  bool     `json:"data_missing"`
	Chance       *float64 `json:"leak_chance"`
	Sites        []foundSite
}

type foundSite struct {
	Label        string
	Confidence   float64
	Imported     float64  `json:"imported_share"`
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
	var judged judgedTally
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			got := growthOf(t, r.Name)
			got.requireOneJudge(t)
			faults := r.faults(got)
			judged.add(&r, faults)
			table.WriteString(r.row(got, faults))
			switch {
			case r.Wrong == "":
			case len(faults) == 0:
				t.Log("judged rightly: take the note out of truth.json: " + r.Wrong)
			default:
				return
			}
			assert.Empty(t, faults, "%s\nall sites: %s", r.Command, describeSites(got.Sites))
		})
	}
	t.Logf("%s\n| recording | truth | verdict | called leak | |\n|---|---|---|---|---|\n%s", judged, table.String())
}

// judgedTally counts recordings, those that are judged wrongly, and leaks that are missed.
type judgedTally struct {
	all, unfinished, wrong, wrongUnfinished, missed int
}

func (c *judgedTally) add(r *recording, faults []string) {
	c.all++
	if r.Unfinished {
		c.unfinished++
	}
	if len(faults) == 0 {
		return
	}
	c.wrong++
	if r.Unfinished {
		c.wrongUnfinished++
	}
	if slices.Contains(faults, leakMissed) {
		c.missed++
	}
}

func (c judgedTally) String() string {
	return fmt.Sprintf("%d of %d recordings judged rightly; without the %d unfinished ones, %d of %d; leaks missed: %d",
		c.all-c.wrong, c.all, c.unfinished, c.all-c.unfinished-(c.wrong-c.wrongUnfinished), c.all-c.unfinished, c.missed)
}

// TestTruthIsComplete checks that the manifest and the recordings agree.
func TestTruthIsComplete(t *testing.T) {
	all := readTruth(t)
	var named []string
	for _, r := range all {
		named = append(named, filepath.Base(seriesOf(t, r.Name)))
		assert.Len(t, snapshotsOf(t, r.Name), r.Snapshots, r.Name)
	}
	entries, err := os.ReadDir(testutil.Data(t, "real"))
	require.NoError(t, err)
	var recorded []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "src", name == "recorded-src", name == "sysroot":
		case e.IsDir(), strings.HasSuffix(name, bundled):
			recorded = append(recorded, name)
		}
	}
	assert.ElementsMatch(t, recorded, named)
}

// TestRealRecordingsAreVaried: about half of the programs leak, and about half were recorded beside busy loops.
func TestRealRecordingsAreVaried(t *testing.T) {
	all := readTruth(t)
	leaks, loaded := 0, 0
	for _, r := range all {
		if len(r.Leaks) > 0 {
			leaks++
		}
		if r.Load.Loops > 0 {
			loaded++
		}
	}
	assert.GreaterOrEqual(t, len(all), 80)
	assert.InDelta(t, 0.5, float64(leaks)/float64(len(all)), 0.1)
	assert.InDelta(t, 0.5, float64(loaded)/float64(len(all)), 0.1)
}

// bundled is how the name of a recording ends that is one archive, with the files that names come from.
const bundled = ".heaplapse.tar.zst"

// seriesOf returns the path of a recording: a directory or a bundle.
func seriesOf(t *testing.T, name string) string {
	t.Helper()
	dir := testutil.Data(t, "real", name)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	return dir + bundled
}

// snapshotsOf returns the names of the snapshots of a recording. An archive begins with a list of its files.
func snapshotsOf(t *testing.T, name string) []string {
	t.Helper()
	path := seriesOf(t, name)
	if !strings.HasSuffix(path, bundled) {
		names, err := filepath.Glob(filepath.Join(path, "*.heap.gz"))
		require.NoError(t, err)
		return names
	}
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	text, err := zstd.NewReader(file)
	require.NoError(t, err)
	defer text.Close()
	archive := tar.NewReader(text)
	_, err = archive.Next()
	require.NoError(t, err)
	var index struct{ Snapshots []struct{ Entry string } }
	require.NoError(t, json.NewDecoder(archive).Decode(&index))
	var names []string
	for _, s := range index.Snapshots {
		names = append(names, s.Entry)
	}
	return names
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
	out, stderr, code := invoke(t, "growth", "-q", "--fail-on", "leak", "--format", "json", seriesOf(t, name),
		"--sysroot", testutil.Data(t, "real", "sysroot"))
	var got found
	require.NoError(t, json.Unmarshal([]byte(out), &got), stderr)
	want := map[string]int{"leak": exitFound, "no-leak": exitOK, "undecided": exitFailure}
	if got.Verdict == "undecided" && !got.DataMissing {
		want[got.Verdict] = exitOK
	}
	require.Equal(t, want[got.Verdict], code, "--fail-on leak: %s", stderr)
	return &got
}

// requireOneJudge checks that the confidence alone decides what is a leak and what is a suspect, and what
// the verdict on the series is, unless data are missing.
func (f *found) requireOneJudge(t *testing.T) {
	t.Helper()
	if f.DataMissing {
		require.Regexp(t, "too few for a trend|truncated snapshots hide|importing Python modules until the end|but the process does|no allocation was recorded", f.Why)
	}
	if f.Verdict == "no-leak" {
		require.Less(t, *f.Chance, trend.SuspectConfidence)
	}
	for _, s := range f.Sites {
		switch {
		case s.leaks():
			require.GreaterOrEqual(t, s.Confidence, trend.LeakConfidence, s.Blame.Function)
		case s.Label == verdict.Suspect.String():
			require.GreaterOrEqual(t, s.Confidence, trend.SuspectConfidence, s.Blame.Function)
			require.Less(t, s.Confidence, trend.LeakConfidence, s.Blame.Function)
		}
	}
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
	if r.Unfinished {
		kind += ", unfinished"
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
