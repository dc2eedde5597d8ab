package trend

import "math"

// Feature is one of the numbers that distinguish a leak from what looks like one. Each is
// dimensionless: it means the same for a small heap and a large one, for an hour and a week.
type Feature int32

// The features. In their definitions "growth" is that of the trend or, if it is larger, that from
// the first points to the last, and a slope is over the span. Roots of likelihood ratios are
// negative where the second model is likelier; FeatureBeside is negative for a line that falls.
const (
	FeatureSignificance      Feature = iota // Mann-Kendall's Z
	FeatureLateSignificance                 // the same for the second half
	FeatureSize                             // growth over the least growth that counts, at most 2
	FeatureClarity                          // growth over the noise around the trend
	FeatureTail                             // slope of the last two fifths over the growth
	FeatureEnd                              // the same for the last quarter
	FeatureTailClarity                      // slope of the last two fifths over its noise
	FeatureEvenness                         // effective number of rises / number of steps: 1 for a line, 0 for a jump
	FeatureGap                              // −ln of the probability that the last rise is as old as it is
	FeatureSeparation                       // lowest of the last third minus highest of the first, over the growth
	FeatureDirectness                       // net growth over the length of the path
	FeatureSaturation                       // ln of the residuals of the best saturating curve over those of a line
	FeaturePlateau                          // ln of the residuals of a line that becomes level over those of a line
	FeaturePlateauLength                    // the length of that level part
	FeatureBend                             // slope of the second half minus that of the first, over the slope
	FeatureKnee                             // where two lines that meet fit best
	FeatureAfterKnee                        // slope of the second of them over the growth
	FeatureAfterKneeT                       // that slope over its standard error
	FeatureKneeByAlloc                      // FeatureAfterKnee over allocated bytes instead of time
	FeatureKneeByAllocT                     // FeatureAfterKneeT over allocated bytes instead of time
	FeatureLine                             // slope of the line beside the best saturating curve, over the growth
	FeatureLineT                            // that slope over its standard error
	FeatureLeakRatio                        // root of the likelihood ratio of lifetimes with a leak to those without
	FeatureLeakShare                        // share of the growth that is attributed to that leak
	FeatureLeakT                            // that leak over its standard error
	FeatureLoad                             // ln of the last third's rate of allocation over the first's
	FeatureTailRetention                    // share of the bytes allocated in the last two fifths that stay
	FeatureRetention                        // the same for the whole span
	FeatureObjects                          // ln of the growth of objects over that of bytes
	FeatureObjectSize                       // ln of the late mean size over the early one
	FeatureSampling                         // standard deviation by sampling over the growth
	FeatureAllocKnown                       // 1 where cumulative counts are known
	FeatureRise                             // ln of the late level over the early one
	FeatureMedianRise                       // the same for the median site of the process: load moves many sites at once
	FeatureHighWater                        // 1 where snapshots were taken at record highs
	FeaturePoints                           // ln of the number of points
	FeatureLastStep                         // slope of the last step over the growth
	FeatureLastSteps                        // the same for the last two
	FeatureStop                             // distance of the last two steps below the median step, in robust deviations
	FeatureLastKept                         // retention in the last two steps over that in the span
	FeatureCycle                            // ln of the residuals of a line and the best wave over those of a line
	FeatureCycleLine                        // slope of that line over the growth
	FeatureCycleLineT                       // that slope over its standard error
	FeatureFloor                            // lowest of the last third minus lowest of the first, over the growth
	FeatureCeiling                          // the same for the highest
	FeatureOtherImage                       // slope in another process image over the growth; 0 if there is none
	FeatureOtherImageZ                      // Mann-Kendall's Z there
	FeatureTau                              // ln of the time constant of the best saturating curve, in spans
	FeatureTurnover                         // ln of the scatter of the steps over that of short-lived objects
	FeatureResidence                        // ln of the late mean time that bytes stay over the early one
	FeatureResidenceZ                       // Mann-Kendall's Z of that time
	FeatureDrop                             // deepest fall from a value to a later one, over the growth
	FeatureSinceDrop                        // time from the lowest point of that fall to the end
	FeatureSecured                          // that lowest point minus the first value, over the growth
	FeatureLeakOrCurve                      // root of the likelihood ratio of lifetimes with a leak to a curve
	FeatureBeside                           // root of the likelihood ratio of a curve with a line beside it to it alone
	FeatureWorkTail                         // features over the work of the process, not time: FeatureTail
	FeatureWorkEnd                          // FeatureEnd
	FeatureWorkTailClarity                  // FeatureTailClarity
	FeatureWorkGap                          // FeatureGap
	FeatureWorkSaturation                   // FeatureSaturation
	FeatureWorkPlateau                      // FeaturePlateau
	FeatureWorkPlateauLength                // FeaturePlateauLength
	FeatureWorkBend                         // FeatureBend
	FeatureWorkAfterKnee                    // FeatureAfterKnee
	FeatureWorkAfterKneeT                   // FeatureAfterKneeT
	FeatureWorkLine                         // FeatureLine
	FeatureWorkLineT                        // FeatureLineT
	FeatureWorkBeside                       // FeatureBeside
	FeatureWorkLastSteps                    // FeatureLastSteps
	FeatureWorkStop                         // FeatureStop
	FeatureWorkLastStep                     // FeatureLastStep
	FeatureWorkLeakRatio                    // FeatureLeakRatio
	FeatureWorkLeakShare                    // FeatureLeakShare
	FeatureWorkLeakT                        // FeatureLeakT
	FeatureWorkLeakOrCurve                  // FeatureLeakOrCurve
	FeatureWorkResidence                    // FeatureResidence
	FeatureWorkResidenceZ                   // FeatureResidenceZ
	FeatureWorkKnown                        // 1 where the work of the process is known
	FeatureStraighter                       // ln of the residuals of a line over work over those of a line over time
	FeaturePace                             // ln of the last third's rate of work over the first's
	FeatureUnevenPace                       // greatest distance between the shares of time and of work
	FeatureLateEvenness                     // FeatureEvenness of the second half
	FeatureLateDirectness                   // FeatureDirectness of the second half
	FeatureLateLine                         // ln of the residuals of a line over the second half over its variation
	FeatureEarlyShare                       // growth in the first fifth of the points, over the growth
	FeatureStep                             // ln of the residuals of the best step over the variation
	FeatureStepSlopes                       // growth before and after that step, over the step
	FeatureDominates                        // 1 where the series makes up most of the growth of the heap
	FeatureInStep                           // correlation of its steps with those of the other sites that grow
	FeatureBesideLoad                       // slope of the line beside the rate of allocation, over the growth
	FeatureBesideLoadT                      // that slope over its standard error
	FeatureLoadFit                          // ln of the residuals of that line and the rate over those of a line alone
	FeatureWorkBesideLoad                   // over work: FeatureBesideLoad
	FeatureWorkBesideLoadT                  // FeatureBesideLoadT
	FeatureWorkLoadFit                      // FeatureLoadFit
	FeatureGrowers                          // ln(1 + the number of sites that grew)
	FeatureShare                            // the growth over that of the heap
	FeatureExplained                        // FeatureLoad over FeatureRise: the share of the rise that load explains
	FeatureCount
)

