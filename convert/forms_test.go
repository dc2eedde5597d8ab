package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// samplesOf reads all snapshots of a series.
func samplesOf(t *testing.T, s *series.Series, c *convert.Converter) (out []*convert.Samples) {
	t.Helper()
	for snap, err := range s.All(0) {
		require.NoError(t, err)
		samples, err := c.Samples(snap)
		out = append(out, samples)
		require.NoError(t, err)
	}
	return out
}

func text(t *testing.T, content io.WriterTo) string {
	t.Helper()
	var b bytes.Buffer
	_, err := content.WriteTo(&b)
	require.NoError(t, err)
	return b.String()
}

func TestMergedSamplesHaveLabelsAndKeepTotals(t *testing.T) {
	s, c := open(t, "leaky", "leaky/sysroot")
	m := c.NewMerge()
	for _, samples := range samplesOf(t, s, c) {
		m.Add(samples)
	}
	p := parsed(t, m.Encode())
	bySnapshot := map[string]int64{}
	for _, sample := range p.Sample {
		require.Len(t, sample.Label["snapshot"], 1)
		require.Equal(t, []string{"seconds"}, sample.NumUnit["elapsed"])
		bySnapshot[sample.Label["snapshot"][0]] += sample.Value[3]
	}
	require.Len(t, bySnapshot, len(s.Heads))
	for _, h := range s.Heads {
		require.Equal(t, h.Heap().InuseBytes, bySnapshot[convert.BaseName(h.Path)], h.Path)
	}
}

func TestSince(t *testing.T) {
	s, c := open(t, "leaky", "leaky/sysroot")
	all := samplesOf(t, s, c)
	require.Nil(t, all[0].Since(nil))
	for i := 1; i < len(all); i++ {
		p := parsed(t, c.Encode(all[i].Since(all[i-1])))
		want := s.Heads[i].Heap().Sub(s.Heads[i-1].Heap())
		got := sums(p)
		require.Equal(t, want.InuseBytes, got["inuse_space"])
		require.Equal(t, want.AllocObjects, got["alloc_objects"])
		for _, sample := range p.Sample {
			require.NotEqual(t, []int64{0, 0, 0, 0}, sample.Value, "unchanged stacks are omitted")
		}
	}
}

// TestDifferenceLabelsItsBase checks that a difference contains the base, with the label that pprof
// expects.
func TestDifferenceLabelsItsBase(t *testing.T) {
	s, c := open(t, "leaky", "leaky/sysroot")
	all := samplesOf(t, s, c)
	d, err := convert.Difference(c.Encode(all[1]), c.Encode(all[23]))
	require.NoError(t, err)
	p := parsed(t, d)
	require.Equal(t, s.Heads[23].Heap().InuseBytes-s.Heads[1].Heap().InuseBytes, sums(p)["inuse_space"])
	var base int64
	for _, sample := range p.Sample {
		if len(sample.Label["pprof::base"]) > 0 {
			base -= sample.Value[3]
		}
	}
	require.Equal(t, s.Heads[1].Heap().InuseBytes, base)
}

func TestDifferenceRequiresTheSameSampleTypes(t *testing.T) {
	s, c := open(t, "leaky-jemalloc", "leaky/sysroot")
	s2, c2 := open(t, "leaky-jemalloc-noaccum", "leaky/sysroot")
	_, err := convert.Difference(c.Encode(samplesOf(t, s, c)[0]), c2.Encode(samplesOf(t, s2, c2)[0]))
	require.ErrorContains(t, err, "cumulative counts")
}

func TestFoldedStacksKeepTotals(t *testing.T) {
	for _, f := range fixtures {
		s, c := open(t, f.name, f.sysroot)
		all := samplesOf(t, s, c)
		last := len(all) - 1
		var sum int64
		for _, line := range strings.Split(strings.TrimSpace(text(t, c.Folded(all[last], convert.InuseSpace))), "\n") {
			i := strings.LastIndexByte(line, ' ')
			var v int64
			_, err := fmt.Sscan(line[i+1:], &v)
			require.NoError(t, err, line)
			sum += v
		}
		require.Equal(t, s.Heads[last].Completeness.Estimate.InuseBytes, sum, f.name)
	}
}

func TestFoldedStacksBeginWithTheRoot(t *testing.T) {
	s, c := open(t, "leaky", "leaky/sysroot")
	all := samplesOf(t, s, c)
	out := text(t, c.Folded(all[23], convert.InuseSpace))
	require.Contains(t, out, "leaky::Server::serve_http;leaky::Session::handle;leaky::remember<leaky::Request> ")
}

func TestJSONHasTheSumsOfTheProfile(t *testing.T) {
	s, c := open(t, "leaky", "leaky/sysroot")
	samples := samplesOf(t, s, c)[23]
	var j struct {
		Schema      string   `json:"schema"`
		SampleTypes []string `json:"sample_types"`
		Locations   []struct {
			Frames []struct{ Function string } `json:"frames"`
		} `json:"locations"`
		Samples []struct {
			Values    []int64 `json:"values"`
			Locations []int   `json:"locations"`
		} `json:"samples"`
	}
	require.NoError(t, json.Unmarshal([]byte(text(t, c.JSON(samples))), &j))
	require.Equal(t, "heaplapse.convert/1", j.Schema)
	got := map[string]int64{}
	for _, sample := range j.Samples {
		for i, v := range sample.Values {
			got[j.SampleTypes[i]] += v
		}
		for _, l := range sample.Locations {
			require.Less(t, l, len(j.Locations))
		}
	}
	require.Equal(t, sums(parsed(t, c.Encode(samples))), got)
}

