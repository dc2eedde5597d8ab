package convert_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// fixtures lists the recorded series and, for each, the directory that holds its mapped files.
var fixtures = []struct{ name, sysroot string }{
	{"leaky", "leaky/sysroot"},
	{"leaky-jemalloc", "leaky/sysroot"},
	{"leaky-jemalloc-noaccum", "leaky/sysroot"},
	{"python", "python/sysroot"},
	{"node", "node/sysroot"},
}

func open(t *testing.T, name, sysroot string) (*series.Series, *convert.Converter) {
	t.Helper()
	return openWith(t, name, sysroot, convert.Options{})
}

func openWith(t *testing.T, name, sysroot string, o convert.Options) (*series.Series, *convert.Converter) {
	t.Helper()
	s, err := series.Open([]string{testutil.Data(t, name)}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: testutil.Data(t, sysroot)})
	require.NoError(t, err)
	c, err := convert.New(s, symbols, o)
	require.NoError(t, err)
	return s, c
}

// converted encodes the profile of a snapshot, compresses it and parses the result.
func converted(t *testing.T, c *convert.Converter, snap *series.Snapshot) *profile.Profile {
	t.Helper()
	samples, err := c.Samples(snap)
	require.NoError(t, err)
	return parsed(t, c.Encode(samples))
}

func parsed(t *testing.T, content io.WriterTo) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	_, err := content.WriteTo(&b)
	require.NoError(t, err)
	p, err := profile.Parse(&b)
	require.NoError(t, err)
	require.NoError(t, p.CheckValid())
	return p
}

// eachProfile calls visit with each snapshot of a fixture and its profile, encoded and parsed
// again.
func eachProfile(t *testing.T, name, sysroot string, visit func(*series.Snapshot, *profile.Profile)) {
	t.Helper()
	s, c := open(t, name, sysroot)
	seen := 0
	for snap, err := range s.All(0) {
		require.NoError(t, err)
		visit(snap, converted(t, c, snap))
		seen++
	}
	require.Positive(t, seen)
}

// sums returns the sum of the values of each sample type.
func sums(p *profile.Profile) map[string]int64 {
	out := map[string]int64{}
	for _, s := range p.Sample {
		for i, v := range s.Value {
			out[p.SampleType[i].Type] += v
		}
	}
	return out
}

// rowSums computes the sums from the rows. It does not use the totals that the snapshot states.
func rowSums(s *series.Snapshot) map[string]int64 {
	out := map[string]int64{}
	for _, row := range s.Samples {
		e := s.Estimate(row)
		out["inuse_objects"] += e.InuseObjects
		out["inuse_space"] += e.InuseBytes
		out["alloc_objects"] += e.AllocObjects
		out["alloc_space"] += e.AllocBytes
	}
	return out
}

func TestTotalsEqualSumsOfRows(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			eachProfile(t, f.name, f.sysroot, func(s *series.Snapshot, p *profile.Profile) {
				want := rowSums(s)
				for name, got := range sums(p) {
					require.Equal(t, want[name], got, "%s of %s", name, s.Path)
				}
			})
		})
	}
}

// TestTotalsEqualThoseOfPprof compares with google/pprof's own reader. That reader does not support
// jemalloc, returns two sample types if the allocated totals equal those in use, and rejects a file
// that is truncated in the middle of a number.
func TestTotalsEqualThoseOfPprof(t *testing.T) {
	testutil.NoRace(t)
	pprofNames := map[string]string{"objects": "inuse_objects", "space": "inuse_space"}
	compared := 0
	for _, f := range fixtures {
		if strings.Contains(f.name, "jemalloc") {
			continue
		}
		eachProfile(t, f.name, f.sysroot, func(s *series.Snapshot, p *profile.Profile) {
			theirs, err := profile.ParseData(testutil.Plain(t, s.Path))
			if err != nil {
				require.True(t, s.Completeness.Truncated, "%s: pprof may reject only truncated files: %v", s.Path, err)
				return
			}
			ours := sums(p)
			for name, want := range sums(theirs) {
				if n, ok := pprofNames[name]; ok {
					name = n
				}
				require.Equal(t, want, ours[name], "%s of %s", name, s.Path)
			}
			compared++
		})
	}
	require.GreaterOrEqual(t, compared, 40, "most files are compared")
}

func TestSampleTypesAreTheSameInTheWholeSeries(t *testing.T) {
	four := []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}
	for _, f := range fixtures {
		want := four
		if f.name == "leaky-jemalloc-noaccum" {
			want = four[2:]
		}
		eachProfile(t, f.name, f.sysroot, func(s *series.Snapshot, p *profile.Profile) {
			var got []string
			for _, st := range p.SampleType {
				got = append(got, st.Type)
			}
			require.Equal(t, want, got, s.Path)
			require.Equal(t, "inuse_space", p.DefaultSampleType)
			require.Equal(t, len(want) == 2, slices.ContainsFunc(p.Comments, func(c string) bool {
				return strings.Contains(c, "no cumulative counts")
			}), "a comment reports missing cumulative counts")
		})
	}
}

