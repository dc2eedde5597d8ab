package manifest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEachRecordCanBeReadAtOnce reads the manifest after each record and expects all records so
// far.
func TestEachRecordCanBeReadAtOnce(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir)
	require.NoError(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	status, rss := 3, int64(1<<20)
	want := &Manifest{}
	check := func(err error) {
		t.Helper()
		require.NoError(t, err)
		got, err := Load(dir)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	want.Recording = &Recording{Started: at, Recorder: "heaplapse 1", Command: []string{"a b", "\n"}, URLs: []string{"http://h:1"}, Engine: "jemalloc", Library: "/l.so", Sampling: 512 << 10, Settings: map[string]string{"A": "=\""}}
	check(w.Recording(*want.Recording))
	want.Processes = []Process{
		{PID: 1, Parent: 2, Started: at, Command: []string{"x"}, Exe: "/x"},
		{PID: 1, Image: 1, Started: at},
	}
	require.NoError(t, w.Process(want.Processes[0]))
	check(w.Process(want.Processes[1]))
	want.Snapshots = []Snapshot{{File: "p.0001.heap", Time: at, PID: 1, Trigger: "time", RSS: &rss}}
	check(w.Snapshot(want.Snapshots[0]))
	want.Mappings = []Mapping{{Path: "/x", BuildID: "ab", Size: 1, MTime: at}}
	check(w.Mapping(want.Mappings[0]))
	want.Files = []File{{File: "perf-1.map", Path: "/tmp/perf-1.map", Kind: "perf-map", PID: 1}}
	check(w.File(want.Files[0]))
	want.Gaps = []Gap{{Prefix: "heap", From: at, To: at.Add(time.Second), Reason: "connection refused"}, {Prefix: "heap", From: at, Reason: "x"}}
	require.NoError(t, w.Gap(want.Gaps[0]))
	check(w.Gap(want.Gaps[1]))
	want.Ends = []End{{PID: 1, Time: at, Status: &status}, {Time: at, Error: "disk full"}}
	require.NoError(t, w.End(want.Ends[0]))
	check(w.End(want.Ends[1]))
	require.NoError(t, w.Close())
	check(nil)
}

func TestCreateRejectsASecondRecording(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = Create(dir)
	require.ErrorIs(t, err, os.ErrExist)
	require.ErrorContains(t, err, "the directory already holds a recording")
}

// TestRecordsAreKeptWhileWritesFail checks that a later write contains the records of failed
// writes.
func TestRecordsAreKeptWhileWritesFail(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir)
	require.NoError(t, err)
	good := w.file
	w.file, err = os.Open(filepath.Join(dir, Name)) // read-only
	require.NoError(t, err)
	require.Error(t, w.Snapshot(Snapshot{File: "1"}))
	require.Error(t, w.Snapshot(Snapshot{File: "2"}))
	require.NoError(t, w.file.Close())
	w.file = good
	require.NoError(t, w.Snapshot(Snapshot{File: "3"}))
	require.NoError(t, w.Close())
	m, err := Load(dir)
	require.NoError(t, err)
	require.Len(t, m.Snapshots, 3)
}