func TestMaxSamplesKeepsTotals(t *testing.T) {
	s, c := openWith(t, "leaky", "leaky/sysroot", convert.Options{MaxSamples: 10})
	snap, err := s.Read(23)
	require.NoError(t, err)
	p := converted(t, c, snap)
	require.Len(t, p.Sample, 10)
	want := rowSums(snap)
	for name, v := range sums(p) {
		require.Equal(t, want[name], v, name)
	}
	require.Contains(t, strings.Join(p.Comments, "\n"), "75 samples with ")
	require.Contains(t, p.String(), "(folded samples)")
}

// TestAllocatorFramesAreRemoved uses jemalloc, whose stacks all have five of its own frames at the
// leaf.
func TestAllocatorFramesAreRemoved(t *testing.T) {
	leafModules := func(o convert.Options) map[string]int {
		s, c := openWith(t, "leaky-jemalloc", "leaky/sysroot", o)
		out := map[string]int{}
		snap, err := s.Read(5)
		require.NoError(t, err)
		for _, sample := range converted(t, c, snap).Sample {
			file := ""
			if m := sample.Location[0].Mapping; m != nil {
				file = m.File[strings.LastIndexByte(m.File, '/')+1:]
			}
			out[file]++
		}
		return out
	}
	require.Zero(t, leafModules(convert.Options{})["libjemalloc.so.2"])
	kept := leafModules(convert.Options{KeepAllocatorFrames: true})
	require.Len(t, kept, 1)
	require.Positive(t, kept["libjemalloc.so.2"])
}

// rawFields calls visit with each length-delimited field at the top level of an encoded profile.
func rawFields(t *testing.T, b []byte, visit func(field int, content []byte)) {
	t.Helper()
	uvarint := func() uint64 {
		var v uint64
		for shift := 0; ; shift += 7 {
			require.NotEmpty(t, b)
			x := b[0]
			b = b[1:]
			v |= uint64(x&0x7f) << shift
			if x < 0x80 {
				return v
			}
		}
	}
	for len(b) > 0 {
		key := uvarint()
		if key&7 == 0 {
			uvarint()
			continue
		}
		require.Equal(t, uint64(2), key&7)
		n := uvarint()
		visit(int(key>>3), b[:n])
		b = b[n:]
	}
}

// TestRulesOfIngesters checks what profile stores require. Parca requires an empty first string,
// sequential IDs and labels with keys. Pyroscope requires UTF-8, no "-" in the names of sample
// types and, by default, at most 4 MiB and 16,000 samples.
func TestRulesOfIngesters(t *testing.T) {
	testutil.NoRace(t)
	for _, f := range fixtures {
		s, c := open(t, f.name, f.sysroot)
		for _, samples := range samplesOf(t, s, c) {
			raw := c.Encode(samples).Bytes()
			require.Less(t, len(raw), 4<<20)
			first := true
			rawFields(t, raw, func(field int, content []byte) {
				if field != 6 {
					return
				}
				require.True(t, utf8.Valid(content), "%q", content)
				require.True(t, !first || len(content) == 0, "the first string is empty")
				first = false
			})
			p, err := profile.ParseUncompressed(raw)
			require.NoError(t, err)
			require.NoError(t, p.CheckValid())
			require.LessOrEqual(t, len(p.Sample), 16000)
			for i, fn := range p.Function {
				require.Equal(t, uint64(i+1), fn.ID)
				require.NotEmpty(t, fn.Name)
			}
			for i, m := range p.Mapping {
				require.Equal(t, uint64(i+1), m.ID)
			}
			for _, st := range p.SampleType {
				require.NotContains(t, st.Type, "-")
			}
		}
	}
}

// TestOutputIsOneGzipMember: the tables are compressed once for all files of a series. The output
// must still be a single gzip member, because some readers do not concatenate members.
func TestOutputIsOneGzipMember(t *testing.T) {
	s, c := open(t, "leaky", "leaky/sysroot")
	for _, samples := range samplesOf(t, s, c) {
		e := c.Encode(samples)
		z, err := gzip.NewReader(strings.NewReader(text(t, e)))
		require.NoError(t, err)
		z.Multistream(false)
		got, err := io.ReadAll(z) // checks length and CRC
		require.NoError(t, err)
		require.Equal(t, e.Bytes(), got)
	}
}

func TestOutputIsDeterministic(t *testing.T) {
	bytesOf := func() (out []string) {
		s, c := open(t, "node", "node/sysroot")
		for _, samples := range samplesOf(t, s, c) {
			out = append(out, text(t, c.Encode(samples)))
		}
		return out
	}
	require.Equal(t, bytesOf(), bytesOf())
}

// TestSampledInputIsUnsampled compares with an independent implementation of google/pprof's
// formula, applied to each row.
func TestSampledInputIsUnsampled(t *testing.T) {
	eachProfile(t, "leaky-jemalloc", "leaky/sysroot", func(s *series.Snapshot, p *profile.Profile) {
		var want float64
		for _, row := range s.Samples {
			if row.InuseObjects == 0 {
				continue
			}
			mean := float64(row.InuseBytes) / float64(row.InuseObjects)
			want += math.Floor(float64(row.InuseBytes) / (1 - math.Exp(-mean/16384)))
		}
		require.InDelta(t, want, float64(sums(p)["inuse_space"]), float64(s.Rows), s.Path)
	})
}
