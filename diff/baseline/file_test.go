package baseline_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// run has every field, and the given number of sites.
func run(sites int) *baseline.Run {
	r := &baseline.Run{
		Meta: baseline.Meta{
			Recorded: time.Date(2026, 2, 3, 4, 5, 6, 7e6, time.UTC), Workload: "replay", Command: []string{"server", "--fast"}, BuildID: "ab12cd34ef567890",
			Program: "server", Format: "heap_v2", Period: 524288, Method: "record", Engine: "jemalloc", Snapshots: 40, Span: 600.5, Work: 1e6, HasAlloc: true, AbsentMax: 96,
			Labels: map[string]string{"commit": "f00d", "branch": "main"}, Notes: []string{"judged on snapshots 3 to 42 of 44"},
		},
		Total: baseline.Level{Bytes: 1e9, Objects: 1e6, Peak: 1.1e9, Slope: -3.25, SlopeError: 1, AllocBytes: 1e12, AllocObjects: 1e9, Noise: 3e4, Swing: 2e8},
		Rest:  baseline.Level{Bytes: 12.5},
	}
	random := rand.New(rand.NewPCG(1, 1))
	for i := range sites {
		s := baseline.Site{Level: baseline.Level{Bytes: float64(random.IntN(1e8)), Slope: random.Float64()}, Blame: 1}
		s.Identity.Place = fmt.Sprintf("%024x", i)
		for range 12 {
			name := fmt.Sprintf("ns%d::Klasse<int, %d>::method_%d", random.IntN(30), random.IntN(9), random.IntN(400))
			s.Identity.Frames = append(s.Identity.Frames, name)
			s.Frames = append(s.Frames, symbolize.Frame{Function: name, Module: "/usr/bin/server", File: fmt.Sprintf("/src/f%d.cc", random.IntN(200)), Line: random.IntN(2000)})
		}
		r.Sites = append(r.Sites, s)
	}
	return r
}

// TestRoundTrip: a run that is written and read again is the same.
func TestRoundTrip(t *testing.T) {
	for _, sites := range []int{0, 1, 50} {
		want := run(sites)
		got, err := baseline.Read(bytes.NewReader(written(t, want)), "nights/x"+baseline.Suffix)
		require.NoError(t, err)
		want.Meta.Name = "x"
		require.Equal(t, want, got)
	}
}

func written(t testing.TB, r *baseline.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, baseline.Write(&b, r))
	return b.Bytes()
}

func TestWriteIsDeterministic(t *testing.T) {
	require.Equal(t, written(t, run(20)), written(t, run(20)))
}

// TestSizeOfALargeRun writes 3,000 sites of 12 frames, the largest number that is kept.
func TestSizeOfALargeRun(t *testing.T) {
	testutil.NoRace(t)
	require.Less(t, len(written(t, run(3000))), 600<<10)
}

func TestFilesMatchTheSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(testutil.Root(t), "docs/schema/baseline.schema.json"))
	require.NoError(t, err)
	for _, r := range []*baseline.Run{run(10), {}} {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(content(t, written(t, r))))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(v))
	}
}

func content(t testing.TB, file []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return text
}

func zipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	return b.Bytes()
}

// TestDamagedFiles checks that an error names the file, the damage, and the remedy.
func TestDamagedFiles(t *testing.T) {
	testutil.NoRace(t)
	whole := written(t, run(5))
	text := string(content(t, whole))
	change := func(old, replacement string) []byte {
		require.Contains(t, text, old)
		return zipped([]byte(strings.Replace(text, old, replacement, 1)))
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":                     {nil, "not gzip'ed"},
		"text":                      {[]byte("heap profile: 1: 2"), "not gzip'ed"},
		"truncated":                 {whole[:len(whole)/2], "truncated: it ends early; remove it, or save the run again"},
		"without its checksum":      {whole[:len(whole)-3], "truncated"},
		"a flipped bit":             {flipped(whole), "damaged"},
		"another version":           {change("heaplapse.baseline/1", "heaplapse.baseline/2"), `schema "heaplapse.baseline/2", want "heaplapse.baseline/1": written by another version of heaplapse; save the run again`},
		"other JSON":                {zipped([]byte(`{"schema":"heaplapse.growth/1"}`)), `schema "heaplapse.growth/1"`},
		"a list":                    {zipped([]byte(`[1]`)), `schema ""`},
		"half a document":           {zipped([]byte(text[:len(text)/2])), "damaged: at byte"},
		"a wrong type":              {change(`"snapshots":40`, `"snapshots":"40"`), "damaged"},
		"an invalid frame":          {change(`"stack":[`, `"stack":[99999,`), "damaged: site 0: stack: entry 99999 of a table of"},
		"an invalid name":           {change(`"names":[`, `"names":[-1,`), "damaged: site 0: names: entry -1 of a table of"},
		"an invalid string":         {change(`"frames":[[`, `"frames":[[77777,0,0,0],[`), "damaged: frame 0 refers to string 77777 of"},
		"an invalid frame to blame": {change(`"stack_blame":1`, `"stack_blame":12`), "the frame to blame is not on the stack"},
		"a level out of range":      {change(`"total":{"bytes":1000000000`, `"total":{"bytes":1e308`), "total, rest: a number is out of range"},
		"a negative time":           {change(`"span_seconds":600.5`, `"span_seconds":-1`), "meta: a number is out of range"},
		"too large":                 {zipped(make([]byte, 65<<20)), "more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := baseline.Read(bytes.NewReader(c.file), "nights/1.baseline.json.gz")
			require.Nil(t, r)
			require.ErrorContains(t, err, "nights/1.baseline.json.gz: ")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func flipped(file []byte) []byte {
	out := bytes.Clone(file)
	out[len(out)-6] ^= 1 // in the checksum
	return out
}

// FuzzRead checks that Read returns an error and no run, or a run that a round trip does not
// change.
func FuzzRead(f *testing.F) {
	f.Add(content(f, written(f, run(2))))
	f.Add(content(f, written(f, &baseline.Run{})))
	f.Add([]byte(`{"schema":"heaplapse.baseline/1","strings":[""],"frames":[[0,0,0,1]],"sites":[{"names":[0],"stack":[0,0]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := baseline.Read(bytes.NewReader(zipped(text)), "x"+baseline.Suffix)
		if err != nil {
			require.Nil(t, first)
			return
		}
		again, err := baseline.Read(bytes.NewReader(written(t, first)), "x"+baseline.Suffix)
		require.NoError(t, err)
		a, err := json.Marshal(first)
		require.NoError(t, err)
		b, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(a), string(b))
	})
}

// TestAddAndSub checks that standard deviations add up in squares, and other fields linearly.
func TestAddAndSub(t *testing.T) {
	a := baseline.Level{Bytes: 3, Objects: 1, Peak: 5, Slope: 1, SlopeError: 3, AllocBytes: 7, AllocObjects: 2, Noise: 3, Swing: 1}
	b := baseline.Level{Bytes: 4, Objects: 1, Peak: 5, Slope: 1, SlopeError: 4, AllocBytes: 7, AllocObjects: 2, Noise: 4, Swing: 2}
	sum := a.Add(b)
	require.Equal(t, baseline.Level{Bytes: 7, Objects: 2, Peak: 10, Slope: 2, SlopeError: 5, AllocBytes: 14, AllocObjects: 4, Noise: 5, Swing: 3}, sum)
	require.Equal(t, a.Bytes, sum.Sub(b).Bytes)
	require.Equal(t, a.AllocBytes, sum.Sub(b).AllocBytes)
}
