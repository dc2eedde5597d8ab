package push

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// wide is a profile with n stacks, each with a function of its own.
func wide(n int) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
		},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, TimeNanos: 1_700_000_000_000_000_000,
	}
	for i := range n {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprintf("f%d", i)}
		l := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		values := []int64{int64(9 * i), 1, int64(i)}
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: values})
	}
	return p
}

func total(p *profile.Profile) (bytes int64) {
	for _, s := range p.Sample {
		bytes += s.Value[len(s.Value)-1]
	}
	return bytes
}

// TestSplit: parts are within the limits, and together they are the profile.
func TestSplit(t *testing.T) {
	for _, l := range []limits{
		{samples: 1000, bytes: 1 << 20}, {samples: 100, bytes: 1 << 20}, {samples: 7, bytes: 1 << 20},
		{samples: 1000, bytes: 3000},
	} {
		p := wide(1000)
		parts, err := l.split(p)
		require.NoError(t, err)
		require.Equal(t, l.samples == 1000 && l.bytes == 1<<20, len(parts) == 1)
		samples, sum, names := 0, int64(0), map[string]bool{}
		for _, encoded := range parts {
			require.LessOrEqual(t, len(encoded), l.bytes)
			part, err := profile.Parse(bytes.NewReader(encoded))
			require.NoError(t, err)
			require.LessOrEqual(t, len(part.Sample), l.samples)
			require.Len(t, part.Function, len(part.Sample), "only the functions of the part")
			require.Equal(t, p.TimeNanos, part.TimeNanos)
			samples, sum = samples+len(part.Sample), sum+total(part)
			for _, f := range part.Function {
				names[f.Name] = true
			}
		}
		require.Equal(t, []any{1000, total(p), 1000}, []any{samples, sum, len(names)})
	}
}

// TestOneLargeSample: it is sent as it is, and the server decides.
func TestOneLargeSample(t *testing.T) {
	parts, err := limits{samples: 1, bytes: 10}.split(wide(1))
	require.NoError(t, err)
	require.Len(t, parts, 1)
}

// TestInUse: cumulative values and what is not in use are left out.
func TestInUse(t *testing.T) {
	p := wide(10)
	p.Sample[3].Value = []int64{5, 0, 0}
	got := inUse(p)
	require.NoError(t, got.CheckValid())
	require.Equal(t, "inuse_objects/count inuse_space/bytes", fmt.Sprintf("%s/%s %s/%s",
		got.SampleType[0].Type, got.SampleType[0].Unit, got.SampleType[1].Type, got.SampleType[1].Unit))
	require.Len(t, got.Sample, 9)
	require.Len(t, got.Function, 9)
	require.EqualValues(t, 45-3, total(got))
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []int
	}{{1, []int{9}}, {2, []int{2, 9}}, {3, []int{2, 5, 9}}, {4, []int{2, 4, 7, 9}}, {100, []int{2, 3, 4, 5, 7, 8, 9}}} {
		l := leak{holds: []bool{true, false, true, true, true, true, false, true, true, true, true}}
		l.choose(1, 9, c.n)
		var got []int
		for i := range 11 {
			if l.chosen[i] {
				got = append(got, i)
			}
		}
		require.Equal(t, c.want, got, c.n)
	}
}

func TestLabels(t *testing.T) {
	long := string(bytes.Repeat([]byte("é"), 2000))
	got := withLabels([]Label{{"service_name", "shop"}, {"host", ""}}, []Label{{"__name__", "memory"}, {"site", long}})
	require.Equal(t, []string{"__name__", "service_name", "site"}, []string{got[0].Name, got[1].Name, got[2].Name})
	require.Len(t, got, 3)
	require.Equal(t, long[:maxValue], got[2].Value)
	require.Equal(t, `{a="b\"c"}`, Selector([]Label{{"a", `b"c`}}))
	for name, problem := range map[string]string{
		"a-b": "letters, digits and _", "": "letters", "1a": "letters", "__a": "those of the server", "site_key": "already", "zone": "",
	} {
		if problem == "" {
			require.NoError(t, CheckLabel(name))
		} else {
			require.ErrorContains(t, CheckLabel(name), problem)
		}
	}
}
