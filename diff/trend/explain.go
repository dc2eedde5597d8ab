package trend

import (
	"fmt"
	"math"
	"strings"
)

// lines are the features on each line of an explanation, in order.
var lines = map[string][]Feature{
	"trend":    {FeatureSignificance},
	"noise":    {FeatureClarity},
	"steps":    {FeatureEvenness, FeatureDirectness},
	"end":      {FeatureTail, FeatureEnd, FeatureGap},
	"work":     {FeatureWorkKnown, FeaturePace, FeatureWorkTail},
	"shape":    {FeatureSaturation, FeaturePlateau, FeatureLine},
	"load":     {FeatureAllocKnown, FeatureLoad, FeatureRetention, FeatureLeakShare, FeatureLeakT, FeatureResidence},
	"objects":  {FeatureObjectSize},
	"sampling": {FeatureSampling},
	"trigger":  {FeatureHighWater},
}

// Explain returns what the features on a line of an explanation say; "" if that is nothing. The
// lines are trend, noise, steps, end, work, shape, load, objects, sampling and trigger.
func (f *Features) Explain(line string) string {
	var said []string
	for _, feature := range lines[line] {
		if clause := f.say(feature); clause != "" {
			said = append(said, clause)
		}
	}
	return strings.Join(said, "; ")
}

// say returns what a feature says; "" if that is nothing.
func (f *Features) say(feature Feature) string {
	row, value := &table[feature], f[feature]
	if row.when != nil && !row.when(f) {
		return ""
	}
	for _, clause := range row.says {
		if value >= clause.from {
			return clause.with(row.Unit, value)
		}
	}
	return ""
}

// says are the clauses for the values of a feature, the highest values first. The first that
// applies is said.
type says []clause

// clause is what is said of a value from a number on. A %s in it is the value.
type clause struct {
	from float64
	text string
}

// always is below all values.
var always = math.Inf(-1)

func allocKnown(f *Features) bool { return f[FeatureAllocKnown] == 1 }

func workKnown(f *Features) bool { return f[FeatureWorkKnown] == 1 }

// fitsBeside reports whether a line beside a saturating curve is worth a mention. Chance does not
// reach that.
func fitsBeside(f *Features) bool { return f[FeatureBeside] > 3 }

// staysLonger reports whether memory stays in use for longer or shorter than before. Load alone
// does not change that.
func staysLonger(f *Features) bool { return allocKnown(f) && math.Abs(f[FeatureResidenceZ]) >= 2 }

// with returns the text with a value.
func (c clause) with(u Unit, value float64) string {
	if !strings.Contains(c.text, "%s") {
		return c.text
	}
	return fmt.Sprintf(c.text, u.text(value))
}

// text returns a value for a reader.
func (u Unit) text(value float64) string {
	switch u {
	case Share:
		return fmt.Sprintf("%.0f %%", 100*value)
	case Part:
		return fmt.Sprintf("%.0f %%", 100*min(1, value))
	case Rest:
		return fmt.Sprintf("%.0f %%", 100*math.Exp(value))
	case Times:
		return fmt.Sprintf("%.1f times", value)
	case Ratio:
		return fmt.Sprintf("%.2f times", math.Exp(value))
	case Chance:
		return chanceText(math.Exp(-value))
	case Deviations, Errors:
		return fmt.Sprintf("%.1f %s", value, u)
	}
	return fmt.Sprintf("%.2f", value)
}

// chanceText is a probability in percent.
func chanceText(p float64) string {
	if p < 0.001 {
		return "p < 0.1 %"
	}
	return fmt.Sprintf("p = %.1f %%", 100*p)
}
