package baseline

import (
	"errors"
	"fmt"
	"math"
)

const (
	// most bounds every number, so that sums stay finite: 16 EiB, twice the largest counter of a
	// snapshot.
	most = 1 << 64
	// leastDivisor is the smallest time in seconds, and the smallest amount of work, that values
	// are divided by.
	leastDivisor = 1e-6
)

// Check returns an error if a number is out of range, so that comparisons would overflow.
func (r *Run) Check() error {
	m := &r.Meta
	if m.Snapshots < 0 || m.Period < 0 || m.AbsentMax < 0 || m.Processes < 0 || !divisor(m.Span) || !divisor(m.Work) {
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

// divisor reports whether a number is unknown (0) or can be divided by.
func divisor(v float64) bool { return v == 0 || v >= leastDivisor && v < most }

// sane reports whether a level is in range. Slopes are per hour, and larger in a run of a second.
func (l *Level) sane() bool {
	for _, v := range []float64{
		l.Bytes, l.Objects, l.Peak, l.Slope / 1e9, l.SlopeError / 1e9, l.AllocBytes, l.AllocObjects, l.Noise, l.Swing,
	} {
		if !(math.Abs(v) < most) {
			return false
		}
	}
	return true
}
