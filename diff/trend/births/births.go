// Package births describes when the memory of a series was allocated, and which of it dies, by numbers that distinguish
// a leak from what looks like one. Counts hardly show that.
package births

import (
	"math"
	"slices"
	"sort"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// Births tell when what a series has in use at its end was allocated.
type Births struct {
	// List is in the order of the time, without gaps.
	List []Birth
	// Cohorts are the bytes in use after each of some parts of the series, by the part in which they were allocated.
	Cohorts [][]float64
}

// Birth is what was allocated before a time, and after that of the Birth before it.
type Birth struct {
	Before         float64
	Objects, Bytes float64
}

// Feature is one of the numbers.
type Feature int32

// The features. "Born" is what was allocated after the first point and is in use at the end, over the
// growth; in an eighth of the time, over the growth in an eighth. The last eighth counts only where it is named.
const (
	Quarter       Feature = iota // born in the first quarter
	Half                         // born in the first half
	ThreeQuarters                // born in the first three quarters
	SevenEighths                 // born in all eighths
	Old                          // share of the bytes in use that was allocated in the first half, or before
	Before                       // share of them that was allocated before the first point
	Least                        // born in the eighth of which the least is in use
	Second                       // born in the one of which the second least is in use
	Median                       // median of what was born in the eighths
	Evenness                     // effective number of eighths over their number: 1 if all have as much in use
	Trend                        // ln of what was born in the last three eighths over the first three
	Last                         // born in the last eighth
	Fall                         // ln of what was born in the seventh eighth over the last one
	PairFall                     // ln of what was born in the fifth and sixth eighth over the last two
	Objects                      // ln(1 + number of objects in use)
	ObjectSize                   // ln of the mean size of the first half's objects over that of the second's
	Settled                      // of the first half's bytes in use after three quarters, the share in use at the end
	SettledLater                 // the same without the first part of the series
	SettledEarly                 // of the first quarter's bytes in use after the half, the share in use at the end
	SettledMiddle                // of the third quarter's bytes in use after it, the share in use at the end
	Next                         // of a part's bytes in use after it, the share in use after the next part
	Died                         // the first half's bytes that died in the last quarter, over the growth
	FeatureCount
)

// names are those in the model's file. They do not change.
var names = [FeatureCount]string{
	"born-quarter", "born-half", "born-three-quarters", "born-seven-eighths", "old", "before", "born-least",
	"born-second", "born-median", "born-evenness", "born-trend", "born-last", "born-fall", "born-pair-fall",
	"objects-in-use", "old-size", "settled", "settled-later", "settled-early", "settled-middle", "survives-next",
	"old-died",
}

// String returns the stable name used in the model's file.
func (f Feature) String() string { return names[f] }

// Features are all features of one series; none is NaN or infinite.
type Features [FeatureCount]float64

// Settles reports whether enough parts of the series have births to tell what of the old memory stays.
func (f *Features) Settles() bool { return f[Next] > 0 }

// set stores a number within bounds, 0 if it is undefined.
func (f *Features) set(i Feature, v, low, high float64) {
	f[i] = stats.Within(v, low, high)
}

// leastParts is the least number of parts of a series whose decline is looked at.
const leastParts = 4

// someObjects is the number of objects from which births tell something. Fewer may be the blocks of a container that
// grows: it is as old as its first element if realloc resizes it, and as its last copy otherwise.
const someObjects = 16

// Describe returns the features of a series that begins at a time and lasts for a span, in the unit of the births. It
// returns nil if the births are hardly known, or are those of a few objects.
func (b *Births) Describe(first, span, growth float64) *Features {
	if b == nil {
		return nil
	}
	a, ok := ageOf(b.List, first, span)
	if !ok || a.objects[len(a.objects)-1] < someObjects || a.vague() {
		return nil
	}
	var f Features
	a.bornFeatures(&f, growth)
	a.eighthFeatures(&f, growth)
	a.objectFeatures(&f)
	b.cohortFeatures(&f, growth)
	return &f
}

// age is what is in use at the end, by when it was allocated: running sums over the time from 0, the first point, to
// 1, the moment of the last birth.
type age struct {
	at             []float64 // moments
	bytes, objects []float64 // allocated before each of them
}

// ageOf returns false if nothing is in use, or the births are those of an early snapshot.
func ageOf(list []Birth, first, span float64) (a age, ok bool) {
	if len(list) == 0 {
		return a, false
	}
	length := list[len(list)-1].Before - first
	if length < span/2 {
		return a, false
	}
	var sum Birth
	for _, b := range list {
		sum.Bytes, sum.Objects = sum.Bytes+b.Bytes, sum.Objects+b.Objects
		a.at = append(a.at, (b.Before-first)/length)
		a.bytes, a.objects = append(a.bytes, sum.Bytes), append(a.objects, sum.Objects)
	}
	return a, sum.Bytes > 0
}

// vague reports whether most of the memory was allocated between two moments that are more than half of the time
// apart: a recorder that hardly ran noted none between them.
func (a *age) vague() bool {
	all := a.bytes[len(a.bytes)-1]
	for i := 1; i < len(a.at); i++ {
		if a.at[i]-a.at[i-1] > 1./2 && a.bytes[i]-a.bytes[i-1] > all/2 {
			return true
		}
	}
	return false
}

// before interpolates a running sum at a time: what was allocated between two moments was allocated evenly. What was
// allocated before the first moment was allocated then.
func (a *age) before(sum []float64, t float64) float64 {
	i := sort.SearchFloat64s(a.at, t)
	switch {
	case i == len(a.at):
		return sum[i-1]
	case a.at[i] == t:
		return sum[i]
	case i == 0:
		return 0
	}
	return sum[i-1] + (sum[i]-sum[i-1])*(t-a.at[i-1])/(a.at[i]-a.at[i-1])
}

// old is the share of the bytes in use that was allocated in the first half, or before.
func (a *age) old() float64 { return a.before(a.bytes, 1./2) / a.bytes[len(a.bytes)-1] }

// eighths is the number of parts of the time.
const eighths = 8

// eighths are the differences of a running sum in each eighth of the time.
func (a *age) eighths(sum []float64) (out [eighths]float64) {
	for i := range out {
		out[i] = a.before(sum, float64(i+1)/eighths) - a.before(sum, float64(i)/eighths)
	}
	return out
}

const mostBorn = 3 // times the growth

// bornFeatures compare what is in use of what was allocated up to some times with the growth.
func (a *age) bornFeatures(f *Features, growth float64) {
	all, start := a.bytes[len(a.bytes)-1], a.before(a.bytes, 0)
	born := func(t float64) float64 { return (a.before(a.bytes, t) - start) / growth }
	f.set(Quarter, born(1./4), 0, mostBorn)
	f.set(Half, born(1./2), 0, mostBorn)
	f.set(ThreeQuarters, born(3./4), 0, mostBorn)
	f.set(SevenEighths, born(7./8), 0, mostBorn)
	f.set(Old, a.old(), 0, 1)
	f.set(Before, start/all, 0, 1)
}

// eighthFeatures compare what is in use of what was allocated in each eighth.
func (a *age) eighthFeatures(f *Features, growth float64) {
	parts, unit := a.eighths(a.bytes), growth/eighths
	f.set(Last, parts[7]/unit, 0, 2*eighths)
	f.set(Fall, logRatio(parts[6], parts[7], growth/200), -6, 6)
	f.set(PairFall, logRatio(parts[4]+parts[5], parts[6]+parts[7], growth/200), -6, 6)
	earlier := parts[:eighths-1]
	f.set(Trend, logRatio(stats.Sum(earlier[4:]), stats.Sum(earlier[:3]), growth/100), -5, 5)
	squares := 0.
	for _, b := range earlier {
		squares += b * b
	}
	sum := stats.Sum(earlier)
	f.set(Evenness, sum*sum/squares/float64(len(earlier)), 0, 1)
	slices.Sort(earlier)
	f.set(Least, earlier[0]/unit, 0, mostBorn)
	f.set(Second, earlier[1]/unit, 0, mostBorn)
	f.set(Median, earlier[len(earlier)/2]/unit, 0, mostBorn)
}

// objectFeatures tell one container that grows from many objects.
func (a *age) objectFeatures(f *Features) {
	last := len(a.bytes) - 1
	f.set(Objects, math.Log1p(a.objects[last]), 0, 30)
	start, half := a.before(a.bytes, 0), a.before(a.bytes, 1./2)
	startObjects, halfObjects := a.before(a.objects, 0), a.before(a.objects, 1./2)
	if startObjects < halfObjects && halfObjects < a.objects[last] {
		old, young := (half-start)/(halfObjects-startObjects), (a.bytes[last]-half)/(a.objects[last]-halfObjects)
		if old > 0 && young > 0 {
			f.set(ObjectSize, math.Log(old/young), -5, 5)
		}
	}
}

// cohortFeatures tell how much of what was allocated in some parts of the series, and was in use after them, is still
// in use later: all of it if nothing frees it, and little if it is evicted or expires.
func (b *Births) cohortFeatures(f *Features, growth float64) {
	n := len(b.Cohorts)
	if n < leastParts {
		return
	}
	quarter, half, late, end := max(0, n/4-1), n/2-1, 3*n/4-1, n-1
	least := growth / 200
	// share is that of the bytes of some parts, both ends included, in use after one part, which are after a later one.
	share := func(from, to, early, later int) float64 {
		return (stats.Sum(b.Cohorts[later][from:to+1]) + least) / (stats.Sum(b.Cohorts[early][from:to+1]) + least)
	}
	const most = 1.5
	f.set(Settled, share(0, half, late, end), 0, most)
	f.set(SettledLater, share(1, half, late, end), 0, most)
	f.set(SettledEarly, share(0, quarter, half, end), 0, most)
	f.set(SettledMiddle, share(half+1, late, late, end), 0, most)
	before, after := least, least
	for part := 1; part < end; part++ {
		before, after = before+b.Cohorts[part][part], after+b.Cohorts[part+1][part]
	}
	f.set(Next, after/before, 0, most)
	died := stats.Sum(b.Cohorts[late][:half+1]) - stats.Sum(b.Cohorts[end][:half+1])
	f.set(Died, died/growth, -1, mostBorn)
}

// Between are the bytes in use at the end that were certainly allocated between two times.
func (b *Births) Between(from, to float64) (bytes float64) {
	for i := 1; i < len(b.List); i++ {
		if b.List[i-1].Before >= from && b.List[i].Before <= to {
			bytes += b.List[i].Bytes
		}
	}
	return bytes
}

// logRatio is ln of a/b, both raised a little.
func logRatio(a, b, least float64) float64 { return math.Log((a + least) / (b + least)) }
