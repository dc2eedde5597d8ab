package gate

import "math"

const (
	// LeastBaselines is the least number of runs whose scatter says something.
	LeastBaselines = 4
	// leastRobust is the least number of runs whose median absolute deviation says something.
	leastRobust = 10
	// leastNoise is the noise, as a share of the value, that is taken for granted.
	leastNoise = 0.02
	// chance is the probability that a run without any change fails, over all rows that are large enough to.
	chance = 0.05
)

// scale turns the scatter of M runs into the standard deviation by which a further run is judged.
//
// With a standard deviation s from n degrees of freedom, a run exceeds the pool's centre by t·s·spread with the probability that Student's t
// gives, where spread² = 1 + the variance of the centre. Z is compared with a threshold as if the deviation were
// known exactly; so s is scaled for the two to agree at the threshold:
//
//	noise = s · spread · t(n, p) / z,   p = P(normal > z)
//
// For four runs and z = 3 that is 3.4 times s: four values say little.
func scale(z float64, n int, spread float64) float64 {
	return spread * studentQuantile(upperTail(z), n) / z
}

// calibration turns the scatter of a pool of some size into the noise for a threshold z. Of several estimates the smallest counts, each made for
// its share of the probability.
//
// The standard deviation is what is right if all runs are of one kind. But an outlier, such as a night that ended early, blows it up for as
// long as it is in the pool; the median absolute deviation is not moved by one, and has some 0.37 of the degrees of freedom.
type calibration struct {
	plain  float64 // factor of the standard deviation
	robust float64 // of the median absolute deviation, 0 if it is not used
	line   float64 // of the deviation around a line, 0 if it is not used
}

// calibratePool is for a run against the median of a pool of m.
func calibratePool(m int, z float64) calibration {
	n := float64(m)
	plain := math.Sqrt(1 + 1/n)
	if m < leastRobust {
		return calibration{plain: scale(z, m-1, plain)}
	}
	half := halved(z)
	return calibration{
		plain:  half / z * scale(half, m-1, plain),
		robust: half / z * scale(half, int(0.37*(n-1)), math.Sqrt(1+math.Pi/2/n)),
	}
}

// calibratePinned is for one run against one other. A drift is what is looked for, and so no noise: around a line through the pool there is none of it.
func calibratePinned(m int, z float64) calibration {
	half := halved(z)
	return calibration{plain: half / z * scale(half, m-1, math.Sqrt2), line: half / z * scale(half, m-2, math.Sqrt2)}
}

// noise of a pool's values.
func (c calibration) noise(values []float64) float64 {
	out := c.plain * deviation(values)
	if c.robust > 0 {
		out = min(out, c.robust*mad(values))
	}
	if c.line > 0 {
		out = min(out, c.line*aroundLine(values))
	}
	return out
}

// halved is the z of half the probability: what each of two estimates must reach.
func halved(z float64) float64 { return zOf(upperTail(z) / 2) }

// required is the z that a row must reach where some rows could fail: at least the threshold, and as much that all of
// them together fail by chance in one run of twenty (Bonferroni).
func required(z float64, rows int) float64 {
	return max(z, zOf(chance/float64(max(rows, 1))))
}
