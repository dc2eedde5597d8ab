package push

import (
	"bytes"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// inUse returns a profile without cumulative values, which a server would take for changes since
// the profile before, and without the functions and mappings that its samples do not refer to.
func inUse(p *profile.Profile) *profile.Profile {
	var keep []int
	var types []*profile.ValueType
	for i, t := range p.SampleType {
		if !strings.HasPrefix(t.Type, "alloc_") {
			keep, types = append(keep, i), append(types, t)
		}
	}
	p.SampleType = types
	for _, s := range p.Sample {
		values := make([]int64, len(keep))
		for to, from := range keep {
			values[to] = s.Value[from]
		}
		s.Value = values
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 })
	})
	return p.Compact()
}

// limits are those of a profile. Pyroscope refuses larger ones unless it is told otherwise.
type limits struct {
	samples, bytes int
}

var serverLimits = limits{samples: 16_000, bytes: 4 << 20}

// split returns a profile as parts within the limits, encoded. A single sample is never split.
func (l limits) split(p *profile.Profile) ([][]byte, error) {
	var out bytes.Buffer
	if err := p.WriteUncompressed(&out); err != nil {
		return nil, err
	}
	if len(p.Sample) <= l.samples && out.Len() <= l.bytes || len(p.Sample) < 2 {
		return [][]byte{out.Bytes()}, nil
	}
	var parts [][]byte
	half := len(p.Sample) / 2
	for _, samples := range [][]*profile.Sample{p.Sample[:half], p.Sample[half:]} {
		part := &profile.Profile{
			SampleType: p.SampleType, DefaultSampleType: p.DefaultSampleType, PeriodType: p.PeriodType, Period: p.Period,
			TimeNanos: p.TimeNanos, Comments: p.Comments,
			Sample: samples, Location: p.Location, Function: p.Function, Mapping: p.Mapping,
		}
		list, err := l.split(part.Compact())
		if err != nil {
			return nil, err
		}
		parts = append(parts, list...)
	}
	return parts, nil
}
