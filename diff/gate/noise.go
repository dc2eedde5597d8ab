package gate

import "math"

const (
	// leastPool is the least number of runs whose scatter says something.
	leastPool = 4
	// leastRobust is the least number of runs whose median absolute deviation says something.
	leastRobust = 8
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

// poolNoise is the noise of a pool's values around their median, scaled for a threshold z.
//
// The standard deviation is what is right if all runs are of one kind; an outlier, such as a night that ended early, blows it up for as
// long as it is in the pool. The median absolute deviation is not moved by one, and is a worse estimate else: it has some 0.37 of the degrees of
// freedom. The smaller of the two counts, each at half the probability.
func poolNoise(values []float64, z float64) float64 {
	m := float64(len(values))
	z2 := zOf(upperTail(z) / 2)
	noise := deviation(values) * scale(z2, len(values)-1, math.Sqrt(1+1/m)) * z2 / z
	if len(values) >= leastRobust {
		robust := mad(values) * scale(z2, int(0.37*(m-1)), math.Sqrt(1+math.Pi/2/m)) * z2 / z
		noise = min(noise, robust)
	}
	return noise
}

// pinnedNoise is the noise of one run against one other, as the pool between them tells it: around a line, for a drift is what is looked for
// and no noise. latest first or last makes no difference.
func pinnedNoise(values []float64, z float64) float64 {
	z2 := zOf(upperTail(z) / 2)
	plain := deviation(values) * scale(z2, len(values)-1, math.Sqrt2) * z2 / z
	line := aroundLine(values) * scale(z2, len(values)-2, math.Sqrt2) * z2 / z
	return min(plain, line)
}

// required is the z that a row must reach where some rows could fail: at least the threshold, and as much that all of
// them together fail by chance in one run of twenty (Bonferroni).
func required(z float64, rows int) float64 {
	return max(z, zOf(chance/float64(max(rows, 1))))
}
