package convert_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile"
)

// writeSeries converts a fixture and returns the paths of the files.
func writeSeries(t *testing.T, name, sysroot string) []string {
	t.Helper()
	dir := t.TempDir()
	s, c := open(t, name, sysroot)
	var paths []string
	require.NoError(t, s.Each(0, func(snap *heapfile.Snapshot) error {
		path := filepath.Join(dir, convert.BaseName(snap.Path)+".pb.gz")
		paths = append(paths, path)
		samples, err := c.Samples(snap)
		require.NoError(t, err)
		return convert.WriteFile(path, c.Encode(samples))
	}))
	return paths
}

// pprof runs the toolchain's pprof in an empty directory, without any binary or symbolizer in reach.
func pprof(t *testing.T, args ...string) string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	require.NoError(t, err)
	cmd := exec.Command(goTool, append([]string{"tool", "pprof"}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Environ(), "PPROF_TOOLS="+cmd.Dir, "PPROF_BINARY_PATH="+cmd.Dir, "PPROF_TMPDIR="+cmd.Dir)
	out, err := cmd.Output()
	require.NoError(t, err, "pprof %v", args)
	return string(out)
}

func TestPprofNamesTheLeakWithoutBinaries(t *testing.T) {
	for _, f := range []struct {
		fixture, sysroot string
		names            []string // that must appear
		lines            []string // that must appear where lines are shown
	}{
		{"leaky", "leaky/sysroot", []string{"remember", "plugin::Tracker::record"}, []string{"/src/leaky/leaky.cc:105", "/src/leaky/plugin.cc:50"}},
		{"python", "python/sysroot", []string{"ffi_call"}, nil},
		{"node", "node/sysroot", []string{"leakBuffers"}, nil},
	} {
		t.Run(f.fixture, func(t *testing.T) {
			paths := writeSeries(t, f.fixture, f.sysroot)
			last, early := paths[len(paths)-1], paths[1]
			for _, args := range [][]string{
				{"-top", "-lines", "-nodecount=1000"},
				{"-traces", "-lines"},
				{"-top", "-nodecount=1000", "-diff_base", early},
			} {
				out := pprof(t, append(args, last)...)
				for _, n := range f.names {
					require.Contains(t, out, n, "pprof %v", args)
				}
				if args[1] == "-lines" {
					for _, l := range f.lines {
						require.Contains(t, out, l, "pprof %v", args)
					}
				}
			}
			for _, n := range f.names {
				require.Contains(t, pprof(t, "-peek", n, last), n)
			}
		})
	}
}
