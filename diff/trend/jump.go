package trend

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// jump is the best division of a series into two parts with a level each.
type jump struct {
	step   float64 // the second level minus the first
	rest   float64 // share of the variation that the levels leave
	slopes float64 // growth within the parts, over the step
}

// leastJump is the least number of points in which a jump is sought.
const leastJump = 8

// jump finds the best step; rest is 1 if there is none.
func (s *series) jump() jump {
	y, n := s.Live, len(s.t)
	total := stats.SumSquares(y)
	if total == 0 || n < leastJump {
		return jump{rest: 1}
	}
	best, at := math.Inf(1), 0
	for k := 2; k <= n-3; k++ {
		if r := stats.SumSquares(y[:k]) + stats.SumSquares(y[k:]); r < best {
			best, at = r, k
		}
	}
	j := jump{step: stats.Mean(y[at:]) - stats.Mean(y[:at]), rest: best / total}
	before, after := slopeOf(s.t[:at], y[:at]), slopeOf(s.t[at:], y[at:])
	j.slopes = (math.Abs(before*s.t[at-1]) + math.Abs(after*(1-s.t[at]))) / math.Max(math.Abs(j.step), 1)
	return j
}

// isWhole reports whether one step up explains the growth: flat before, flat after.
func (j jump) isWhole() bool { return j.step > 0 && j.rest <= 0.1 && j.slopes < 0.15 }

func (s *series) jumpFeatures(f *Features) {
	j := s.jump()
	f.set(FeatureStep, math.Log(j.rest+1e-4), -10, 0)
	f.set(FeatureStepSlopes, j.slopes, 0, 10)
}
