package gate

import "math"

const (
	// LeastBaselines is the smallest baseline set whose scatter estimates the noise between runs.
	LeastBaselines = 4
	// leastRobust is the smallest set whose median absolute deviation estimates it.
	leastRobust = 10
	// leastNoise is the smallest noise, as a share of the value, or of the threshold in bytes if
	// that is larger: identical values in a few runs do not prove that there is no noise, and small
	// ones least.
	leastNoise = 0.02
	// familyError is the probability that a run without any change fails, over all rows that are
	// large enough to regress.
	familyError = 0.05
)

// calibration turns the scatter of a set of runs into the noise that a change is divided by, for a
// threshold z. Of several estimates the smallest counts, and each is made for its share of the
// probability.
//
// With a standard deviation s from n degrees of freedom, an unchanged run exceeds the centre of the
// set by t·s·spread with the probability that Student's t exceeds t, where spread² =
// 1 + the variance of the centre in units of s². The caller compares Δ/noise with z as if the
// deviation were known exactly, so s is scaled for both to have the same probability:
//
//	noise = s · spread · t(n, p) / z,   p = P(normal > z)
//
// For four runs and z = 3 the factor is 3.4.
//
// The standard deviation is right if the runs have one distribution. An outlier, such as a night
// that ended early, inflates it for as long as it is in the set. It does not change the median
// absolute deviation, which has about 0.37 of the degrees of freedom (its efficiency for normal
// values).
type calibration struct {
	plain  float64 // factor of the standard deviation
	robust float64 // factor of the median absolute deviation; 0 if it is not used
	line   float64 // factor of the deviation from a line; 0 if it is not used
}

// factor is the factor of a standard deviation with n degrees of freedom.
func factor(z float64, n int, spread float64) float64 {
	return spread * studentQuantile(upperTail(z), n) / z
}

// halfFactor is factor for one of two estimates, each of which may be exceeded with half the
// probability.
func halfFactor(z float64, n int, spread float64) float64 {
	half := zOf(upperTail(z) / 2)
	return half / z * factor(half, n, spread)
}

// calibrateSet is for a run against the median of a set of m.
func calibrateSet(m int, z float64) calibration {
	n := float64(m)
	ofMean := math.Sqrt(1 + 1/n)
	if m < leastRobust {
		return calibration{plain: factor(z, m-1, ofMean)}
	}
	ofMedian := math.Sqrt(1 + math.Pi/2/n)
	return calibration{plain: halfFactor(z, m-1, ofMean), robust: halfFactor(z, int(0.37*(n-1)), ofMedian)}
}

// calibrateReference is for a run against the reference run. The set estimates the noise of both.
// It may drift, and a drift is what the comparison looks for: deviations from a line through the
// set do not contain it.
func calibrateReference(m int, z float64) calibration {
	return calibration{plain: halfFactor(z, m-1, math.Sqrt2), line: halfFactor(z, m-2, math.Sqrt2)}
}

// calibrator returns a function that returns the calibration for a z and computes each once. The
// rules for single sites may have different values of z.
func (v *view) calibrator() func(z float64) calibration {
	known := map[float64]calibration{}
	return func(z float64) calibration {
		c, ok := known[z]
		if !ok && v.base == BaseReference {
			c = calibrateReference(len(v.set), z)
		} else if !ok {
			c = calibrateSet(len(v.set), z)
		}
		known[z] = c
		return c
	}
}

// judgeNoise sets the noise of a change, and the z that it must reach. The noise is the largest of
// the calibrated scatter of the set, the uncertainty of each run by itself, and the floor.
//
// A set that is too small for an estimate leaves what the runs tell by themselves. A row that still
// rises in the base, such as a cache that fills up, or that falls and rises again, such as one that is
// emptied now and then, has no steady level: it may have another one in the next run. In a larger set,
// the scatter between runs contains that.
func (c *change) judgeNoise(v *view, need float64, calibrate func(float64) calibration) {
	c.need, c.noise = need, math.Hypot(c.known, c.unsteady)
	switch {
	case v.significant():
		c.noise = max(calibrate(max(need, 1)).noise(c.set), c.known, c.floor)
	case c.moved != 0: // what moved is as uncertain as the rows that it moved between
		c.noise = math.Hypot(c.noise, c.scatter)
	}
}

// doubt is the largest part of the noise.
func (c *change) doubt(v *view) Doubt {
	switch {
	case v.significant():
		return DoubtNoise
	case c.moved != 0 && c.scatter >= max(c.known, c.unsteady):
		return DoubtMoved
	case c.unsteady > c.known:
		return DoubtUnsteady
	}
	return DoubtSampling
}

// noise is the calibrated scatter of a set.
func (c calibration) noise(values []float64) float64 {
	out := c.plain * deviation(values)
	if c.robust > 0 {
		out = min(out, c.robust*robustDeviation(values))
	}
	if c.line > 0 {
		out = min(out, c.line*deviationFromLine(values))
	}
	return out
}

// scatter is the standard deviation of a set, not scaled for its size.
func scatter(values []float64) float64 {
	if len(values) < leastRobust {
		return deviation(values)
	}
	return min(deviation(values), robustDeviation(values))
}

// correctedZ is the z that, with the given number of rows, all of them together exceed by chance in
// one run of twenty (Bonferroni).
func correctedZ(rows int) float64 { return zOf(familyError / float64(max(rows, 1))) }