func TestFieldsOfProfiles(t *testing.T) {
	testutil.NoRace(t)
	for _, f := range fixtures {
		eachProfile(t, f.name, f.sysroot, func(s *series.Snapshot, p *profile.Profile) {
			require.Zero(t, p.DurationNanos, "a heap profile has no duration")
			require.Equal(t, "space", p.PeriodType.Type)
			require.Equal(t, s.Period, p.Period)
			require.Positive(t, p.TimeNanos)
			for i, l := range p.Location {
				require.Equal(t, uint64(i+1), l.ID, "IDs are sequential from 1")
			}
			for _, sample := range p.Sample {
				require.Empty(t, sample.Label)
				require.Empty(t, sample.NumLabel, "a label would split sites")
			}
			if s.Rows > 10 {
				require.NotEmpty(t, p.Mapping)
				main := filepath.Base(p.Mapping[0].File)
				require.NotContains(t, main, ".so", "the first mapping is the main program")
			}
		})
	}
}

func TestFlagsOfMappings(t *testing.T) {
	eachProfile(t, "python", "python/sysroot", func(_ *series.Snapshot, p *profile.Profile) {
		named := map[*profile.Mapping]bool{}
		for _, l := range p.Location {
			if l.Mapping != nil && !strings.Contains(l.Line[0].Function.Name, "+0x") {
				named[l.Mapping] = true
			}
		}
		for _, m := range p.Mapping {
			require.Equal(t, named[m], m.HasFunctions, m.File)
			require.False(t, m.HasLineNumbers, "the extracted symbol files have no lines: %s", m.File)
		}
	})
}

// TestUnnamedLocationsHaveFunctions checks that every location has a function. If the symbol is
// unknown, the function's name is MODULE+OFFSET.
func TestUnnamedLocationsHaveFunctions(t *testing.T) {
	eachProfile(t, "python", "python/sysroot", func(s *series.Snapshot, p *profile.Profile) {
		unnamed := 0
		for _, l := range p.Location {
			require.NotEmpty(t, l.Line)
			if strings.HasPrefix(l.Line[0].Function.Name, "libffi.so.8.1.2+0x") {
				unnamed++
			}
		}
		require.Positive(t, unnamed)
	})
}

func TestRowsOfOneStackAreOneSample(t *testing.T) {
	text := "heap profile: 3: 30 [3: 30] @ heapprofile\n" +
		" 1: 10 [1: 10] @ 0x10 0x20\n 2: 20 [2: 20] @ 0x10 0x20\n\nMAPPED_LIBRARIES:\n"
	path := filepath.Join(t.TempDir(), "p.0001.heap")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s, err := series.Open([]string{path}, series.Options{})
	require.NoError(t, err)
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{})
	require.NoError(t, err)
	c, err := convert.New(s, symbols, convert.Options{})
	require.NoError(t, err)
	for snap, err := range s.All(0) {
		require.NoError(t, err)
		p := converted(t, c, snap)
		require.Len(t, p.Sample, 1)
		require.Equal(t, []int64{3, 30, 3, 30}, p.Sample[0].Value)
	}
}

func TestSamplesRejectsWrongSum(t *testing.T) {
	s, c := open(t, "leaky", "leaky/sysroot")
	snap, err := s.Read(5)
	require.NoError(t, err)
	snap.Samples[0].InuseBytes++
	_, err = c.Samples(snap)
	require.ErrorContains(t, err, "the sum of the samples is")
}

func TestBaseName(t *testing.T) {
	for in, want := range map[string]string{
		"dir/leaky.0001.heap":        "leaky.0001",
		"dir/leaky.0001.heap.gz":     "leaky.0001",
		"jeprof.12.0.i0.heap.zst":    "jeprof.12.0.i0",
		"standard input":             "standard input",
		"x.growth":                   "x.growth",
		"dir/prog.7._main_-end.heap": "prog.7._main_-end",
	} {
		require.Equal(t, want, convert.BaseName(in))
	}
}

// TestQueueRemovesTemporaryFiles writes a profile to the path of a directory. A file cannot replace
// a directory.
func TestQueueRemovesTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.pb.gz")
	require.NoError(t, os.Mkdir(path, 0o700))
	s, c := open(t, "leaky", "leaky/sysroot")
	snap, err := s.Read(0)
	require.NoError(t, err)
	samples, err := c.Samples(snap)
	require.NoError(t, err)
	q := convert.NewQueue(func(string) error { t.Error("called for a file that was not written"); return nil })
	q.Put(path, c.Encode(samples))
	require.ErrorContains(t, q.Wait(), path+": is a directory")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "the temporary file is removed")
	require.True(t, entries[0].IsDir())
}
