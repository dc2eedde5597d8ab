package convert_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/convert"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// TestGoldens renders profiles of every dialect as google/pprof's text and compares them with kept files: what
// changes in any field shows as a line of a diff. Each profile goes through our encoder and pprof's parser, and then
// through pprof's encoder and parser once more, which must not change it.
func TestGoldens(t *testing.T) {
	const samples = 12 // the largest; the files stay short enough to be read
	for _, f := range fixtures {
		s, c := openWith(t, f.name, f.sysroot, convert.Options{Tool: "heaplapse test", MaxSamples: samples})
		for _, index := range []int{0, len(s.Heads) / 2, len(s.Heads) - 1} {
			snap, err := s.Read(index)
			require.NoError(t, err)
			p := converted(t, c, snap)
			require.Equal(t, p.String(), rewritten(t, p).String(), "encoding is a fixed point")
			name := convert.BaseName(snap.Path) + ".txt"
			compareGolden(t, filepath.Join("testdata", "golden", f.name, name), p.Compact().String())
		}
	}
}

func TestGoldenDelta(t *testing.T) {
	s, c := openWith(t, "leaky", "leaky/sysroot", convert.Options{Tool: "heaplapse test", MaxSamples: 12})
	all := samplesOf(t, s, c)
	p := parsed(t, c.Encode(all[12].Since(all[11])))
	compareGolden(t, filepath.Join("testdata", "golden", "leaky", "delta.0013.txt"), p.Compact().String())
}

func rewritten(t *testing.T, p *profile.Profile) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	out, err := profile.Parse(&b)
	require.NoError(t, err)
	return out
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "go test ./convert -update writes it")
	require.Equal(t, string(want), got, "go test ./convert -update rewrites %s", path)
}
