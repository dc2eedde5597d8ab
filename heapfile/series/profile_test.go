package series_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// taken is the time of the first profile of tests.
var taken = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// pprofile returns a profile of a program, with one stack, as Go writes it.
func pprofile(t testing.TB, program string, minute, inuse, alloc int64) string {
	t.Helper()
	f := &profile.Function{ID: 1, Name: "main.leak", Filename: "/src/main.go"}
	m := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, File: "/srv/" + program, BuildID: "id of " + program}
	l := &profile.Location{ID: 1, Mapping: m, Address: uint64(0x400100 + minute), Line: []profile.Line{{Function: f, Line: 7}}}
	p := &profile.Profile{
		TimeNanos: taken.Add(time.Duration(minute) * time.Minute).UnixNano(),
		Period:    1, Mapping: []*profile.Mapping{m}, Location: []*profile.Location{l}, Function: []*profile.Function{f},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{alloc, alloc, inuse, inuse}}},
	}
	for _, name := range []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"} {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: map[bool]string{true: "bytes", false: "count"}[name[len(name)-1] == 'e']})
	}
	if program == "goroutines" {
		p.SampleType = []*profile.ValueType{{Type: "goroutine", Unit: "count"}}
		p.Sample[0].Value = []int64{inuse}
	}
	var b bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&b))
	return b.String()
}

// TestProfilesWithoutNumbers: the contents of the files decide which belong to one program and kind, and
// snapshots are ordered by the time in the file.
func TestProfilesWithoutNumbers(t *testing.T) {
	dir := put(t, map[string]string{
		"c.pprof": pprofile(t, "server", 1, 1000, 1000), "a.pprof": pprofile(t, "server", 2, 2000, 3000),
		"b.pb": pprofile(t, "server", 3, 3000, 5000), "d.prof": pprofile(t, "client", 1, 10, 10),
		"e.pprof": pprofile(t, "goroutines", 1, 1<<20, 0), "cpu.prof": "not a profile",
	})
	s := open(t, series.Options{}, dir)
	require.Equal(t, []string{"c.pprof", "a.pprof", "b.pb"}, names(s))
	require.Equal(t, series.ClockRecorded, s.Clock.Source)
	require.Equal(t, 120.0, s.Clock.Span())
	require.Len(t, s.Spaces, 1, "the program stays in place")
	require.Equal(t, 1, s.Stacks.Len(), "an address may change, the line is the same")
	require.Len(t, s.Problems, 1)
	require.Equal(t, filepath.Join(dir, "cpu.prof"), s.Problems[0].Path)
	require.Len(t, s.Others, 2)
	for want, files := range map[string][]string{s.Process.String(): names(s), "client": {"d.prof"}, "goroutines goroutines": {"e.pprof"}} {
		require.Equal(t, files, names(open(t, series.Options{Process: want}, dir)), "%s", want)
	}
}

// TestConvertedSnapshots: of a snapshot and its conversion in the same directory, the snapshot is
// read.
func TestConvertedSnapshots(t *testing.T) {
	s := open(t, series.Options{}, put(t, map[string]string{
		"p.0001.heap": heap(100, 100), "p.0001.pb": pprofile(t, "p", 1, 100, 100), "p.0002.pb": pprofile(t, "p", 2, 100, 100),
	}))
	require.Equal(t, []string{"p.0001.heap", "p.0002.pb"}, names(s))
	require.Equal(t, heapfile.FormatHeapProfile, s.Heads[0].Format)
	require.Equal(t, heapfile.FormatPprof, s.Heads[1].Format)
}

// TestRepeatedProfiles: a profile of Go that repeats the one before is left out, unless garbage must
// have been collected since. Its number is not missing.
func TestRepeatedProfiles(t *testing.T) {
	files := map[string]string{}
	for i, minute := range []int64{1, 2, 3, 4, 10, 11} {
		inuse := int64(1000)
		if minute == 11 {
			inuse = 2000
		}
		files[fmt.Sprintf("p.%04d.pb", i+1)] = pprofile(t, "p", minute, inuse, inuse)
	}
	dir := put(t, files)
	s := open(t, series.Options{}, dir)
	require.Equal(t, []string{"p.0001.pb", "p.0005.pb", "p.0006.pb"}, names(s))
	require.Equal(t, 3, s.Repeated())
	require.Len(t, s.Warnings, 1)
	require.Equal(t, "3 of 6 profiles repeat the one before and are left out: Go updates them when it has collected garbage, here some 3 times; request them with ?gc=1", s.Warnings[0].Error())
	for snap, err := range s.All(2) {
		require.NoError(t, err)
		require.Equal(t, s.Heads[snap.Index].Path, snap.Path)
	}
}