// featureNames are the names in the model's file and in JSON. They do not change.
var featureNames = [FeatureCount]string{
	"significance", "late-significance", "size", "clarity", "tail", "end", "tail-clarity", "evenness", "gap", "separation",
	"directness", "saturation", "plateau", "plateau-length", "bend", "knee", "after-knee", "after-knee-t", "knee-by-alloc",
	"knee-by-alloc-t", "line", "line-t", "leak-ratio", "leak-share", "leak-t", "load", "tail-retention", "retention",
	"objects", "object-size",
	"sampling", "alloc-known", "rise", "crowd", "high-water", "points",
	"last-step", "last-steps", "stop", "last-kept", "cycle", "cycle-line", "cycle-line-t", "floor", "ceiling",
	"elsewhere", "elsewhere-z", "tau", "turnover", "residence", "residence-z", "drop", "since-drop", "secured",
	"leak-or-curve", "beside",
	"work-tail", "work-end", "work-tail-clarity", "work-gap", "work-saturation", "work-plateau", "work-plateau-length",
	"work-bend", "work-after-knee", "work-after-knee-t", "work-line", "work-line-t", "work-beside", "work-last-steps",
	"work-stop", "work-last-step", "work-leak-ratio", "work-leak-share", "work-leak-t", "work-leak-or-curve",
	"work-residence", "work-residence-z", "work-known", "straighter", "pace", "uneven-pace",
	"late-evenness", "late-directness", "late-line",
	"early-share", "step", "step-slopes", "dominates",
	"in-step", "beside-load", "beside-load-t", "load-fit", "work-beside-load", "work-beside-load-t", "work-load-fit",
	"growers", "share", "explained",
}

// String returns the stable name used in JSON and in the model's file.
func (f Feature) String() string { return featureNames[f] }

// Features are all features of one series; none is NaN or infinite.
type Features [FeatureCount]float64

// set stores a number within bounds, 0 if it is undefined.
func (f *Features) set(i Feature, v, low, high float64) {
	if math.IsNaN(v) {
		v = 0
	}
	f[i] = math.Max(low, math.Min(high, v))
}

// features describes a series. Each group is computed from the series alone, its line and its
// curves.
func (s *series) features(l line, c curves, growth float64) (f Features) {
	f.set(FeatureSize, growth/s.minGrowth, 0, 2)
	f.set(FeaturePoints, math.Log(float64(len(s.t))), 0, 10)
	f.set(FeatureMedianRise, s.MedianRise, -3, 3)
	f.set(FeatureInStep, s.InStep, 0, 1)
	f.set(FeatureGrowers, math.Log1p(float64(s.Growers)), 0, 20)
	f.set(FeatureShare, s.Share, 0, 2)
	if s.HighWater {
		f[FeatureHighWater] = 1
	}
	if s.Dominates {
		f[FeatureDominates] = 1
	}
	s.lineFeatures(&f, l, growth)
	s.clockFeatures(&f, l.tail, c, growth)
	s.allocKneeFeatures(&f, growth)
	s.cycleFeatures(&f, c, growth)
	s.loadFeatures(&f, l)
	s.objectFeatures(&f)
	s.samplingFeatures(&f, growth)
	s.otherImageFeatures(&f, growth)
	s.halfFeatures(&f, growth)
	s.jumpFeatures(&f)
	s.workFeatures(&f, c, growth)
	return f
}
