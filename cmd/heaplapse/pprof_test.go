package main

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// writeProfiles writes a series of profiles with one sample type, whose value of each function at each
// snapshot is returned by value.
func writeProfiles(t *testing.T, sampleType, unit string, functions []string, value func(function, snapshot int) int64) string {
	t.Helper()
	dir := t.TempDir()
	for k := range 24 {
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: sampleType, Unit: unit}},
			TimeNanos:  time.Date(2026, 1, 2, 3, k, 0, 0, time.UTC).UnixNano(),
		}
		for i, name := range functions {
			f := &profile.Function{ID: uint64(i + 1), Name: name, Filename: "/src/main.go"}
			l := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f, Line: int64(10 * (i + 1))}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{value(i, k)}})
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("heap.%04d.pb.gz", k+1)))
		require.NoError(t, err)
		require.NoError(t, p.Write(f))
		require.NoError(t, f.Close())
	}
	return dir
}

// TestGoroutineLeak: some hundred goroutines that never end are a leak, although their least stacks
// take little memory.
func TestGoroutineLeak(t *testing.T) {
	dir := writeProfiles(t, "goroutine", "count", []string{"main.wait", "main.serve"}, func(function, k int) int64 {
		return []int64{int64(5 + 10*k), int64(20 + k%3)}[function]
	})
	out, stderr, code := invoke(t, "growth", "--fail-on", "leak", dir)
	require.Equal(t, exitFound, code, stderr)
	require.Contains(t, out, "LEAK: main.wait main.go:10 grows")
	require.Contains(t, out, "note: these are goroutines, 25 at first and 257 at last; each counts as 2 KiB, its least stack")
	out, _, _ = invoke(t, "diff", filepath.Join(dir, "heap.0001.pb.gz"), filepath.Join(dir, "heap.0024.pb.gz"))
	require.Contains(t, out, "in 25 goroutines")
	require.Contains(t, out, "+232 goroutines")
	require.Equal(t, []string{"goroutine"}, convertedTypes(t, dir))
	out, _, code = invoke(t, "growth", "--fail-on", "leak", "--min-bytes", "1MiB", dir)
	require.Equal(t, exitOK, code, out)
}

// TestProfilesWithoutObjects: where objects are not counted, growth does not say that a few of them
// become larger, and no number of objects is shown.
func TestProfilesWithoutObjects(t *testing.T) {
	dir := writeProfiles(t, "inuse_space", "bytes", []string{"main.leak", "main.steady"}, func(function, k int) int64 {
		return []int64{int64(1+k) << 20, 8 << 20}[function]
	})
	out, stderr, code := invoke(t, "growth", "--fail-on", "leak", dir)
	require.Equal(t, exitFound, code, stderr)
	require.Contains(t, out, "LEAK: main.leak main.go:10 grows")
	require.NotContains(t, out, "objects become larger")
	out, _, _ = invoke(t, "info", dir)
	require.Contains(t, out, "the file does not say whether they are estimates; bytes without objects; in use only")
	require.Regexp(t, `9\.00 MiB +- +- +2 `, out)
	out, _, _ = invoke(t, "diff", filepath.Join(dir, "heap.0001.pb.gz"), filepath.Join(dir, "heap.0024.pb.gz"))
	require.NotContains(t, strings.Replace(out, "Δ OBJECTS", "", 1), "object")
	require.Equal(t, []string{"inuse_space"}, convertedTypes(t, dir))
	for _, args := range [][]string{{"top", dir}, {"convert", "--format", "folded", dir, "-o", t.TempDir()}} {
		_, stderr, code = invoke(t, append(args, "--sample", "inuse_objects")...)
		require.Equal(t, exitFailure, code)
		require.Regexp(t, "--sample inuse_objects: .*not count objects", stderr)
	}
}

// convertedTypes returns the sample types of the profiles that convert writes.
func convertedTypes(t *testing.T, dir string) (types []string) {
	t.Helper()
	out := t.TempDir()
	_, stderr, code := invoke(t, "convert", dir, "-o", out)
	require.Equal(t, exitOK, code, stderr)
	data, err := os.ReadFile(filepath.Join(out, "heap.0024.pb.gz"))
	require.NoError(t, err)
	p, err := profile.ParseData(data)
	require.NoError(t, err)
	for _, st := range p.SampleType {
		types = append(types, st.Type)
	}
	require.Equal(t, types[len(types)-1], p.DefaultSampleType)
	return types
}

// TestVirtualAddresses: jemalloc_pprof writes ELF virtual addresses, and mappings that contain all
// addresses. The functions are those that the original snapshot has.
func TestVirtualAddresses(t *testing.T) {
	sysroot := testutil.Data(t, "leaky", "sysroot")
	path := filepath.Join(t.TempDir(), "heap.pb")
	_, stderr, code := invoke(t, "convert", "-q", testutil.Data(t, "leaky", "leaky.0024.heap.gz"), "-o", path)
	require.Equal(t, exitOK, code, stderr)
	top := func() map[string]int64 {
		out, stderr, code := invoke(t, "top", "-q", "--format", "json", "--top", "0", "--sysroot", sysroot, path)
		require.Equal(t, exitOK, code, stderr)
		var got struct {
			Rows []struct {
				Function string
				Flat     int64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(out), &got))
		flat := map[string]int64{}
		for _, f := range got.Rows {
			if f.Flat > 0 {
				flat[f.Function] += f.Flat
			}
		}
		return flat
	}
	want := top()
	require.Positive(t, want["geom::TileCache::render"])

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	p, err := profile.ParseData(data)
	require.NoError(t, err)
	asJemallocPprof(t, p, sysroot)
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, p.Write(f))
	require.NoError(t, f.Close())
	out, _, _ := invoke(t, "info", path)
	require.Contains(t, out, "pprof (jemalloc_pprof)")
	require.Contains(t, out, "estimates from one sample per 512 KiB (assumed: the file does not say), scaled by the writer; bytes without objects")
	require.Equal(t, want, top())
}

// asJemallocPprof changes a profile without names to what jemalloc_pprof writes.
func asJemallocPprof(t *testing.T, p *profile.Profile, sysroot string) {
	t.Helper()
	p.SampleType, p.Comments, p.Period, p.Function = p.SampleType[3:], nil, 0, nil
	for _, s := range p.Sample {
		s.Value = s.Value[3:]
	}
	for _, l := range p.Location {
		l.Line = nil
		if l.Mapping == nil {
			continue
		}
		offset := l.Address - l.Mapping.Start + l.Mapping.Offset
		l.Address = offset
		file, err := elf.Open(filepath.Join(sysroot, l.Mapping.File))
		if err != nil {
			continue // a library of the machine that was recorded
		}
		for _, prog := range file.Progs {
			if prog.Type == elf.PT_LOAD && offset >= prog.Off && offset < prog.Off+prog.Filesz {
				l.Address = offset - prog.Off + prog.Vaddr
			}
		}
		require.NoError(t, file.Close())
	}
	for _, m := range p.Mapping {
		m.Start, m.Limit, m.Offset = 0, math.MaxUint64, 0
	}
}
