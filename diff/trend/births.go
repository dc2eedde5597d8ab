package trend

import (
	"math"
	"slices"
	"sort"
)

// Birth is what a series has in use at its end that was allocated before a time, and after that of the Birth before it.
type Birth struct {
	Before         float64 // in the unit of [Points].T
	Objects, Bytes float64
}

// BirthFeature is one of the numbers that tell a leak from what looks like one by when the memory in use at the end was
// allocated. Counts hardly show which objects die first.
type BirthFeature int32

// The features of births. "Born" is what was allocated after the first point and is in use at the end, over the
// growth. Born eighths are what was allocated in each eighth of the time but the last, over the growth in an eighth.
const (
	BirthQuarter       BirthFeature = iota // born in the first quarter
	BirthHalf                              // born in the first half
	BirthThreeQuarters                     // born in the first three quarters
	BirthSevenEighths                      // born in all eighths but the last
	BirthOld                               // share of the bytes in use that was allocated in the first half, or before
	BirthBefore                            // share of them that was allocated before the first point
	BirthLeast                             // the least of the born eighths
	BirthSecond                            // the second least of them
	BirthMedian                            // their median
	BirthEvenness                          // effective number of born eighths, 0 to 1
	BirthTrend                             // ln of the last three of the born eighths over the first three
	BirthLast                              // what was allocated in the last eighth, over the growth in an eighth
	BirthFall                              // ln of what was allocated in the last eighth but one over that of the last
	BirthPairFall                          // the same of the last two pairs of eighths
	BirthAlive                             // share of the moments of the series, the last eighth apart, with memory in use
	BirthWorkHalf                          // over the work of the process: BirthHalf
	BirthWorkLeast                         // BirthLeast
	BirthWorkSecond                        // BirthSecond
	BirthWorkMedian                        // BirthMedian
	BirthWorkEvenness                      // BirthEvenness
	BirthWorkTrend                         // BirthTrend
	BirthKept                              // share of what was allocated in the first half that is in use
	BirthKeptYoung                         // share of what was allocated in the last eighth that is in use
	BirthKeptOver                          // ln of the first of these shares over the second
	BirthKeptLeast                         // the least such share of an eighth but the last
	BirthKeptFall                          // ln of the share of the last eighth but one over that of the last
	BirthKeptPairFall                      // the same of the last two pairs of eighths
	BirthSamples                           // ln(1 + number of recorded objects that were born in the first half)
	BirthSamplesLeast                      // ln(1 + the same of the eighth with the fewest)
	BirthObjects                           // ln(1 + number of objects in use at the end)
	BirthObjectSize                        // ln of the mean size of old objects over that of young ones
	BirthParts                             // number of parts of the series whose later decline is known
	BirthSettled                           // of what the first half allocated that is in use after three quarters, the share in use at the end
	BirthSettledLater                      // the same without the first part
	BirthSettledEarly                      // of what the first quarter allocated that is in use after the half, the same
	BirthSettledMiddle                     // of what the third quarter allocated that is in use after it, the same
	BirthNext                              // of what a part allocated that is in use after it, the share in use after the next one
	BirthDied                              // what died in the last quarter of what the first half allocated, over the growth
	BirthOthers                            // BirthOld of the other series of the process
	BirthFeatureCount
)

// birthNames are the names in the model's file and in JSON. They do not change.
var birthNames = [BirthFeatureCount]string{
	"born-quarter", "born-half", "born-three-quarters", "born-seven-eighths", "old", "before", "born-least",
	"born-second", "born-median", "born-evenness", "born-trend", "born-last", "born-fall", "born-pair-fall", "born-alive", "work-born-half", "work-born-least", "work-born-second",
	"work-born-median", "work-born-evenness", "work-born-trend", "kept-old", "kept-young", "kept-over", "kept-least",
	"kept-fall", "kept-pair-fall", "old-samples", "least-samples", "objects-in-use",
	"old-size", "parts", "settled", "settled-later", "settled-early", "settled-middle", "survives-next", "old-died",
	"others-old",
}

// String returns the stable name used in JSON and in the model's file.
func (f BirthFeature) String() string { return birthNames[f] }

// BirthFeatures are all features of the births of one series; none is NaN or infinite.
type BirthFeatures [BirthFeatureCount]float64

// set stores a number within bounds, 0 if it is undefined.
func (f *BirthFeatures) set(i BirthFeature, v, low, high float64) {
	if math.IsNaN(v) {
		v = 0
	}
	f[i] = math.Max(low, math.Min(high, v))
}

// eighths is the number of parts of the time.
const eighths = 8

// age is what is in use at the end, by when it was allocated: running sums over the time from 0, the first point, to
// 1, the moment of the last birth.
type age struct {
	at             []float64 // moments
	bytes, objects []float64 // allocated before each of them
}

