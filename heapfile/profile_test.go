package heapfile_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
)

// goProfile returns a profile of this test, as Go writes it.
func goProfile(t testing.TB, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, pprof.Lookup(name).WriteTo(&b, 0))
	return b.Bytes()
}

// kept is memory that the profiles of this test count.
var kept [][]byte

func keep(size int) {
	for range 50 {
		kept = append(kept, make([]byte, size))
	}
}

// heapTypes are the sample types of a heap profile of Go.
var heapTypes = []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}

// build returns a profile with the sample types and one function per location, each of which calls the
// one before.
func build(types []string, stack ...string) *profile.Profile {
	p := &profile.Profile{Mapping: []*profile.Mapping{{ID: 1, Start: 0x1000, Limit: 0x2000, File: "/bin/server", BuildID: "abc"}}}
	for _, name := range types {
		unit := "count"
		if strings.HasSuffix(name, "space") {
			unit = "bytes"
		}
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	s := &profile.Sample{}
	for range types {
		s.Value = append(s.Value, 5)
	}
	for i, name := range stack {
		f := &profile.Function{ID: uint64(i + 1), Name: name, Filename: "/src/" + name + ".go"}
		l := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f, Line: 7}}}
		p.Function, p.Location, s.Location = append(p.Function, f), append(p.Location, l), append(s.Location, l)
	}
	p.Sample = []*profile.Sample{s}
	return p
}

func encoded(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&b))
	return b.Bytes()
}

func readProfile(t testing.TB, p *profile.Profile) *heapfile.Snapshot {
	t.Helper()
	return read(t, string(encoded(t, p)))
}

