package series_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// These benchmarks compare reading with google/pprof, in MB/s of one core:
//
//	go test -run '^$' -bench . -benchtime 5x ./heapfile/series
//
// BenchmarkSeries has known stacks, BenchmarkCold unknown ones. cpu-MB/s counts processor
// time, including the garbage collector's, so that other work on the machine does not matter.

const benchSnapshots = 200

// benchFile is the largest recorded snapshot of a Python process: 1 MiB.
func benchFile(b *testing.B) []byte {
	return testutil.Plain(b, testutil.Data(b, "python/python.0012.heap.gz"))
}

// varied returns a snapshot with the same stacks and different counts.
func varied(data []byte, seed int) []byte {
	out := bytes.Clone(data)
	at := 0
	for line := range bytes.Lines(data) {
		row := out[at : at+len(line)]
		at += len(line)
		if bytes.HasPrefix(line, []byte("MAPPED_LIBRARIES")) {
			break
		}
		counts, _, isRow := bytes.Cut(row, []byte("] @ 0x"))
		if !isRow {
			continue
		}
		for i, c := range counts { // the numbers of digits stay the same
			if i > 0 && c >= '1' && c <= '9' && counts[i-1] >= '0' && counts[i-1] <= '9' {
				counts[i] = '1' + byte((int(c-'1')+seed+i)%9)
			}
		}
	}
	return out
}

// benchSeries writes the series and returns its directory and size.
func benchSeries(b *testing.B) (dir string, size int64) {
	dir = b.TempDir()
	data := benchFile(b)
	for i := range benchSnapshots {
		text := varied(data, i)
		size += int64(len(text))
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1)), text, 0o644))
	}
	return dir, size
}

// perCore reports the bytes read per second of processor time since it was called.
func perCore(b *testing.B, size int64) (report func()) {
	b.SetBytes(size)
	before := cpuTime(b)
	return func() {
		b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuTime(b)-before).Seconds(), "cpu-MB/s")
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkSeries(b *testing.B) {
	dir, size := benchSeries(b)
	defer perCore(b, size)()
	for b.Loop() {
		rows := 0
		s, err := series.Open([]string{dir}, series.Options{Workers: 1, Visit: func(s *series.Snapshot) error {
			rows += len(s.Samples)
			return nil
		}})
		if err != nil || len(s.Heads) != benchSnapshots || rows < benchSnapshots*2000 {
			b.Fatal(err, rows)
		}
		s.Close()
	}
}

func BenchmarkSeriesPprof(b *testing.B) {
	dir, size := benchSeries(b)
	paths, err := filepath.Glob(filepath.Join(dir, "*.heap"))
	require.NoError(b, err)
	defer perCore(b, size)()
	for b.Loop() {
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := profile.ParseData(data); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkCold(b *testing.B) {
	data := benchFile(b)
	defer perCore(b, int64(len(data)))()
	for b.Loop() {
		if _, err := heapfile.Read(bytes.NewReader(data), "cold"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkColdPprof(b *testing.B) {
	data := benchFile(b)
	defer perCore(b, int64(len(data)))()
	for b.Loop() {
		if _, err := profile.ParseData(data); err != nil {
			b.Fatal(err)
		}
	}
}

// TestVariedSnapshotsKeepTheirStacks checks an assumption of the benchmarks.
func TestVariedSnapshotsKeepTheirStacks(t *testing.T) {
	data := testutil.Plain(t, testutil.Data(t, "python/python.0012.heap.gz"))
	a, b := read(t, data), read(t, varied(data, 1))
	require.Equal(t, a.Stacks.Len(), b.Stacks.Len())
	require.Equal(t, a.Mappings, b.Mappings)
	same := 0
	for i := range a.Samples {
		require.Equal(t, a.Stacks.Addrs(a.Samples[i].Stack), b.Stacks.Addrs(b.Samples[i].Stack))
		if a.Samples[i].Counts == b.Samples[i].Counts {
			same++
		}
	}
	require.Less(t, same, len(a.Samples)/10, "most counts vary")
}

func read(t testing.TB, data []byte) *heapfile.Snapshot {
	t.Helper()
	s, err := heapfile.Read(bytes.NewReader(data), "varied")
	require.NoError(t, err)
	return s
}
