package leaksim

import (
	"math"

	"github.com/heaplapse/heaplapse/internal/leaksim/behaviour"
)

// Verdict is the ground truth about a function.
type Verdict string

// Verdicts.
const (
	IsLeak     Verdict = "leak"
	IsHarmless Verdict = "no"
	// IsExcluded is a leak below LeastLeak or below the noise. A detector is right whether it
	// reports it or not.
	IsExcluded Verdict = "excluded"
)

const (
	// LeastLeak is the minimum size of a leak within the window, in bytes.
	LeastLeak = 1 << 20
	// sigmas is the minimum size of a leak as a multiple of Truth.Sigma.
	sigmas = 3
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

// window returns the first and the last snapshot of the process image with the most snapshots, or
// of the latest of several. The snapshot of the exit does not count.
func window(shots []shot) (first, last shot) {
	count := map[*image]int{}
	for _, s := range shots {
		if !s.exit {
			count[s.image]++
		}
	}
	for _, s := range shots {
		switch {
		case s.exit:
		case first.image == nil || (s.image != first.image && count[s.image] >= count[first.image]):
			first, last = s, s
		case s.image == first.image:
			last = s
		}
	}
	return first, last
}

// truthOf returns the truth about a function.
func truthOf(s *site, first, last shot, period float64) Truth {
	im := first.image
	var t Truth
	t.Leaked = im.siteAt(s, last.step).Leaked - im.siteAt(s, first.step).Leaked
	t.Sigma = math.Hypot(ownNoise(im, s, first.step, last.step), samplingNoise(im, s, last.mark, period))
	switch {
	case !s.behaviour.Leak:
		t.Verdict = IsHarmless
	case float64(t.Leaked) >= max(LeastLeak, sigmas*t.Sigma):
		t.Verdict = IsLeak
	default:
		t.Verdict = IsExcluded
	}
	return t
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