// named returns the rows of a profile with the functions and lines of their stacks, sorted.
func named(s *heapfile.Snapshot) []string {
	symbols := map[heapfile.Addr]heapfile.Symbol{}
	for _, sym := range s.Symbols {
		symbols[sym.Addr] = sym
	}
	out := []string{}
	for _, r := range s.Samples {
		c := r.Counts
		line := fmt.Sprintf("%d %d %d %d", c.AllocObjects, c.AllocBytes, c.InuseObjects, c.InuseBytes)
		for _, a := range s.Stacks.Addrs(r.Stack) {
			for _, f := range symbols[a].Frames {
				line += fmt.Sprintf(" %s %s:%d", f.Function, f.File, f.Line)
			}
			line += ","
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// oracle returns the rows of a heap profile as google/pprof reads them.
func oracle(t testing.TB, data []byte) []string {
	t.Helper()
	p, err := profile.ParseData(data)
	require.NoError(t, err)
	out := []string{}
	for _, s := range p.Sample {
		if slices.Max(s.Value) == 0 {
			continue
		}
		line := strings.Trim(fmt.Sprint(s.Value), "[]")
		for _, l := range s.Location {
			for _, ln := range l.Line {
				line += fmt.Sprintf(" %s %s:%d", ln.Function.Name, ln.Function.Filename, ln.Line)
			}
			line += ","
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// TestGoHeapProfile: a profile of this process has the rows that google/pprof reads.
func TestGoHeapProfile(t *testing.T) {
	keep(100 << 10)
	runtime.GC() // a profile shows the heap at the end of a cycle
	data := goProfile(t, "heap")
	s := read(t, string(data))
	require.Equal(t, oracle(t, data), named(s))
	require.Contains(t, strings.Join(named(s), "\n"), "heapfile_test.keep")
	require.Equal(t, heapfile.FormatPprof, s.Format)
	require.Equal(t, "go", s.Producer)
	require.True(t, s.HasAlloc)
	require.True(t, s.IsEstimate())
	require.Equal(t, int64(512<<10), s.Period)
	require.WithinDuration(t, time.Now(), s.Recorded, time.Hour)
	require.Empty(t, s.Warnings)
}

// TestGoroutineProfile: its objects are goroutines, and its bytes the least size of their stacks.
func TestGoroutineProfile(t *testing.T) {
	s := read(t, string(goProfile(t, "goroutine")))
	require.Equal(t, heapfile.FormatGoroutines, s.Format)
	require.False(t, s.HasAlloc)
	require.Positive(t, s.Completeness.Estimate.InuseObjects)
	require.Equal(t, 2048*s.Completeness.Estimate.InuseObjects, s.Completeness.Estimate.InuseBytes)
	require.Empty(t, s.Warnings)
}

// TestEmptyStacksOfProfiles: Go lists goroutines that have not begun without a stack. In other profiles
// that is a fault, but not one of tcmalloc's unwinder.
func TestEmptyStacksOfProfiles(t *testing.T) {
	require.Empty(t, readProfile(t, build([]string{"goroutine"})).Warnings)
	require.Contains(t, heaptest.Find(t, readProfile(t, build(heapTypes)).Warnings, heapfile.WarnEmptyStack).Msg,
		"100 % of the bytes have no stack at all")
	for _, w := range readProfile(t, build(heapTypes)).Warnings {
		require.NotContains(t, w.Msg, "TCMALLOC")
	}
}

// TestNamesAreTheIdentity: functions and lines are the same location in all profiles, whatever their
// numbers and addresses are.
func TestNamesAreTheIdentity(t *testing.T) {
	addrs := func(p *profile.Profile) []heapfile.Addr {
		s := readProfile(t, p)
		return s.Stacks.Addrs(s.Samples[0].Stack)
	}
	first := addrs(build(heapTypes, "a", "b"))
	moved := build(heapTypes, "b", "a")
	moved.Location[0].Address, moved.Location[1].ID = 0x1234, 99
	require.Equal(t, []heapfile.Addr{first[1], first[0]}, addrs(moved))
	other := build(heapTypes, "a", "b")
	other.Location[0].Line[0].Line = 8
	changed := addrs(other)
	require.NotEqual(t, first[0], changed[0])
	require.Equal(t, first[1], changed[1])
	for _, a := range first {
		require.NotZero(t, a>>63)
	}
}

// TestUnnamedLocations: addresses are return addresses. Files whose addresses are ELF virtual
// addresses get ranges of their own.
func TestUnnamedLocations(t *testing.T) {
	p := build(heapTypes, "a", "b")
	for i, l := range p.Location {
		l.Line, l.Mapping, l.Address = nil, p.Mapping[0], 0x1010+uint64(i)
	}
	s := readProfile(t, p)
	require.Equal(t, []heapfile.Addr{0x1011, 0x1012}, s.Stacks.Addrs(0))
	require.Empty(t, s.Symbols)

	p.SampleType, p.Sample[0].Value = p.SampleType[3:], []int64{5}
	p.Mapping[0].Start, p.Mapping[0].Limit = 0, math.MaxUint64
	p.Mapping = append(p.Mapping, &profile.Mapping{ID: 2, Limit: math.MaxUint64, File: "/lib/libc.so.6", BuildID: "def"})
	p.Location[1].Mapping = p.Mapping[1]
	s = readProfile(t, p)
	require.Equal(t, "jemalloc_pprof", s.Producer)
	require.Equal(t, int64(512<<10), s.Period)
	require.True(t, s.PeriodAssumed && s.NoObjects && !s.HasAlloc)
	require.Empty(t, s.Warnings)
	for i, a := range s.Stacks.Addrs(0) {
		m := s.Mappings[i]
		require.True(t, m.Virtual)
		require.True(t, m.Contains(a-1))
		require.Equal(t, heapfile.Addr(0x1011+i), a-m.Start)
		require.False(t, s.Mappings[1-i].Contains(a-1))
	}
}

// TestRefusedProfiles: profiles of other kinds are named.
func TestRefusedProfiles(t *testing.T) {
	with := func(change func(p *profile.Profile), types ...string) *profile.Profile {
		p := build(types, "a")
		change(p)
		return p
	}
	nothing := func(*profile.Profile) {}
	for want, p := range map[string]*profile.Profile{
		"a CPU profile, not of the heap":                                      with(nothing, "samples", "cpu"),
		"a contention profile (mutex or block), not of the heap":              with(nothing, "contentions", "delay"),
		"a profile of the creation of threads, not of the heap":               with(nothing, "threadcreate"),
		"a profile of lifetimes, not of the heap":                             with(nothing, "allocated_objects", "allocated_space"),
		"a profile of allocations without what is in use, not of the heap":    with(nothing, "alloc_objects", "alloc_space"),
		`a pprof profile of "wall"`:                                           with(nothing, "wall"),
		`a heap profile in "kilobytes" instead of bytes`:                      with(func(p *profile.Profile) { p.SampleType[3].Unit = "kilobytes" }, heapTypes...),
		"a profile of 30s, not of one moment; request it without seconds=":    with(func(p *profile.Profile) { p.DurationNanos = 30e9 }, heapTypes...),
		"the difference of two profiles: it has negative values; compare the": with(func(p *profile.Profile) { p.Sample[0].Value[3] = -1 }, heapTypes...),
		"several snapshots in one profile; convert each snapshot to a file of its own,": with(func(p *profile.Profile) {
			p.Comments = []string{"by: heaplapse 1"}
			p.Sample[0].Label = map[string][]string{"snapshot": {"x"}}
		}, heapTypes...),
	} {
		s, err := heapfile.Read(bytes.NewReader(encoded(t, p)), textName)
		require.Nil(t, s)
		var format *heapfile.FormatError
		require.ErrorAs(t, err, &format, want)
		require.ErrorContains(t, err, textName+": not a heap snapshot: "+want)
		require.NotEmpty(t, format.Hint)
	}
}

// requireProfileLaw checks read(write(x)) = x for a profile x that was read.
func requireProfileLaw(t testing.TB, x *heapfile.Snapshot) {
	t.Helper()
	require.LessOrEqual(t, x.Completeness.AtDepthLimit, max(x.Total.InuseBytes, x.Completeness.Rows.InuseBytes))
	var rows heapfile.Counts
	for _, r := range x.Samples {
		require.Less(t, int(r.Stack), x.Stacks.Len())
		rows = rows.Add(r.Counts)
	}
	require.Equal(t, rows, x.Completeness.Rows)
	require.Equal(t, rows, x.Completeness.Estimate)
	y := readProfile(t, asProfile(x))
	require.Equal(t, show(x), show(y))
	require.Equal(t, x.Completeness, y.Completeness)
	require.Equal(t, x.Mappings, y.Mappings)
	require.Equal(t, x.HasAlloc, y.HasAlloc)
	require.Equal(t, x.NoObjects, y.NoObjects)
}

// asProfile writes a snapshot with the google/pprof library.
func asProfile(s *heapfile.Snapshot) *profile.Profile {
	types := []string{"inuse_space"}
	switch {
	case s.Format == heapfile.FormatGoroutines:
		types = []string{"goroutine"}
	case s.HasAlloc && s.NoObjects:
		types = []string{"inuse_space", "alloc_space", "alloc_objects"}
	case s.HasAlloc:
		types = []string{"inuse_space", "alloc_space", "alloc_objects", "inuse_objects"}
	case !s.NoObjects:
		types = []string{"inuse_space", "inuse_objects"}
	}
	p := build(types)
	p.Sample, p.Mapping, p.Period = nil, nil, s.Period
	for i, m := range s.Mappings {
		out := &profile.Mapping{ID: uint64(i + 1), Start: uint64(m.Start), Limit: uint64(m.Limit), Offset: uint64(m.Offset), File: m.Path, BuildID: m.BuildID}
		if m.Virtual {
			out.Start, out.Limit = 0, math.MaxUint64
		}
		p.Mapping = append(p.Mapping, out)
	}
	symbols := map[heapfile.Addr]heapfile.Symbol{}
	for _, sym := range s.Symbols {
		symbols[sym.Addr] = sym
	}
	locations := map[heapfile.Addr]*profile.Location{}
	for _, r := range s.Samples {
		out := &profile.Sample{}
		for _, name := range types {
			out.Value = append(out.Value, map[string]int64{
				"inuse_space": r.InuseBytes, "inuse_objects": r.InuseObjects, "goroutine": r.InuseObjects,
				"alloc_space": r.AllocBytes, "alloc_objects": r.AllocObjects,
			}[name])
		}
		for _, a := range s.Stacks.Addrs(r.Stack) {
			if locations[a] == nil {
				locations[a] = asLocation(p, a, symbols[a], s.Mappings)
			}
			out.Location = append(out.Location, locations[a])
		}
		p.Sample = append(p.Sample, out)
	}
	return p
}

func asLocation(p *profile.Profile, a heapfile.Addr, sym heapfile.Symbol, maps []heapfile.Mapping) *profile.Location {
	l := &profile.Location{ID: uint64(len(p.Location) + 1)}
	p.Location = append(p.Location, l)
	if sym.MadeUp {
		if sym.Path+sym.BuildID != "" { // a mapping without a range is none of the snapshot
			l.Mapping = &profile.Mapping{ID: uint64(len(p.Mapping) + 1), File: sym.Path, BuildID: sym.BuildID}
			p.Mapping = append(p.Mapping, l.Mapping)
		}
		for _, f := range sym.Frames {
			fn := &profile.Function{ID: uint64(len(p.Function) + 1), Name: f.Function, SystemName: f.Linkage, Filename: f.File, StartLine: int64(f.StartLine)}
			p.Function = append(p.Function, fn)
			l.Line = append(l.Line, profile.Line{Function: fn, Line: int64(f.Line), Column: int64(f.Column)})
		}
		return l
	}
	l.Address = uint64(a)
	if a != 0 && a != math.MaxUint64 {
		l.Address--
	}
	for i, m := range maps {
		if m.Virtual && m.Contains(a-1) {
			l.Address, l.Mapping = uint64(a-m.Start)-1, p.Mapping[i]
		}
	}
	return l
}

// FuzzProfile: what is accepted has the totals of google/pprof's parser, and can be written and read
// again.
func FuzzProfile(f *testing.F) {
	f.Add(goProfile(f, "heap"))
	f.Add(goProfile(f, "goroutine"))
	f.Add(encoded(f, build(heapTypes, "a", "b")))
	f.Add(encoded(f, build([]string{"objects", "space"}, "c")))
	f.Add(encoded(f, build([]string{"inuse_space"})))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := heapfile.Read(bytes.NewReader(data), textName)
		if err != nil {
			require.Nil(t, s)
			require.True(t, strings.HasPrefix(err.Error(), textName+":"), err.Error())
			return
		}
		if s.Format.Profile() {
			requireProfileLaw(t, s)
		}
	})
}

// TestSampleWithoutLocations: there is no unwinder that could be replaced.
func TestSampleWithoutLocations(t *testing.T) {
	s := readProfile(t, build(heapTypes))
	require.Len(t, s.Warnings, 1)
	require.Equal(t, heapfile.WarnEmptyStack, s.Warnings[0].Kind)
	require.Contains(t, s.Warnings[0].Error(), "100 % of the bytes have no stack at all")
	require.NotContains(t, s.Warnings[0].Error(), "TCMALLOC")
}

// largeProfile returns a profile of 10^5 samples of 20 locations each.
func largeProfile(t testing.TB) []byte {
	p := build(heapTypes)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		p.Function = append(p.Function, &profile.Function{
			ID: uint64(i + 1), Name: fmt.Sprintf("example.com/service/package%d.(*Type).method%d", i%100, i), Filename: fmt.Sprintf("/src/service/file%d.go", i%500),
		})
	}
	for i := range 20000 {
		p.Location = append(p.Location, &profile.Location{
			ID: uint64(i + 1), Mapping: p.Mapping[0], Address: uint64(0x400000 + 16*i), Line: []profile.Line{{Function: p.Function[i%5000], Line: int64(i % 700)}},
		})
	}
	p.Sample = nil
	for range 100_000 {
		s := &profile.Sample{Value: []int64{random.Int64N(1000), random.Int64N(1 << 20), random.Int64N(100), random.Int64N(1 << 18)}}
		for range 20 {
			s.Location = append(s.Location, p.Location[random.IntN(len(p.Location))])
		}
		s.NumLabel = map[string][]int64{"bytes": {random.Int64N(4096)}}
		p.Sample = append(p.Sample, s)
	}
	return encoded(t, p)
}

// BenchmarkProfile reads a profile of 10^5 samples: once, as one of a series, and with google/pprof.
func BenchmarkProfile(b *testing.B) {
	data := largeProfile(b)
	b.Run("once", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			_, err := heapfile.Read(bytes.NewReader(data), textName)
			require.NoError(b, err)
		}
	})
	b.Run("series", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		d, files := heapfile.Decoder{Merge: true}, fstest.MapFS{"p": {Data: data}}
		for b.Loop() {
			s, err := d.ReadFile(files, "p", textName)
			require.NoError(b, err)
			d.Reuse(s.Samples)
		}
	})
	b.Run("google-pprof", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			_, err := profile.ParseUncompressed(data)
			require.NoError(b, err)
		}
	})
}
