package leaksim

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
)

// Verdict is the ground truth about a function.
type Verdict string

// Verdicts.
const (
	IsLeak     Verdict = "leak"
	IsHarmless Verdict = "no"
	// IsExcluded is a leak below LeastLeak, below the noise, or of fewer than leastIntervals. A
	// detector is right whether it reports it or not.
	IsExcluded Verdict = "excluded"
)

const (
	// LeastLeak is the minimum size of a leak within the window, in bytes.
	LeastLeak = 1 << 20
	// sigmas is the minimum size of a leak as a multiple of Truth.Sigma.
	sigmas = 3
	// A leak happens again and again: most of what it loses is lost in leastIntervals intervals between
	// snapshots or more. What is lost in one or two looks like what is loaded once, and stays.
	leastIntervals = 3
	most           = 0.9
)

// Truth is the ground truth about a function, from the state of the simulation.
type Truth struct {
	Verdict Verdict
	// Leaked is the number of bytes that leaked between the first and the last snapshot of the
	// window.
	Leaked int64
	// Sigma is the standard deviation of the noise of the function, in bytes.
	Sigma float64
}

// window returns the snapshots of the process image with the most snapshots, or of the latest of
// several. The snapshot of the exit does not count.
func window(shots []shot) []shot {
	of := map[*image][]shot{}
	var longest []shot
	for _, s := range shots {
		if s.exit {
			continue
		}
		of[s.image] = append(of[s.image], s)
		if len(of[s.image]) >= len(longest) {
			longest = of[s.image]
		}
	}
	return longest
}

// truthOf returns the truth about a function in the snapshots of a window.
func truthOf(s *site, window []shot, period float64) Truth {
	first, last := window[0], window[len(window)-1]
	im := first.image
	lost := make([]int64, len(window)-1) // by interval
	var t Truth
	for i := range lost {
		lost[i] = im.siteAt(s, window[i+1].step).Leaked - im.siteAt(s, window[i].step).Leaked
		t.Leaked += lost[i]
	}
	t.Sigma = math.Hypot(ownNoise(im, s, first.step, last.step), samplingNoise(im, s, last.mark, period))
	switch {
	case !s.behaviour.Leak:
		t.Verdict = IsHarmless
	case float64(t.Leaked) >= max(LeastLeak, sigmas*t.Sigma) && isRepeated(lost):
		t.Verdict = IsLeak
	default:
		t.Verdict = IsExcluded
	}
	return t
}

// isRepeated reports whether the largest losses, of fewer than leastIntervals, are less than most of
// what is lost in all intervals.
func isRepeated(lost []int64) bool {
	sorted := slices.Sorted(slices.Values(lost))
	var all, largest int64
	for i, l := range sorted {
		all += l
		if i > len(sorted)-leastIntervals {
			largest += l
		}
	}
	return float64(largest) < most*float64(all)
}

// ownNoise returns the standard deviation of the bytes in use of a function, without its leak,
// around the moving average over a tenth of a span.
func ownNoise(im *image, s *site, first, last int) float64 {
	const half = behaviour.StepsPerSpan / 20
	sum := make([]float64, last-first+2) // running sums
	held := make([]float64, last-first+1)
	for i := range held {
		p := im.siteAt(s, first+i)
		held[i] = float64(p.Bytes - p.Leaked)
		sum[i+1] = sum[i] + held[i]
	}
	var squares float64
	for i, x := range held {
		from, to := max(0, i-half), min(len(held), i+half+1)
		d := x - (sum[to]-sum[from])/float64(to-from)
		squares += d * d
	}
	return math.Sqrt(squares / float64(len(held)))
}

// samplingNoise returns the standard deviation of the estimate of the bytes in use. An object of
// size s is sampled with probability p and then counts s/p, which has the variance s²(1−p)/p.
func samplingNoise(im *image, s *site, mark int, period float64) float64 {
	if period == 0 {
		return 0
	}
	var variance float64
	for k := range s.stacks {
		for _, c := range im.classes[s.first+k][mark] {
			variance += float64(c.Live) * float64(c.Size) * float64(c.Size) * (1 - c.Chance) / c.Chance
		}
	}
	return math.Sqrt(variance)
}
