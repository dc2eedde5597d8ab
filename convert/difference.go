package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
)

// baseLabel marks the samples of the base in a difference. If a profile has such samples, pprof
// shows percentages of the base.
const baseLabel = "pprof::base"

// Difference returns the profile current − base. It contains all samples of current, and all
// samples of base with negated values and the label pprof::base, as `pprof -diff_base` builds it.
// The time is that of current. The two profiles may come from different processes: profile.Merge
// matches locations by mapping and offset. Difference returns an error if only one profile has
// cumulative counts.
func Difference(base, current Encoded) (io.WriterTo, error) {
	b, err := base.Parse()
	if err != nil {
		return nil, err
	}
	c, err := current.Parse()
	if err != nil {
		return nil, err
	}
	if len(b.SampleType) != len(c.SampleType) {
		return nil, errors.New("cannot subtract: only one of the two profiles has cumulative counts")
	}
	b.SetLabel(baseLabel, []string{"true"})
	b.Scale(-1)
	out, err := profile.Merge([]*profile.Profile{c, b})
	if err != nil {
		return nil, fmt.Errorf("cannot subtract base from current: %w", err)
	}
	out.TimeNanos, out.DurationNanos = c.TimeNanos, 0
	return rendered(out.Write), nil
}

// Parse returns the profile as github.com/google/pprof reads it.
func (e Encoded) Parse() (*profile.Profile, error) {
	return profile.Parse(bytes.NewReader(e.Bytes()))
}
