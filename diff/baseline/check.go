package baseline

import (
	"errors"
	"fmt"
	"math"
)

const (
	// most bounds every number, so that no sum is beyond what floating point can tell: 16 EiB, twice what a counter of a snapshot holds.
	most = 1 << 64
	// leastPart is the least time in seconds, and the least work, that something is divided by.
	leastPart = 1e-6
)

// Check finds numbers that no run has, and that comparisons could not bear.
func (r *Run) Check() error {
	m := &r.Meta
	if m.Snapshots < 0 || m.Period < 0 || m.AbsentMax < 0 || !divisor(m.Span) || !divisor(m.Work) {
		return errors.New("meta: a number is out of range")
	}
	if !r.Total.sane() || !r.Rest.sane() {
		return errors.New("total, rest: a number is out of range")
	}
	for i := range r.Sites {
		if !r.Sites[i].sane() {
			return fmt.Errorf("site %d: a number is out of range", i)
		}
	}
	return nil
}

// divisor is a number that is not known (0), or may be divided by.
func divisor(v float64) bool { return v == 0 || v >= leastPart && v < most }

// sane levels are in range; slopes, per hour, may be those of short runs.
func (l *Level) sane() bool {
	for _, v := range []float64{l.Bytes, l.Objects, l.Peak, l.Slope / 1e9, l.SlopeError / 1e9, l.AllocBytes, l.AllocObjects, l.Noise} {
		if !(math.Abs(v) < most) {
			return false
		}
	}
	return true
}
