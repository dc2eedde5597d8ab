package convert_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// writeSeries converts a fixture and returns the paths of the profiles.
func writeSeries(t *testing.T, name, sysroot string) []string {
	t.Helper()
	dir := t.TempDir()
	s, c := open(t, name, sysroot)
	var paths []string
	q := convert.NewQueue(func(path string) error {
		paths = append(paths, path)
		return nil
	})
	for snap, err := range s.All(0) {
		require.NoError(t, err)
		samples, err := c.Samples(snap)
		require.NoError(t, err)
		q.Put(filepath.Join(dir, convert.BaseName(snap.Path)+".pb.gz"), c.Encode(samples))
	}
	require.NoError(t, q.Wait())
	require.Len(t, paths, len(s.Heads))
	return paths
}

// pprofs returns the paths of the toolchain's pprof and of google/pprof at the version in go.mod.
func pprofs(t *testing.T) map[string]string {
	t.Helper()
	paths := map[string]string{}
	for name, tool := range map[string]string{"toolchain": "pprof", "google": "github.com/google/pprof"} {
		out, err := exec.Command("go", "tool", "-n", tool).Output()
		require.NoError(t, err)
		paths[name] = strings.TrimSpace(string(out))
	}
	return paths
}

// pprof runs a tool in an empty directory, with no access to binaries or symbolizers.
func pprof(t *testing.T, tool string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Environ(), "PPROF_TOOLS="+cmd.Dir, "PPROF_BINARY_PATH="+cmd.Dir, "PPROF_TMPDIR="+cmd.Dir)
	out, err := cmd.Output()
	require.NoError(t, err, "pprof %v", args)
	return string(out)
}

func TestPprofNamesTheLeakWithoutBinaries(t *testing.T) {
	testutil.NoRace(t)
	testutil.Need(t, "dot")
	tools := pprofs(t)
	for _, f := range []struct {
		fixture, sysroot string
		leak             string
		names            []string // functions that must appear
		lines            []string // source lines that must appear under -lines
	}{
		{
			"leaky", "leaky/sysroot", "remember",
			[]string{"remember", "plugin::Tracker::record"}, []string{"leaky.cc:105", "plugin.cc:50"},
		},
		{"python", "python/sysroot", "ffi_call", []string{"ffi_call"}, nil},
		{"node", "node/sysroot", "leakBuffers", []string{"leakBuffers"}, nil},
	} {
		paths := writeSeries(t, f.fixture, f.sysroot)
		last, early := paths[len(paths)-1], paths[1]
		for name, tool := range tools {
			t.Run(f.fixture+"/"+name, func(t *testing.T) {
				for _, args := range [][]string{
					{"-top", "-nodecount=1000"},
					{"-top", "-lines", "-nodecount=1000"},
					{"-traces", "-lines"},
					{"-tree", "-nodecount=1000"},
					{"-raw"},
					{"-top", "-nodecount=1000", "-diff_base", early},
					{"-top", "-nodecount=1000", "-base", early},
				} {
					out := pprof(t, tool, append(args, last)...)
					for _, n := range f.names {
						require.Contains(t, out, n, "pprof %v", args)
					}
					if slices.Contains(args, "-lines") {
						for _, l := range f.lines {
							require.Contains(t, out, l, "pprof %v", args)
						}
					}
				}
				require.Contains(t, pprof(t, tool, "-peek", f.leak, last), f.leak)
				require.Contains(t, pprof(t, tool, "-list", f.leak, last), f.leak)
				require.Contains(t, pprof(t, tool, "-svg", "-output=/dev/stdout", last), "</svg>")
			})
		}
	}
}

// TestAnyTwoSnapshotsCanBeSubtracted is the test of google/pprof#432. It subtracts the first,
// second, middle and last snapshot from each other, and all pairs in a full run.
func TestAnyTwoSnapshotsCanBeSubtracted(t *testing.T) {
	testutil.NoRace(t)
	tool := pprofs(t)["google"]
	for _, f := range fixtures {
		paths := writeSeries(t, f.name, f.sysroot)
		if n := len(paths); !testutil.Full() && n > 4 {
			paths = []string{paths[0], paths[1], paths[n/2], paths[n-1]}
		}
		for _, base := range paths {
			for _, current := range paths {
				require.Contains(t, pprof(t, tool, "-top", "-diff_base", base, current), "Type: inuse_space")
			}
		}
	}
}

func TestPprofSelectsASnapshotOfAMergedProfile(t *testing.T) {
	testutil.NoRace(t)
	tool := pprofs(t)["toolchain"]
	s, c := open(t, "leaky", "leaky/sysroot")
	m := c.NewMerge()
	for _, samples := range samplesOf(t, s, c) {
		m.Add(samples)
	}
	path := filepath.Join(t.TempDir(), "merged.pb.gz")
	var profile bytes.Buffer
	_, err := m.Encode().WriteTo(&profile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, profile.Bytes(), 0o600))
	one := pprof(t, tool, "-top", "-unit=b", "-nodefraction=0", "-nodecount=100000", "-tagfocus=snapshot=leaky.0024", path)
	require.Contains(t, one, "22610376B", "the size of snapshot 24")
	rooted := pprof(t, tool, "-traces", "-tagroot=snapshot", path)
	require.Contains(t, rooted, "0024")
}
