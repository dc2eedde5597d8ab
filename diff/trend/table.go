package trend

import "math"

// Info is what a feature measures: its row in the one table from which --explain, the documents,
// the schema of JSON, and the fit of the model take it.
type Info struct {
	// Name is the name in JSON and in the file of the model. It does not change.
	Name string
	Unit Unit
	// Clock is what the series is described over.
	Clock Clock
	// Direction is how the probability of a leak depends on the feature.
	Direction Direction
	// Meaning is what the number is, in one line.
	Meaning string
}

// Unit is what the value of a feature counts.
type Unit string

// Units. In the meanings, "growth" is that of the trend or, if it is larger, that from the first
// points to the last, and a slope is over the span.
const (
	Share      Unit = "share" // 1 is all of it
	Part       Unit = "part"  // a share, of which more than all counts as all
	Times      Unit = "ratio"
	Ratio      Unit = "ln of a ratio"
	Rest       Unit = "ln of a share" // how much a model leaves unexplained of what another does
	Chance     Unit = "−ln of a probability"
	Deviations Unit = "standard deviations"
	Errors     Unit = "standard errors"
	Root       Unit = "root of a likelihood ratio" // negative where the second model is likelier
	Log        Unit = "ln of a number"
	Flag       Unit = "0 or 1" // 1 if it is so
)

// Clock is what a series is described over.
type Clock string

// Clocks.
const (
	OverTime       Clock = "time"
	OverWork       Clock = "work" // of the process
	OverAllocation Clock = "allocated bytes"
	OverPoints     Clock = "" // their order suffices
)

// Direction is how the probability of a leak may depend on a feature in the model. The constraint
// keeps the model from learning the opposite from noise.
type Direction int

// Directions.
const (
	Free Direction = 0  // the model decides
	Up   Direction = 1  // a larger value never makes a leak less likely
	Down Direction = -1 // a larger value never makes a leak likelier
)

// Info returns what a feature measures.
func (f Feature) Info() Info { return table[f].Info }

// row is a row of the table.
type row struct {
	Info
	// says is what an explanation says of the value, and when reports whether it does; nil for
	// always.
	says says
	when func(*Features) bool
	// of is the feature over time that this one is over the work of the process; Info follows from
	// it.
	of Feature
}

