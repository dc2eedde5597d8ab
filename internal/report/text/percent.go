package text

import (
	"fmt"
	"strings"
)

// Percent returns a probability as text.
func Percent(p float64) string {
	switch {
	case p < 0.005:
		return "below 1 %"
	case p > 0.995:
		return "over 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}

// ShortPercent returns a probability as text for tables.
func ShortPercent(p float64) string {
	return strings.NewReplacer("below ", "<", "over ", ">", " ", "").Replace(Percent(p))
}
