package heapfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
)

const (
	refusedCPU        = "not a heap snapshot: a gperftools CPU profile; open it with `pprof`"
	refusedCPUPprof   = "not a heap snapshot: a CPU profile, not of the heap; read a profile of the heap: /debug/pprof/heap of a Go service"
	refusedContention = "not a heap snapshot: a contention profile; open it with `pprof`"
	refusedThreads    = "not a heap snapshot: a thread profile; open it with `pprof`"
)

// published are the profiles that google/pprof publishes in its module: of programs in Go, C++ and
// Java. The value is the end of the message that refuses one; "" means that it is a heap snapshot.
var published = map[string]string{
	"profile/testdata/cppbench.heap":       "",
	"profile/testdata/cppbench.growth":     "",
	"profile/testdata/gobench.heap":        "",
	"profile/testdata/java.heap":           "not a heap snapshot: a Java heap profile; open it with `pprof`",
	"profile/testdata/cppbench.cpu":        refusedCPU,
	"profile/testdata/go.crc32.cpu":        refusedCPU,
	"profile/testdata/gobench.cpu":         refusedCPU,
	"profile/testdata/java.cpu":            refusedCPU,
	"profile/testdata/cppbench.contention": refusedContention,
	"profile/testdata/java.contention":     refusedContention,
	"profile/testdata/cppbench.thread":     refusedThreads,
	"profile/testdata/cppbench.thread.all": refusedThreads,
	// Names of threads only.
	"profile/testdata/cppbench.thread.none": refusedThreads,
	"profile/testdata/go.godoc.thread": "not a heap snapshot: a Go profile of the creation of threads; open it with " +
		"`go tool pprof`",
	"internal/driver/testdata/cppbench.cpu":                 refusedCPU,
	"internal/driver/testdata/cppbench.cpu_no_samples_type": refusedCPUPprof,
	"internal/driver/testdata/cppbench.contention":          refusedContention,
	"internal/driver/testdata/cppbench.small.contention":    refusedContention,
	"internal/driver/testdata/go.crc32.cpu":                 refusedCPU,
	"internal/driver/testdata/go.nomappings.crash":          "", // a heap profile that made pprof crash
	"internal/report/testdata/sample.cpu":                   refusedCPUPprof,
}

// TestPublishedProfiles: each profile is a snapshot with the totals that google/pprof reads, or is refused
// by name.
func TestPublishedProfiles(t *testing.T) {
	dir := pprofDir(t)
	for name, refusal := range published {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, filepath.FromSlash(name))
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			s, err := heapfile.Read(strings.NewReader(string(data)), path)
			if refusal != "" {
				require.Nil(t, s)
				require.EqualError(t, err, path+": "+refusal)
				return
			}
			require.NoError(t, err)
			theirs, err := profile.ParseData(data)
			require.NoError(t, err)
			got := s.Completeness.Estimate
			if len(theirs.SampleType) == 2 { // see "four values" in TestIntendedDifferencesFromPprof
				got.AllocObjects, got.AllocBytes = 0, 0
			}
			require.Equal(t, totalsOf(theirs), got)
			require.Positive(t, got.InuseBytes)
		})
	}
}

// TestPublishedProfilesAreAll: a new version of the module may have more of them.
func TestPublishedProfilesAreAll(t *testing.T) {
	dir := pprofDir(t)
	for _, pattern := range []string{"profile/testdata/*", "internal/driver/testdata/[cg]*", "internal/report/testdata/*.cpu"} {
		paths, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			name, err := filepath.Rel(dir, path)
			require.NoError(t, err)
			if filepath.Ext(name) != ".string" { // pprof's expected output
				require.Contains(t, published, filepath.ToSlash(name))
			}
		}
	}
}

// totalsOf sums the values of a profile, by the names of its sample types.
func totalsOf(p *profile.Profile) (c heapfile.Counts) {
	for i, kind := range p.SampleType {
		for _, s := range p.Sample {
			switch v := s.Value[i]; kind.Type {
			case "objects", "inuse_objects":
				c.InuseObjects += v
			case "space", "inuse_space":
				c.InuseBytes += v
			case "alloc_objects":
				c.AllocObjects += v
			case "alloc_space":
				c.AllocBytes += v
			}
		}
	}
	return c
}
