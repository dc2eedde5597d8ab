package trend

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// Feature is one of the numbers that distinguish a leak from what looks like one. Each is
// dimensionless: it means the same for a small heap and a large one, for an hour and a week.
// [Feature.Info] tells what it measures.
type Feature int32

// The features, in the order of the model.
const (
	FeatureSignificance Feature = iota
	FeatureLateSignificance
	FeatureSize
	FeatureClarity
	FeatureTail
	FeatureEnd
	FeatureTailClarity
	FeatureEvenness
	FeatureGap
	FeatureSeparation
	FeatureDirectness
	FeatureSaturation
	FeaturePlateau
	FeaturePlateauLength
	FeatureBend
	FeatureKnee
	FeatureAfterKnee
	FeatureAfterKneeT
	FeatureKneeByAlloc
	FeatureKneeByAllocT
	FeatureLine
	FeatureLineT
	FeatureLeakRatio
	FeatureLeakShare
	FeatureLeakT
	FeatureLoad
	FeatureTailRetention
	FeatureRetention
	FeatureObjects
	FeatureObjectSize
	FeatureSampling
	FeatureAllocKnown
	FeatureRise
	FeatureMedianRise
	FeatureHighWater
	FeaturePoints
	FeatureLastStep
	FeatureLastSteps
	FeatureStop
	FeatureLastKept
	FeatureCycle
	FeatureCycleLine
	FeatureCycleLineT
	FeatureFloor
	FeatureCeiling
	FeatureOtherImage
	FeatureOtherImageZ
	FeatureTau
	FeatureTurnover
	FeatureResidence
	FeatureResidenceZ
	FeatureDrop
	FeatureSinceDrop
	FeatureSecured
	FeatureLeakOrCurve
	FeatureBeside
	FeatureWorkTail
	FeatureWorkEnd
	FeatureWorkTailClarity
	FeatureWorkGap
	FeatureWorkSaturation
	FeatureWorkPlateau
	FeatureWorkPlateauLength
	FeatureWorkBend
	FeatureWorkAfterKnee
	FeatureWorkAfterKneeT
	FeatureWorkLine
	FeatureWorkLineT
	FeatureWorkBeside
	FeatureWorkLastSteps
	FeatureWorkStop
	FeatureWorkLastStep
	FeatureWorkLeakRatio
	FeatureWorkLeakShare
	FeatureWorkLeakT
	FeatureWorkLeakOrCurve
	FeatureWorkResidence
	FeatureWorkResidenceZ
	FeatureWorkKnown
	FeatureStraighter
	FeaturePace
	FeatureUnevenPace
	FeatureLateEvenness
	FeatureLateDirectness
	FeatureLateLine
	FeatureEarlyShare
	FeatureStep
	FeatureStepSlopes
	FeatureDominates
	FeatureInStep
	FeatureBesideLoad
	FeatureBesideLoadT
	FeatureLoadFit
	FeatureWorkBesideLoad
	FeatureWorkBesideLoadT
	FeatureWorkLoadFit
	FeatureGrowers
	FeatureShare
	FeatureExplained
	FeatureCount
)

// String returns the stable name used in JSON and in the model's file.
func (f Feature) String() string { return table[f].Name }

// Features are all features of one series; none is NaN or infinite.
type Features [FeatureCount]float64

// Measured reports whether the series was measured: it had enough points, and grew.
func (f *Features) Measured() bool { return f[FeaturePoints] != 0 }

// set stores a number within bounds, 0 if it is undefined.
func (f *Features) set(i Feature, v, low, high float64) {
	f[i] = stats.Within(v, low, high)
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
