package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
)

// baseLabel marks the samples of the base in a difference; pprof knows it and
// gives percentages of the base.
const baseLabel = "pprof::base"

// Difference is current minus base, with the base's samples negated and labelled as pprof's own
// -diff_base does. The two may come from different processes: places are matched by mapping and offset.
func Difference(base, current Encoded) (io.WriterTo, error) {
	b, err := base.parse()
	if err != nil {
		return nil, err
	}
	c, err := current.parse()
	if err != nil {
		return nil, err
	}
	if len(b.SampleType) != len(c.SampleType) {
		return nil, errors.New("only one of the two has cumulative counts: they cannot be subtracted")
	}
	b.SetLabel(baseLabel, []string{"true"})
	b.Scale(-1)
	out, err := profile.Merge([]*profile.Profile{c, b})
	if err != nil {
		return nil, fmt.Errorf("base and current cannot be subtracted: %w", err)
	}
	out.TimeNanos, out.DurationNanos = c.TimeNanos, 0
	return rendered(out.Write), nil
}

func (e Encoded) parse() (*profile.Profile, error) {
	return profile.Parse(bytes.NewReader(e.Bytes()))
}
