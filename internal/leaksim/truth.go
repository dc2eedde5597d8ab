package leaksim

import "math"

// Verdict is the ground truth of a function.
type Verdict string

const (
	IsLeak     Verdict = "leak"
	IsHarmless Verdict = "no"
	// IsExcluded is a leak that nobody could be blamed for missing, nor for naming: it counts as
	// neither.
	IsExcluded Verdict = "excluded"
)

// leastLeak is the least expected retained growth within the span that makes a leak, in bytes;
// sigmas the least multiple of the function's own noise.
const (
	LeastLeak = 1 << 20
	sigmas    = 3
)

// Truth is what the simulation knows of a function.
type Truth struct {
	Verdict Verdict
	// Leaked is how many bytes were lost for ever between the first and the last snapshot of the
	// longest image; sigma is the noise beside them, in bytes.
	Leaked int64
	Sigma  float64
}

// window is the image with most snapshots, of several the latest: its first snapshot and its last
// one.
func window(shots []shot) (first, last shot) {
	count := map[*image]int{}
	for _, s := range shots {
		count[s.image]++
	}
	for _, s := range shots {
		switch {
		case first.image == nil || (s.image != first.image && count[s.image] >= count[first.image]):
			first, last = s, s
		case s.image == first.image:
			last = s
		}
	}
	return first, last
}

// truthOf judges a function from the simulation's own state, never from what was written.
func truthOf(s *site, first, last shot, period float64) Truth {
	im := first.image
	var t Truth
	t.Leaked = im.siteAt(s, last.step).leaked - im.siteAt(s, first.step).leaked
	t.Sigma = math.Hypot(ownNoise(im, s, first.step, last.step), samplingNoise(im, s, last.mark, period))
	switch {
	case !s.behaviour.leak:
		t.Verdict = IsHarmless
	case float64(t.Leaked) >= max(LeastLeak, sigmas*t.Sigma):
		t.Verdict = IsLeak
	default:
		t.Verdict = IsExcluded
	}
	return t
}

// ownNoise is the standard deviation of what a function holds beside its leak, around its own
// trend: the mean over a tenth of a span.
func ownNoise(im *image, s *site, first, last int) float64 {
	const half = StepsPerSpan / 20
	sum := make([]float64, last-first+2) // running sums
	held := make([]float64, last-first+1)
	for i := range held {
		p := im.siteAt(s, first+i)
		held[i] = float64(p.bytes - p.leaked)
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

// samplingNoise is the standard deviation of the estimate of what a function holds: each object of
// size s is seen with probability p and then counts for 1/p, which has the variance s²(1−p)/p.
func samplingNoise(im *image, s *site, mark int, period float64) float64 {
	if period == 0 {
		return 0
	}
	var variance float64
	for k := range s.stacks {
		for _, c := range im.classes[s.first+k][mark] {
			variance += float64(c.live) * float64(c.size) * float64(c.size) * (1 - c.chance) / c.chance
		}
	}
	return math.Sqrt(variance)
}