// table has a row for each feature, in the order of the model.
var table = completed([FeatureCount]row{
	FeatureSignificance: {
		Info: Info{"significance", Deviations, OverTime, Up,
			"Mann-Kendall's Z: rises over falls between all pairs of points"},
		says: says{{always, "rises outweigh falls by %s (chance gives 2.3 or more once in 100 times)"}},
	},
	FeatureLateSignificance: {Info: Info{"late-significance", Deviations, OverTime, Up,
		"Mann-Kendall's Z of the second half"}},
	FeatureSize: {Info: Info{"size", Times, OverTime, Free,
		"growth over the least growth that counts, at most 2"}},
	FeatureClarity: {
		Info: Info{"clarity", Times, OverTime, Free, "growth over the noise around the trend"},
		says: says{{always, "the growth is %s that"}},
	},
	FeatureTail: {
		Info: Info{"tail", Share, OverTime, Free, "slope of the last two fifths, over the growth"},
		says: says{{always, "the last 40 %% of the time grow at %s of the mean rate"}},
	},
	FeatureEnd: {
		Info: Info{"end", Share, OverTime, Free, "slope of the last quarter, over the growth"},
		says: says{{always, "the last 25 %% at %s"}},
	},
	FeatureTailClarity: {Info: Info{"tail-clarity", Deviations, OverTime, Up,
		"slope of the last two fifths, over its noise"}},
	FeatureEvenness: {
		Info: Info{"evenness", Share, OverPoints, Free,
			"effective number of rises over the number of steps: 1 for a line, 0 for a jump"},
		says: says{
			{0.6, "it rises in even steps (evenness %s)"},
			{0.25, "it rises in uneven steps (evenness %s)"},
			{always, "it rises in a few jumps (evenness %s)"},
		},
	},
	FeatureGap: {
		Info: Info{"gap", Chance, OverTime, Down, "probability that the last rise is as old as it is by chance"},
		says: says{{0.7, "the last peak is old (%s)"}},
	},
	FeatureSeparation: {Info: Info{"separation", Share, OverPoints, Up,
		"lowest value of the last third minus the highest of the first, over the growth"}},
	FeatureDirectness: {
		Info: Info{"directness", Share, OverPoints, Free, "net growth over the length of the path"},
		says: says{{always, "the net growth is %s of the total movement up and down"}},
	},
	FeatureSaturation: {
		Info: Info{"saturation", Rest, OverTime, Free, "residuals of the best saturating curve over those of a line"},
		says: says{
			{-0.2, "a curve that levels off fits no better than a line"},
			{always, "a curve that levels off fits better than a line (with %s of its residuals)"},
		},
	},
	FeaturePlateau: {
		Info: Info{"plateau", Rest, OverTime, Free, "residuals of a line that becomes level over those of a line"},
		says: says{
			{-0.2, "a rise to a plateau fits no better than a line"},
			{always, "a rise to a plateau fits better than a line (with %s of its residuals)"},
		},
	},
	FeaturePlateauLength: {Info: Info{"plateau-length", Share, OverTime, Down,
		"length of the level part of a line that becomes level, of the span"}},
	FeatureBend: {Info: Info{"bend", Share, OverTime, Free,
		"slope of the second half minus that of the first, over the slope"}},
	FeatureKnee: {Info: Info{"knee", Share, OverTime, Free, "where two lines that meet fit best, of the span"}},
	FeatureAfterKnee: {Info: Info{"after-knee", Share, OverTime, Free,
		"slope of the second of two lines that meet, over the growth"}},
	FeatureAfterKneeT: {Info: Info{"after-knee-t", Errors, OverTime, Up,
		"slope of the second of two lines that meet, over its standard error"}},
	FeatureKneeByAlloc: {Info: Info{"knee-by-alloc", Share, OverAllocation, Free,
		"slope of the second of two lines that meet, over the growth"}},
	FeatureKneeByAllocT: {Info: Info{"knee-by-alloc-t", Errors, OverAllocation, Up,
		"slope of the second of two lines that meet, over its standard error"}},
	FeatureLine: {
		Info: Info{"line", Part, OverTime, Free, "slope of the line beside the best saturating curve, over the growth"},
		says: says{
			{always, "a curve plus a line fits clearly better than the curve alone, and the line carries %s of the growth"},
		},
		when: fitsBeside,
	},
	FeatureLineT: {Info: Info{"line-t", Errors, OverTime, Up,
		"slope of the line beside the best saturating curve, over its standard error"}},
	FeatureLeakRatio: {Info: Info{"leak-ratio", Root, OverTime, Up, "lifetimes with a leak against those without"}},
	FeatureLeakShare: {
		Info: Info{"leak-share", Part, OverTime, Free,
			"share of the growth that lifetimes with a leak attribute to the leak"},
		says: says{{always, "the leak model explains %s of the growth"}},
		when: allocKnown,
	},
	FeatureLeakT: {
		Info: Info{"leak-t", Errors, OverTime, Up, "leak of the lifetimes with a leak, over its standard error"},
		says: says{{always, "that is %s"}},
		when: allocKnown,
	},
	FeatureLoad: {
		Info: Info{"load", Ratio, OverTime, Free, "rate of allocation of the last third over that of the first"},
		says: says{{always, "it allocates %s as fast at the end as at the start"}},
		when: allocKnown,
	},
	FeatureTailRetention: {Info: Info{"tail-retention", Share, OverPoints, Up,
		"share of the bytes allocated in the last two fifths that stay in use"}},
	FeatureRetention: {
		Info: Info{"retention", Share, OverPoints, Free, "share of the bytes allocated in the whole span that stay in use"},
		says: says{{always, "%s of what it allocated is still in use"}},
		when: allocKnown,
	},
	FeatureObjects: {Info: Info{"objects", Share, OverPoints, Free,
		"growth of the number of objects over that of the bytes, both as logarithms"}},
	FeatureObjectSize: {
		Info: Info{"object-size", Ratio, OverPoints, Free, "mean size of the objects at the end over that at the start"},
		says: says{
			{0.1, "their mean size at the end is %s that at the start"},
			{-0.1, "their mean size stays the same, so their number changes"},
			{always, "their mean size at the end is %s that at the start"},
		},
	},
	FeatureSampling: {
		Info: Info{"sampling", Share, OverPoints, Down, "standard deviation by sampling, over the growth"},
		says: says{{math.SmallestNonzeroFloat64, "the standard error from sampling is %s of the growth"}},
	},
	FeatureAllocKnown: {
		Info: Info{"alloc-known", Flag, OverPoints, Free, "whether cumulative counts are known"},
		says: says{{1, ""}, {0, "unknown: the snapshots have no cumulative counts"}},
	},
	FeatureRise: {Info: Info{"rise", Ratio, OverPoints, Free, "level of the last third over the early one"}},
	FeatureMedianRise: {Info: Info{"crowd", Ratio, OverPoints, Free,
		"rise of the median call path of the process: load moves many at once"}},
	FeatureHighWater: {
		Info: Info{"high-water", Flag, OverPoints, Down, "whether snapshots were taken at record highs of the heap"},
		says: says{{1, "snapshots were taken at record highs of the heap, so its largest sites seem to rise"}},
	},
	FeaturePoints:   {Info: Info{"points", Log, OverPoints, Free, "number of points"}},
	FeatureLastStep: {Info: Info{"last-step", Share, OverTime, Free, "slope of the last step, over the growth"}},
	FeatureLastSteps: {Info: Info{"last-steps", Share, OverTime, Free,
		"slope of the last two steps, over the growth"}},
	FeatureStop: {Info: Info{"stop", Deviations, OverTime, Down,
		"median step minus the last two, over the spread of the steps"}},
	FeatureLastKept: {Info: Info{"last-kept", Times, OverPoints, Free,
		"share of the bytes allocated in the last two steps that stay in use, over that in the span"}},
	FeatureCycle: {Info: Info{"cycle", Rest, OverTime, Free,
		"residuals of a line and the best wave over those of a line"}},
	FeatureCycleLine: {Info: Info{"cycle-line", Share, OverTime, Free,
		"slope of the line beside the best wave, over the growth"}},
	FeatureCycleLineT: {Info: Info{"cycle-line-t", Errors, OverTime, Up,
		"slope of the line beside the best wave, over its standard error"}},
	FeatureFloor: {Info: Info{"floor", Share, OverPoints, Free,
		"lowest value of the last third minus the lowest of the first, over the growth"}},
	FeatureCeiling: {Info: Info{"ceiling", Share, OverPoints, Free,
		"highest value of the last third minus the highest of the first, over the growth"}},
	FeatureOtherImage: {Info: Info{"elsewhere", Share, OverTime, Free,
		"slope in another process image, over the growth; 0 if there is none"}},
	FeatureOtherImageZ: {Info: Info{"elsewhere-z", Deviations, OverTime, Up,
		"Mann-Kendall's Z in another process image"}},
	FeatureTau: {Info: Info{"tau", Log, OverTime, Free, "time constant of the best saturating curve, in spans"}},
	FeatureTurnover: {Info: Info{"turnover", Log, OverPoints, Free,
		"scatter of the steps over that of short-lived objects"}},
	FeatureResidence: {
		Info: Info{"residence", Ratio, OverTime, Free,
			"mean time that bytes stay in use, at the end over that at the start"},
		says: says{{always, "memory stays in use %s as long as at the start"}},
		when: staysLonger,
	},
	FeatureResidenceZ: {Info: Info{"residence-z", Deviations, OverTime, Up,
		"Mann-Kendall's Z of the mean time that bytes stay in use"}},
	FeatureDrop: {Info: Info{"drop", Share, OverPoints, Down,
		"deepest fall from a value to a later one, over the growth"}},
	FeatureSinceDrop: {Info: Info{"since-drop", Share, OverTime, Free,
		"time from the end of the deepest fall to the end, of the span"}},
	FeatureSecured: {Info: Info{"secured", Share, OverPoints, Up,
		"value at the end of the deepest fall minus the first one, over the growth"}},
	FeatureLeakOrCurve: {Info: Info{"leak-or-curve", Root, OverTime, Up,
		"lifetimes with a leak against a curve that levels off"}},
	FeatureBeside: {Info: Info{"beside", Root, OverTime, Up,
		"a saturating curve with a line against the curve alone; negative for a line that falls"}},
	FeatureWorkTail: {
		of:   FeatureTail,
		when: workKnown,
		says: says{{always, "over its work, the last 40 %% grow at %s of the mean rate"}},
	},
	FeatureWorkEnd:           {of: FeatureEnd},
	FeatureWorkTailClarity:   {of: FeatureTailClarity},
	FeatureWorkGap:           {of: FeatureGap},
	FeatureWorkSaturation:    {of: FeatureSaturation},
	FeatureWorkPlateau:       {of: FeaturePlateau},
	FeatureWorkPlateauLength: {of: FeaturePlateauLength},
	FeatureWorkBend:          {of: FeatureBend},
	FeatureWorkAfterKnee:     {of: FeatureAfterKnee},
	FeatureWorkAfterKneeT:    {of: FeatureAfterKneeT},
	FeatureWorkLine:          {of: FeatureLine},
	FeatureWorkLineT:         {of: FeatureLineT},
	FeatureWorkBeside:        {of: FeatureBeside},
	FeatureWorkLastSteps:     {of: FeatureLastSteps},
	FeatureWorkStop:          {of: FeatureStop},
	FeatureWorkLastStep:      {of: FeatureLastStep},
	FeatureWorkLeakRatio:     {of: FeatureLeakRatio},
	FeatureWorkLeakShare:     {of: FeatureLeakShare},
	FeatureWorkLeakT:         {of: FeatureLeakT},
	FeatureWorkLeakOrCurve:   {of: FeatureLeakOrCurve},
	FeatureWorkResidence:     {of: FeatureResidence},
	FeatureWorkResidenceZ:    {of: FeatureResidenceZ},
	FeatureWorkKnown: {
		Info: Info{"work-known", Flag, OverWork, Free, "whether the work of the process is known"},
		says: says{{1, ""}, {0, "unknown: neither cumulative counts nor processor time were recorded"}},
	},
	FeatureStraighter: {Info: Info{"straighter", Rest, OverWork, Free,
		"residuals of a line over work over those of a line over time"}},
	FeaturePace: {
		Info: Info{"pace", Ratio, OverWork, Free, "rate of work of the process in the last third over that in the first"},
		says: says{{always, "the process works %s as fast at the end as at the start"}},
		when: workKnown,
	},
	FeatureUnevenPace: {Info: Info{"uneven-pace", Share, OverWork, Free,
		"greatest distance between the shares of time and of work that have passed"}},
	FeatureLateEvenness:   {Info: Info{"late-evenness", Share, OverPoints, Free, "evenness of the second half"}},
	FeatureLateDirectness: {Info: Info{"late-directness", Share, OverPoints, Free, "directness of the second half"}},
	FeatureLateLine: {Info: Info{"late-line", Rest, OverTime, Free,
		"residuals of a line over the second half, over its variation"}},
	FeatureEarlyShare: {Info: Info{"early-share", Share, OverPoints, Free,
		"growth in the first fifth of the points, over the growth"}},
	FeatureStep: {Info: Info{"step", Rest, OverPoints, Free,
		"residuals of the best step over the variation"}},
	FeatureStepSlopes: {Info: Info{"step-slopes", Times, OverTime, Free,
		"growth before and after the best step, over the step"}},
	FeatureDominates: {Info: Info{"dominates", Flag, OverPoints, Free,
		"whether the series makes up most of the growth of the heap"}},
	FeatureInStep: {Info: Info{"in-step", Share, OverPoints, Free,
		"correlation of the steps with those of the other sites that grow"}},
	FeatureBesideLoad: {Info: Info{"beside-load", Share, OverTime, Free,
		"slope of the line beside the rate of allocation, over the growth"}},
	FeatureBesideLoadT: {Info: Info{"beside-load-t", Errors, OverTime, Up,
		"slope of the line beside the rate of allocation, over its standard error"}},
	FeatureLoadFit: {Info: Info{"load-fit", Rest, OverTime, Free,
		"residuals of a line beside the rate of allocation over those of a line alone"}},
	FeatureWorkBesideLoad:  {of: FeatureBesideLoad},
	FeatureWorkBesideLoadT: {of: FeatureBesideLoadT},
	FeatureWorkLoadFit:     {of: FeatureLoadFit},
	FeatureGrowers:         {Info: Info{"growers", Log, OverPoints, Free, "1 plus the number of sites that grew"}},
	FeatureShare:           {Info: Info{"share", Share, OverPoints, Free, "growth over that of the heap"}},
	FeatureExplained: {Info: Info{"explained", Share, OverTime, Free,
		"share of the rise that load explains: the logarithm of load over that of rise"}},
})

// completed completes the rows of the features over the work of the process.
func completed(rows [FeatureCount]row) [FeatureCount]row {
	for f := range rows {
		if r := &rows[f]; r.isOverWork() {
			r.Info = rows[r.of].Info
			r.Name, r.Clock = "work-"+r.Name, OverWork
		}
	}
	return rows
}

// isOverWork reports whether a feature over the work of the process also is one over time.
func (r *row) isOverWork() bool { return r.of != 0 }