// ageOf returns false if nothing is in use, or the births do not reach into the series.
func (s *series) ageOf(list []Birth) (a age, ok bool) {
	first := s.T[0]
	span := 0.
	if len(list) > 0 {
		span = list[len(list)-1].Before - first
	}
	if span < s.span/2 {
		return a, false
	}
	var sum Birth
	for _, b := range list {
		sum.Bytes, sum.Objects = sum.Bytes+b.Bytes, sum.Objects+b.Objects
		a.at = append(a.at, (b.Before-first)/span)
		a.bytes, a.objects = append(a.bytes, sum.Bytes), append(a.objects, sum.Objects)
	}
	return a, sum.Bytes > 0
}

// before interpolates a running sum at a time: what was allocated between two moments was allocated evenly. What was
// allocated before the first moment was allocated then.
func (a *age) before(sum []float64, t float64) float64 {
	i := sort.SearchFloat64s(a.at, t)
	switch {
	case i == len(a.at):
		return sum[i-1]
	case i == 0:
		if a.at[0] > t {
			return 0
		}
		return sum[0]
	}
	return sum[i-1] + (sum[i]-sum[i-1])*(t-a.at[i-1])/(a.at[i]-a.at[i-1])
}

// total is what is in use at the end.
func (a *age) total() float64 { return a.bytes[len(a.bytes)-1] }

// old is the share of the bytes in use that was allocated in the first half, or before.
func (a *age) old() float64 { return a.before(a.bytes, 0.5) / a.total() }

// parts are the differences of a running sum between times.
func (a *age) parts(sum, times []float64) (out []float64) {
	for i := 1; i < len(times); i++ {
		out = append(out, a.before(sum, times[i])-a.before(sum, times[i-1]))
	}
	return out
}

// birthFeatures describes the births of a series. It returns nil if they are not known.
func (s *series) birthFeatures(growth float64) *BirthFeatures {
	a, ok := s.ageOf(s.Births)
	if !ok {
		return nil
	}
	var f BirthFeatures
	f.set(BirthOld, a.old(), 0, 1)
	f.set(BirthBefore, a.before(a.bytes, 0)/a.total(), 0, 1)
	f.set(BirthObjects, math.Log1p(a.objects[len(a.objects)-1]), 0, 30)
	f.set(BirthOthers, s.OthersOld, 0, 1)
	s.bornFeatures(&f, &a, growth)
	s.keptFeatures(&f, &a)
	s.oldObjectFeatures(&f, &a)
	s.cohortFeatures(&f, growth)
	return &f
}

// bornFeatures compare what was allocated in the parts of the time, and is in use, with the growth.
func (s *series) bornFeatures(f *BirthFeatures, a *age, growth float64) {
	const most = 3
	start := a.before(a.bytes, 0)
	for feature, t := range map[BirthFeature]float64{
		BirthQuarter: 0.25, BirthHalf: 0.5, BirthThreeQuarters: 0.75, BirthSevenEighths: 0.875,
	} {
		f.set(feature, (a.before(a.bytes, t)-start)/growth, 0, most)
	}
	s.eighthFeatures(f, a, growth)
	f.set(BirthWorkHalf, (a.before(a.bytes, s.axis(s.work)[eighths/2])-start)/growth, 0, most)
	unit := growth / eighths
	last := a.parts(a.bytes, append(s.axis(nil), 1))
	f.set(BirthLast, last[7]/unit, 0, 2*eighths)
	least := growth / 200
	f.set(BirthFall, logRatio(last[6], last[7], least), -6, 6)
	f.set(BirthPairFall, logRatio(last[4]+last[5], last[6]+last[7], least), -6, 6)
	alive, moments := 0, 0
	for i, t := range a.at {
		if t > 0 && t <= 1-1./eighths {
			moments++
			if i == 0 && a.bytes[0] > 0 || i > 0 && a.bytes[i] > a.bytes[i-1] {
				alive++
			}
		}
	}
	f.set(BirthAlive, float64(alive)/float64(moments), 0, 1)
}

// eighthFeatures describe the born eighths over both clocks.
func (s *series) eighthFeatures(f *BirthFeatures, a *age, growth float64) {
	const most = 3
	unit := growth / eighths
	for _, of := range []struct {
		clock                                  []float64
		least, second, median, evenness, trend BirthFeature
	}{
		{nil, BirthLeast, BirthSecond, BirthMedian, BirthEvenness, BirthTrend},
		{s.work, BirthWorkLeast, BirthWorkSecond, BirthWorkMedian, BirthWorkEvenness, BirthWorkTrend},
	} {
		parts := a.parts(a.bytes, s.axis(of.clock))
		sum, squares := 0., 0.
		for _, b := range parts {
			sum, squares = sum+b, squares+b*b
		}
		f.set(of.evenness, sum*sum/squares/float64(len(parts)), 0, 1)
		f.set(of.trend, logRatio(sumOf(parts[len(parts)-3:]), sumOf(parts[:3]), growth/100), -5, 5)
		slices.Sort(parts)
		f.set(of.least, parts[0]/unit, 0, most)
		f.set(of.second, parts[1]/unit, 0, most)
		f.set(of.median, parts[len(parts)/2]/unit, 0, most)
	}
}

// logRatio is ln of a/b, both raised a little.
func logRatio(a, b, least float64) float64 { return math.Log((a + least) / (b + least)) }

