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

// TestGoldens compares the text form (profile.Profile.String) of profiles of every dialect with
// golden files, which cover all fields. Each profile passes through this package's encoder and
// pprof's parser, and then through pprof's encoder and parser. The second pass must not change it.
func TestGoldens(t *testing.T) {
	const samples = 12 // keeps the files short
	for _, f := range fixtures {
		s, c := openWith(t, f.name, f.sysroot, convert.Options{Tool: "heaplapse test", MaxSamples: samples})
		for _, index := range []int{0, len(s.Heads) / 2, len(s.Heads) - 1} {
			snap, err := s.Read(index)
			require.NoError(t, err)
			p := converted(t, c, snap)
			require.Equal(t, p.String(), rewritten(t, p).String(), "encoding again changes nothing")
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
	require.NoError(t, err, "to create it: go test ./convert -update")
	require.Equal(t, string(want), got, "to update %s: go test ./convert -update", path)
}
