package heapfile_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// deep returns a profile with one stack of n functions. Every second one is inlined into its caller.
func deep(types []string, n int, inlined bool) *profile.Profile {
	p := build(types, make([]string, n)...)
	for i, f := range p.Function {
		f.Name, f.Filename = fmt.Sprint("f", i), fmt.Sprintf("f%d.go", i)
	}
	p.Mapping[0].BuildID = ""
	if !inlined {
		return p
	}
	var joined []*profile.Location
	for i, l := range p.Location {
		if i%2 == 0 {
			joined = append(joined, l)
			continue
		}
		last := joined[len(joined)-1]
		last.Line = append(last.Line, l.Line...)
	}
	p.Location, p.Sample[0].Location = joined, joined
	return p
}

func atLimit(t *testing.T, p *profile.Profile) (limit int, bytes int64) {
	t.Helper()
	s := readProfile(t, p)
	return s.DepthLimit, s.Completeness.AtDepthLimit
}

// other is a sample of a short stack.
func other(p *profile.Profile, bytes int64) *profile.Profile {
	s := &profile.Sample{Location: p.Location[:1]}
	for range p.SampleType {
		s.Value = append(s.Value, bytes)
	}
	p.Sample = append(p.Sample, s)
	return p
}

func TestGoKeeps128Frames(t *testing.T) {
	for _, c := range []struct {
		frames, limit int
		truncated     bool
	}{
		{31, 128, false},
		{36, 32, true}, // four calls were inlined into the outermost frame
		{37, 128, false},
		{122, 128, false},
		{123, 128, true}, // five functions of the runtime are not in the profile
		{128, 128, true},
		{131, 128, true},
	} {
		for _, inlined := range []bool{false, true} {
			limit, bytes := atLimit(t, other(deep(heapTypes, c.frames, inlined), 7))
			require.Equal(t, c.limit, limit, "%d frames", c.frames)
			require.Equal(t, c.truncated, bytes == 5, "%d frames: %d bytes", c.frames, bytes)
		}
	}
}

func TestGoBefore123Keeps32Frames(t *testing.T) {
	limit, bytes := atLimit(t, other(deep(heapTypes, 32, true), 7))
	require.Equal(t, 32, limit)
	require.EqualValues(t, 5, bytes, "only the stack of 32 frames")

	newer := deep(heapTypes, 32, true)
	newer.Mapping[0].BuildID = "abc" // since Go 1.24
	limit, bytes = atLimit(t, newer)
	require.Equal(t, 128, limit)
	require.Zero(t, bytes)
}

func TestGoroutinesHaveTheLimitOfGo(t *testing.T) {
	limit, bytes := atLimit(t, deep([]string{"goroutine"}, 128, false))
	require.Equal(t, 128, limit)
	require.EqualValues(t, 5*2048, bytes)
}

func TestOtherProducersHaveLimitsOfTheirOwn(t *testing.T) {
	node := func(n int) *profile.Profile {
		p := deep([]string{"objects", "space"}, n, false)
		p.Mapping = nil
		for _, f := range p.Function {
			f.Filename = "app.js"
		}
		return p
	}
	native := func(n int, types ...string) *profile.Profile {
		p := deep(types, n, false)
		for i, l := range p.Location {
			l.Line, l.Address, l.Mapping = nil, uint64(0x1000+i), p.Mapping[0]
		}
		p.Function = nil
		return p
	}
	tcmalloc := func(n int) *profile.Profile {
		p := native(n, "objects", "space")
		p.DropFrames = "TCMalloc.*"
		return p
	}
	jemalloc := func(n int) *profile.Profile {
		p := native(n, "inuse_space")
		p.Mapping[0].Start, p.Mapping[0].Limit = 0, 1<<64-1
		return p
	}
	tool := func(n int) *profile.Profile {
		p := native(n, "inuse_space")
		p.Comments = []string{"by: massif", "depth limit: 30"}
		return p
	}
	unknown := func(n int) *profile.Profile { return native(n, "inuse_objects", "inuse_space") }
	for _, c := range []struct {
		name  string
		build func(int) *profile.Profile
		limit int
	}{
		{"datadog", node, 64},
		{"tcmalloc", tcmalloc, 64},
		{"jemalloc_pprof", jemalloc, 128},
		{"massif", tool, 30},
		{"unknown", unknown, 0},
	} {
		s := readProfile(t, c.build(max(c.limit, 1)))
		require.Equal(t, c.name, s.Producer)
		require.Equal(t, c.limit, s.DepthLimit, c.name)
		require.Equal(t, c.limit > 0, s.Completeness.AtDepthLimit == 5, c.name)
		require.Zero(t, readProfile(t, c.build(max(c.limit-1, 1))).Completeness.AtDepthLimit, c.name)
	}
}

// deepest is the memory that recurse allocates.
var deepest []byte

//go:noinline
func recurse(n int) {
	if n > 0 {
		recurse(n - 1)
		return
	}
	deepest = make([]byte, 1<<20)
}

func TestDeepStacksOfThisProgramAreAtTheLimit(t *testing.T) {
	before := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	defer func() {
		runtime.MemProfileRate, deepest = before, nil
		runtime.GC()
		runtime.GC()
	}()
	at := func(calls int) int64 {
		recurse(calls)
		runtime.GC()
		runtime.GC()
		s := read(t, string(goProfile(t, "heap")))
		require.Equal(t, 128, s.DepthLimit)
		return s.Completeness.AtDepthLimit
	}
	complete := at(100)
	require.GreaterOrEqual(t, at(400), complete+1<<20, "400 calls are truncated, 100 are not")
}
