// Package measure puts into words what the verdict on a site rests on: its trend, noise, steps,
// end, shape and load.
package measure

import (
	"fmt"
	"math"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Line is one measurement.
type Line struct{ Of, Text string }

// Lines are the measurements that the verdict on a site rests on. Rates are per unit; factor turns
// a slope into one. objects reports whether the snapshots count objects.
func Lines(s *growth.Site, unit string, factor float64, objects bool) []Line {
	f := &s.Features
	low, high := s.Interval()
	list := []Line{
		{
			"trend",
			fmt.Sprintf(
				"%s per %s (95 %% interval: %s to %s); rises outweigh falls by %.1f standard deviations (chance gives 2.3 or more once in 100 times)",
				units.SignedBytes(s.Slope*factor),
				unit,
				units.SignedBytes(low*factor),
				units.SignedBytes(high*factor),
				f[trend.FeatureSignificance],
			),
		},
		{"noise", noise(s)},
		{"steps", steps(f)},
		{"end", ending(f)},
		{"work", work(s)},
		{"shape", shape(f)},
		{"load", load(f)},
	}
	if objects {
		list = append(list, Line{"objects", sizes(f)})
	}
	if f[trend.FeatureSampling] > 0 {
		list = append(list, Line{"sampling",
			fmt.Sprintf("the standard error from sampling is %.0f %% of the growth", 100*f[trend.FeatureSampling])})
	}
	if s.Births != nil {
		list = append(list, Line{"ages", ages(s)})
	}
	if s.ImportShare > 0 {
		list = append(list, Line{"imports", fmt.Sprintf(
			"%.0f %% of the growth is code of Python modules that are imported, which runs once; the chance of a leak is that of the rest",
			100*s.ImportShare)})
	}
	if f[trend.FeatureHighWater] == 1 {
		list = append(list, Line{"trigger",
			"snapshots were taken at record highs of the heap, so its largest sites seem to rise"})
	}
	return list
}

func noise(s *growth.Site) string {
	if s.Sigma < 1 {
		return "it does not vary around the trend"
	}
	return fmt.Sprintf("it varies by %s around the trend; the growth is %.1f times that",
		units.Bytes(int64(s.Sigma)), s.Features[trend.FeatureClarity])
}

func steps(f *trend.Features) string {
	evenness := f[trend.FeatureEvenness]
	how := "in a few jumps"
	switch {
	case evenness > 0.6:
		how = "in even steps"
	case evenness > 0.25:
		how = "in uneven steps"
	}
	return fmt.Sprintf("it rises %s (evenness %.2f of 1); the net growth is %.0f %% of the total movement up and down",
		how, evenness, 100*f[trend.FeatureDirectness])
}

func ending(f *trend.Features) string {
	line := fmt.Sprintf("the last 40 %% of the time grow at %.0f %% of the mean rate, the last 25 %% at %.0f %%",
		100*f[trend.FeatureTail], 100*f[trend.FeatureEnd])
	if f[trend.FeatureGap] > 0.7 {
		line += "; the last peak is old (" + probability(math.Exp(-f[trend.FeatureGap])) + ")"
	}
	return line
}

// work describes the end over the work of the process. A leak may seem to stop because the process
// does less work.
func work(s *growth.Site) string {
	f := &s.Features
	switch {
	case s.WorkIsLoad:
		return "the process works faster because more is allocated at a time, so that the site is judged over time only"
	case f[trend.FeatureWorkKnown] != 1:
		return "unknown: neither cumulative counts nor processor time were recorded"
	}
	return fmt.Sprintf(
		"the process works %.2f times as fast at the end as at the start; over its work, the last 40 %% grow at %.0f %% of the mean rate",
		math.Exp(f[trend.FeaturePace]), 100*f[trend.FeatureWorkTail])
}

// probability is a probability in percent.
func probability(p float64) string {
	if p < 0.001 {
		return "p < 0.1 %"
	}
	return fmt.Sprintf("p = %.1f %%", 100*p)
}

func shape(f *trend.Features) string {
	line := fmt.Sprintf("a curve that levels off %s; a rise to a plateau %s", againstLine(f[trend.FeatureSaturation]),
		againstLine(f[trend.FeaturePlateau]))
	if f[trend.FeatureBeside] > clearlyBeside {
		line += fmt.Sprintf(
			"; a curve plus a line fits clearly better than the curve alone, and the line carries %.0f %% of the growth",
			100*min(1, f[trend.FeatureLine]),
		)
	}
	return line
}

// againstLine compares a model's residuals with those of a line; ln is the logarithm of their
// ratio.
func againstLine(ln float64) string {
	if ln > -0.2 {
		return "fits no better than a line"
	}
	return fmt.Sprintf("fits better than a line (with %.0f %% of its residuals)", 100*math.Exp(ln))
}

// clearlyBeside is the value of FeatureBeside above which a line beside the curve is mentioned.
// Chance does not reach it.
const clearlyBeside = 3

func load(f *trend.Features) string {
	if f[trend.FeatureAllocKnown] != 1 {
		return "unknown: the snapshots have no cumulative counts"
	}
	line := fmt.Sprintf(
		"it allocates %.2f times as fast at the end as at the start; %.0f %% of what it allocated is still in use; the leak model explains %.0f %% of the growth (%.1f standard errors)",
		math.Exp(f[trend.FeatureLoad]),
		100*f[trend.FeatureRetention],
		100*min(1, f[trend.FeatureLeakShare]),
		f[trend.FeatureLeakT],
	)
	// Load alone does not change how long memory stays in use.
	if math.Abs(f[trend.FeatureResidenceZ]) >= 2 {
		line += fmt.Sprintf("; memory stays in use %.1f times as long as at the start",
			math.Exp(f[trend.FeatureResidence]))
	}
	return line
}

func sizes(f *trend.Features) string {
	drift := f[trend.FeatureObjectSize]
	if math.Abs(drift) < 0.1 {
		return "their mean size stays the same, so their number changes"
	}
	return fmt.Sprintf("their mean size at the end is %.2f times that at the start", math.Exp(drift))
}

// ages tells how much of the growth is old, whether old memory dies, and what the confidence would be without that.
func ages(s *growth.Site) string {
	b := s.Births
	return fmt.Sprintf(
		"what was allocated in the first half and is in use is %.0f %% of the growth; %.0f %% of what was old after three quarters of the time is still in use; without ages, the chance of a leak would be %.0f %%",
		100*b[trend.BirthHalf], 100*math.Min(1, b[trend.BirthSettled]), 100*trend.Confidence(&s.Features, nil),
	)
}

// ByName are the measurements by name.
func ByName(s *growth.Site) map[string]float64 {
	out := map[string]float64{}
	for k, v := range s.Features {
		out[trend.Feature(k).String()] = v
	}
	if s.Births != nil {
		for k, v := range s.Births {
			out[trend.BirthFeature(k).String()] = v
		}
	}
	return out
}
