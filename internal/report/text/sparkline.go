package text

import (
	"math"
	"strings"
)

// Sparkline draws values in at most width characters, scaled from zero to the largest. Values that
// are not visible are blank.
func Sparkline(values []int64, visible []bool, width int) string {
	n := len(values)
	width = min(width, n)
	var top int64 = 1
	for i, v := range values {
		if visible[i] {
			top = max(top, v)
		}
	}
	var b strings.Builder
	for c := range width {
		sum, seen := 0.0, 0
		for i := c * n / width; i < (c+1)*n/width; i++ {
			if visible[i] {
				sum, seen = sum+float64(values[i]), seen+1
			}
		}
		if seen == 0 {
			b.WriteRune(' ')
			continue
		}
		level := int(math.Round(sum / float64(seen) / float64(top) * float64(len(sparks)-1)))
		b.WriteRune(sparks[min(max(level, 0), len(sparks)-1)])
	}
	return b.String()
}

// sparks are the eight levels of a sparkline.
var sparks = []rune("▁▂▃▄▅▆▇█")
