package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// service is a recording of a program that profiles itself, in testdata/services.
type service struct {
	name, process string
	// leaks are the functions that leak at least 1 MiB, by what the program does
	// (scripts/fixtures/services.sh).
	leaks []string
	// missed is the greatest number of them that growth may miss.
	missed int
}

var (
	goLeaks   = []string{"main.(*sessions).remember", "main.readOrder", "main.(*audit).read", "main.(*reservations).hold", "main.(*feed).subscribe"}
	nodeLeaks = []string{"openSession", "listen", "remind", "(external)"}
	rustLeaks = []string{"shop::Sessions::open", "shop::Journal::note", "shop::Graph::link", "shop::Feed::subscribe::{{closure}}"}
)

var services = []service{
	{name: "go-gc", process: "heap", leaks: goLeaks},
	{name: "go-gc", process: "goroutine", leaks: []string{"main.(*feed).deliver"}},
	// A profile without a garbage collection before it shows what the last one left.
	// What runtime.malg allocates are the goroutines that main.(*feed).deliver leaks.
	{name: "go-plain", leaks: append(slices.Clone(goLeaks), "runtime.malg"), missed: 2},
	{name: "go-exact", leaks: append(slices.Clone(goLeaks), "runtime.malg")},
	{name: "go-quiet", process: "heap"},
	{name: "go-quiet", process: "goroutine"},
	{name: "node", leaks: nodeLeaks},
	{name: "node-quiet"},
	{name: "rust-pprof", leaks: rustLeaks},
	{name: "rust-heap", leaks: rustLeaks},
	{name: "rust-quiet-pprof"},
	{name: "rust-quiet-heap"},
}

// growth runs growth on the recording, or on other files with its profiles.
func (s *service) growth(t *testing.T, path string) *found {
	t.Helper()
	flags := []string{"--sysroot", testutil.Data(t, "services", "sysroot")}
	if s.process != "" {
		flags = append(flags, "--process", s.process)
	}
	return allSites(t, path, flags...)
}

// allSites runs growth on some files, and returns the stable sites as well.
func allSites(t *testing.T, path string, flags ...string) *found {
	t.Helper()
	out, stderr, code := invoke(t, append([]string{"growth", "-q", "--all", "--format", "json", path}, flags...)...)
	require.Equal(t, exitOK, code, stderr)
	var got found
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	return &got
}

// TestServices: the leaks of services that profile themselves are found, and nothing else is called a
// leak.
func TestServices(t *testing.T) {
	testutil.NoRace(t)
	for _, s := range services {
		t.Run(s.name+"/"+s.process, func(t *testing.T) {
			got := s.growth(t, testutil.Data(t, "services", s.name))
			var called []string
			for i := range got.Sites {
				if got.Sites[i].leaks() {
					called = append(called, got.Sites[i].Blame.Function)
				}
			}
			assert.Subset(t, s.leaks, called, "false alarms: %s", describeSites(got.Sites))
			assert.GreaterOrEqual(t, len(called), len(s.leaks)-s.missed, describeSites(got.Sites))
			want := "no-leak"
			if len(s.leaks) > 0 {
				want = "leak"
			}
			assert.Equal(t, want, got.Verdict)
		})
	}
}

// TestBuiltinsOfV8: what functions such as Map's set allocate is attributed to their callers.
func TestBuiltinsOfV8(t *testing.T) {
	s := service{name: "node"}
	for _, site := range s.growth(t, testutil.Data(t, "services", s.name)).Sites {
		require.NotContains(t, []string{"set", "push", "Promise", "Uint8Array"}, site.Blame.Function)
	}
}

// TestServicesConverted: the profiles that convert writes of them have the same sites with the same
// labels.
func TestServicesConverted(t *testing.T) {
	testutil.NoRace(t)
	for _, s := range services {
		t.Run(s.name+"/"+s.process, func(t *testing.T) {
			path, out := testutil.Data(t, "services", s.name), filepath.Join(t.TempDir(), "out")
			args := []string{"convert", "-q", path, "-o", out, "--sysroot", testutil.Data(t, "services", "sysroot")}
			if s.process != "" {
				args = append(args, "--process", s.process)
			}
			_, stderr, code := invoke(t, args...)
			require.Equal(t, exitOK, code, stderr)
			require.Equal(t, labels(s.growth(t, path)), labels(s.growth(t, out)))
		})
	}
}

// TestRecordingsConverted: so have those of the snapshots of allocators and of the recordings of other tools,
// for all sites that change. A location without a name has another label without its file.
func TestRecordingsConverted(t *testing.T) {
	testutil.NoRace(t)
	for path, sysroot := range map[string]string{
		"leaky":                         "leaky/sysroot", // tcmalloc, every allocation
		"leaky-jemalloc":                "leaky/sysroot", // jemalloc, samples
		"node":                          "node/sysroot",  // tcmalloc, with a perf map
		"traces/heaptrack.shop.zst":     "",
		"traces/heaptrack.shop.raw.zst": "traces/sysroot",
		"traces/massif.out.shop.gz":     "",
	} {
		t.Run(path, func(t *testing.T) {
			path, out := testutil.Data(t, filepath.FromSlash(path)), filepath.Join(t.TempDir(), "out")
			var flags []string
			if sysroot != "" {
				flags = []string{"--sysroot", testutil.Data(t, filepath.FromSlash(sysroot))}
			}
			_, stderr, code := invoke(t, append([]string{"convert", "-q", path, "-o", out}, flags...)...)
			require.Equal(t, exitOK, code, stderr)
			want := changing(allSites(t, path, flags...))
			require.NotEmpty(t, want)
			require.Equal(t, want, changing(allSites(t, out)))
		})
	}
}

// changing returns the labels of the sites that are not stable.
func changing(f *found) map[string][]string {
	f.Sites = slices.DeleteFunc(f.Sites, func(s foundSite) bool { return s.Label == "stable" })
	return labels(f)
}

// labels returns the label of each site, by its function.
func labels(f *found) map[string][]string {
	out := map[string][]string{}
	for _, s := range f.Sites {
		out[s.Blame.Function] = append(out[s.Blame.Function], s.Label)
	}
	return out
}