func sumOf(list []float64) (sum float64) {
	for _, v := range list {
		sum += v
	}
	return sum
}

// axis returns the times at which eighths of a clock have passed, except the last; those of the time if the clock is
// nil.
func (s *series) axis(clock []float64) []float64 {
	times := make([]float64, eighths)
	for i := range times {
		times[i] = float64(i) / eighths
		if clock != nil {
			times[i] = interpolate(clock, s.t, times[i])
		}
	}
	return times
}

// interpolate returns the value of a rising curve at x.
func interpolate(xs, ys []float64, x float64) float64 {
	i := sort.SearchFloat64s(xs, x)
	switch {
	case i == 0:
		return ys[0]
	case i == len(xs):
		return ys[i-1]
	}
	return ys[i-1] + (ys[i]-ys[i-1])*(x-xs[i-1])/(xs[i]-xs[i-1])
}

// keptFeatures compare what is in use of each part of the time with what was allocated then.
func (s *series) keptFeatures(f *BirthFeatures, a *age) {
	if s.Alloc == nil {
		return
	}
	kept := func(from, to float64) float64 {
		allocated := interpolate(s.t, s.Alloc, to) - interpolate(s.t, s.Alloc, from)
		if allocated <= 0 {
			return math.NaN()
		}
		return math.Min(1, (a.before(a.bytes, to)-a.before(a.bytes, from))/allocated)
	}
	const eighth, least = 1. / eighths, 1e-3
	old, young := kept(0, 0.5), kept(1-eighth, 1)
	f.set(BirthKept, old, 0, 1)
	f.set(BirthKeptYoung, young, 0, 1)
	f.set(BirthKeptOver, logRatio(old, young, least), -7, 7)
	f.set(BirthKeptFall, logRatio(kept(1-2*eighth, 1-eighth), young, least), -7, 7)
	f.set(BirthKeptPairFall, logRatio(kept(1-4*eighth, 1-2*eighth), kept(1-2*eighth, 1), least), -7, 7)
	fewest := 1.
	for _, t := range s.axis(nil)[1:] {
		if k := kept(t-eighth, t); k < fewest {
			fewest = k
		}
	}
	f.set(BirthKeptLeast, fewest, 0, 1)
}

// oldObjectFeatures tell how many objects are old, and how large they are.
func (s *series) oldObjectFeatures(f *BirthFeatures, a *age) {
	const middle = eighths / 2
	bytes, objects := a.parts(a.bytes, s.axis(nil)), a.parts(a.objects, s.axis(nil))
	oldBytes, oldObjects := sumOf(bytes[:middle]), sumOf(objects[:middle])
	unit := 1. // objects that one recorded object stands for
	if s.sample > 0 && a.total() > 0 {
		unit = math.Max(1, s.sample*a.objects[len(a.objects)-1]/a.total())
	}
	f.set(BirthSamples, math.Log1p(oldObjects/unit), 0, 30)
	f.set(BirthSamplesLeast, math.Log1p(slices.Min(objects)/unit), 0, 30)
	youngBytes, youngObjects := a.total()-a.before(a.bytes, 0.5), a.objects[len(a.objects)-1]-a.before(a.objects, 0.5)
	if oldObjects > 0 && youngObjects > 0 && oldBytes > 0 && youngBytes > 0 {
		f.set(BirthObjectSize, math.Log(oldBytes/oldObjects/(youngBytes/youngObjects)), -5, 5)
	}
}

// leastParts is the least number of parts whose decline is looked at.
const leastParts = 4

// cohortFeatures tell how much of what was allocated in some parts of the series, and was in use after them, is still
// in use later. What nothing frees is, and what is evicted or expires is not.
func (s *series) cohortFeatures(f *BirthFeatures, growth float64) {
	n := len(s.Cohorts)
	f.set(BirthParts, float64(n), 0, eighths)
	if n < leastParts {
		return
	}
	quarter, half, late, end := max(0, n/4-1), n/2-1, 3*n/4-1, n-1
	// inUse is what the parts from one to another, both included, have in use after a part.
	inUse := func(from, to, after int) (sum float64) {
		for part := from; part <= to; part++ {
			sum += s.Cohorts[after][part]
		}
		return sum
	}
	least := growth / 200
	share := func(from, to, early, later int) float64 {
		return (inUse(from, to, later) + least) / (inUse(from, to, early) + least)
	}
	const most = 1.5
	f.set(BirthSettled, share(0, half, late, end), 0, most)
	f.set(BirthSettledLater, share(1, half, late, end), 0, most)
	f.set(BirthSettledEarly, share(0, quarter, half, end), 0, most)
	f.set(BirthSettledMiddle, share(half+1, late, late, end), 0, most)
	var before, after float64
	for part := 1; part < end; part++ {
		before, after = before+s.Cohorts[part][part], after+s.Cohorts[part+1][part]
	}
	f.set(BirthNext, (after+least)/(before+least), 0, most)
	f.set(BirthDied, (inUse(0, half, late)-inUse(0, half, end))/growth, -1, 3)
}
