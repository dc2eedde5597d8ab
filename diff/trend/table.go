package trend

import "math"

// Info is what a feature measures: its row in the one table from which --explain, the documents,
// the schema of JSON, and the fit of the model take it.
type Info struct {
	// Name is the name in JSON and in the file of the model. It does not change.
	Name string
	Unit Unit
	// Clock is what the series is described over; "" if the order of the points suffices.
	Clock Clock
	// Direction is how the probability of a leak depends on the feature.
	Direction Direction
	// Meaning is what the number is, in one line.
	Meaning string

	// says is what an explanation says of the value, and when reports whether it does; nil for
	// always.
	says says
	when func(*Features) bool
	// of is the feature over time that this one is over the work of the process; the rest follows
	// from it.
	of Feature
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
)

// Direction is how the probability of a leak may depend on a feature in the model. The constraint
// keeps the model from learning the opposite from noise.
type Direction int

// Directions. The zero value leaves it to the model.
const (
	Up   Direction = 1  // a larger value never makes a leak less likely
	Down Direction = -1 // a larger value never makes a leak likelier
)

// Info returns what a feature measures.
func (f Feature) Info() Info { return table[f] }

// table has a row for each feature, in the order of the model.
var table = completed([FeatureCount]Info{
	FeatureSignificance: {
		Name: "significance", Unit: Deviations, Clock: OverTime, Direction: Up,
		Meaning: "Mann-Kendall's Z: rises over falls between all pairs of points",
		says:    says{{always, "rises outweigh falls by %s (chance gives 2.3 or more once in 100 times)"}},
	},
	FeatureLateSignificance: {
		Name: "late-significance", Unit: Deviations, Clock: OverTime, Direction: Up,
		Meaning: "Mann-Kendall's Z of the second half",
	},
	FeatureSize: {
		Name: "size", Unit: Times, Clock: OverTime,
		Meaning: "growth over the least growth that counts, at most 2",
	},
	FeatureClarity: {
		Name: "clarity", Unit: Times, Clock: OverTime,
		Meaning: "growth over the noise around the trend",
		says:    says{{always, "the growth is %s that"}},
	},
	FeatureTail: {
		Name: "tail", Unit: Share, Clock: OverTime,
		Meaning: "slope of the last two fifths, over the growth",
		says:    says{{always, "the last 40 %% of the time grow at %s of the mean rate"}},
	},
	FeatureEnd: {
		Name: "end", Unit: Share, Clock: OverTime,
		Meaning: "slope of the last quarter, over the growth",
		says:    says{{always, "the last 25 %% at %s"}},
	},
	FeatureTailClarity: {
		Name: "tail-clarity", Unit: Deviations, Clock: OverTime, Direction: Up,
		Meaning: "slope of the last two fifths, over its noise",
	},
	FeatureEvenness: {
		Name: "evenness", Unit: Share,
		Meaning: "effective number of rises over the number of steps: 1 for a line, 0 for a jump",
		says: says{
			{0.6, "it rises in even steps (evenness %s)"},
			{0.25, "it rises in uneven steps (evenness %s)"},
			{always, "it rises in a few jumps (evenness %s)"},
		},
	},
	FeatureGap: {
		Name: "gap", Unit: Chance, Clock: OverTime, Direction: Down,
		Meaning: "probability that the last rise is as old as it is by chance",
		says:    says{{0.7, "the last peak is old (%s)"}},
	},
	FeatureSeparation: {
		Name: "separation", Unit: Share, Direction: Up,
		Meaning: "lowest value of the last third minus the highest of the first, over the growth",
	},
	FeatureDirectness: {
		Name: "directness", Unit: Share,
		Meaning: "net growth over the length of the path",
		says:    says{{always, "the net growth is %s of the total movement up and down"}},
	},
	FeatureSaturation: {
		Name: "saturation", Unit: Rest, Clock: OverTime,
		Meaning: "residuals of the best saturating curve over those of a line",
		says: says{
			{-0.2, "a curve that levels off fits no better than a line"},
			{always, "a curve that levels off fits better than a line (with %s of its residuals)"},
		},
	},
	FeaturePlateau: {
		Name: "plateau", Unit: Rest, Clock: OverTime,
		Meaning: "residuals of a line that becomes level over those of a line",
		says: says{
			{-0.2, "a rise to a plateau fits no better than a line"},
			{always, "a rise to a plateau fits better than a line (with %s of its residuals)"},
		},
	},
	FeaturePlateauLength: {
		Name: "plateau-length", Unit: Share, Clock: OverTime, Direction: Down,
		Meaning: "length of the level part of a line that becomes level, of the span",
	},
	FeatureBend: {
		Name: "bend", Unit: Share, Clock: OverTime,
		Meaning: "slope of the second half minus that of the first, over the slope",
	},
	FeatureKnee: {
		Name: "knee", Unit: Share, Clock: OverTime,
		Meaning: "where two lines that meet fit best, of the span",
	},
	FeatureAfterKnee: {
		Name: "after-knee", Unit: Share, Clock: OverTime,
		Meaning: "slope of the second of two lines that meet, over the growth",
	},
	FeatureAfterKneeT: {
		Name: "after-knee-t", Unit: Errors, Clock: OverTime, Direction: Up,
		Meaning: "slope of the second of two lines that meet, over its standard error",
	},
	FeatureKneeByAlloc: {
		Name: "knee-by-alloc", Unit: Share, Clock: OverAllocation,
		Meaning: "slope of the second of two lines that meet, over the growth",
	},
	FeatureKneeByAllocT: {
		Name: "knee-by-alloc-t", Unit: Errors, Clock: OverAllocation, Direction: Up,
		Meaning: "slope of the second of two lines that meet, over its standard error",
	},
	FeatureLine: {
		Name: "line", Unit: Part, Clock: OverTime,
		Meaning: "slope of the line beside the best saturating curve, over the growth",
		says: says{
			{always, "a curve plus a line fits clearly better than the curve alone, and the line carries %s of the growth"},
		},
		when: fitsBeside,
	},
	FeatureLineT: {
		Name: "line-t", Unit: Errors, Clock: OverTime, Direction: Up,
		Meaning: "slope of the line beside the best saturating curve, over its standard error",
	},
	FeatureLeakRatio: {
		Name: "leak-ratio", Unit: Root, Clock: OverTime, Direction: Up,
		Meaning: "lifetimes with a leak against those without",
	},
	FeatureLeakShare: {
		Name: "leak-share", Unit: Part, Clock: OverTime,
		Meaning: "share of the growth that lifetimes with a leak attribute to the leak",
		says:    says{{always, "the leak model explains %s of the growth"}},
		when:    allocKnown,
	},
	FeatureLeakT: {
		Name: "leak-t", Unit: Errors, Clock: OverTime, Direction: Up,
		Meaning: "leak of the lifetimes with a leak, over its standard error",
		says:    says{{always, "that is %s"}},
		when:    allocKnown,
	},
	FeatureLoad: {
		Name: "load", Unit: Ratio, Clock: OverTime,
		Meaning: "rate of allocation of the last third over that of the first",
		says:    says{{always, "it allocates %s as fast at the end as at the start"}},
		when:    allocKnown,
	},
	FeatureTailRetention: {
		Name: "tail-retention", Unit: Share, Direction: Up,
		Meaning: "share of the bytes allocated in the last two fifths that stay in use",
	},
	FeatureRetention: {
		Name: "retention", Unit: Share,
		Meaning: "share of the bytes allocated in the whole span that stay in use",
		says:    says{{always, "%s of what it allocated is still in use"}},
		when:    allocKnown,
	},
	FeatureObjects: {
		Name: "objects", Unit: Share,
		Meaning: "growth of the number of objects over that of the bytes, both as logarithms",
	},
	FeatureObjectSize: {
		Name: "object-size", Unit: Ratio,
		Meaning: "mean size of the objects at the end over that at the start",
		says: says{
			{0.1, "their mean size at the end is %s that at the start"},
			{-0.1, "their mean size stays the same, so their number changes"},
			{always, "their mean size at the end is %s that at the start"},
		},
	},
	FeatureSampling: {
		Name: "sampling", Unit: Share, Direction: Down,
		Meaning: "standard deviation by sampling, over the growth",
		says:    says{{math.SmallestNonzeroFloat64, "the standard error from sampling is %s of the growth"}},
	},
	FeatureAllocKnown: {
		Name: "alloc-known", Unit: Flag,
		Meaning: "whether cumulative counts are known",
		says:    says{{1, ""}, {0, "unknown: the snapshots have no cumulative counts"}},
	},
	FeatureRise: {
		Name: "rise", Unit: Ratio,
		Meaning: "level of the last third over the early one",
	},
	FeatureMedianRise: {
		Name: "crowd", Unit: Ratio,
		Meaning: "rise of the median call path of the process: load moves many at once",
	},
	FeatureHighWater: {
		Name: "high-water", Unit: Flag, Direction: Down,
		Meaning: "whether snapshots were taken at record highs of the heap",
		says:    says{{1, "snapshots were taken at record highs of the heap, so its largest sites seem to rise"}},
	},
	FeaturePoints: {
		Name: "points", Unit: Log,
		Meaning: "number of points",
	},
	FeatureLastStep: {
		Name: "last-step", Unit: Share, Clock: OverTime,
		Meaning: "slope of the last step, over the growth",
	},
	FeatureLastSteps: {
		Name: "last-steps", Unit: Share, Clock: OverTime,
		Meaning: "slope of the last two steps, over the growth",
	},
	FeatureStop: {
		Name: "stop", Unit: Deviations, Clock: OverTime, Direction: Down,
		Meaning: "median step minus the last two, over the spread of the steps",
	},
	FeatureLastKept: {
		Name: "last-kept", Unit: Times,
		Meaning: "share of the bytes allocated in the last two steps that stay in use, over that in the span",
	},
	FeatureCycle: {
		Name: "cycle", Unit: Rest, Clock: OverTime,
		Meaning: "residuals of a line and the best wave over those of a line",
	},
	FeatureCycleLine: {
		Name: "cycle-line", Unit: Share, Clock: OverTime,
		Meaning: "slope of the line beside the best wave, over the growth",
	},
	FeatureCycleLineT: {
		Name: "cycle-line-t", Unit: Errors, Clock: OverTime, Direction: Up,
		Meaning: "slope of the line beside the best wave, over its standard error",
	},
	FeatureFloor: {
		Name: "floor", Unit: Share,
		Meaning: "lowest value of the last third minus the lowest of the first, over the growth",
	},
	FeatureCeiling: {
		Name: "ceiling", Unit: Share,
		Meaning: "highest value of the last third minus the highest of the first, over the growth",
	},
	FeatureOtherImage: {
		Name: "elsewhere", Unit: Share, Clock: OverTime,
		Meaning: "slope in another process image, over the growth; 0 if there is none",
	},
	FeatureOtherImageZ: {
		Name: "elsewhere-z", Unit: Deviations, Clock: OverTime, Direction: Up,
		Meaning: "Mann-Kendall's Z in another process image",
	},
	FeatureTau: {
		Name: "tau", Unit: Log, Clock: OverTime,
		Meaning: "time constant of the best saturating curve, in spans",
	},
	FeatureTurnover: {
		Name: "turnover", Unit: Log,
		Meaning: "scatter of the steps over that of short-lived objects",
	},
	FeatureResidence: {
		Name: "residence", Unit: Ratio, Clock: OverTime,
		Meaning: "mean time that bytes stay in use, at the end over that at the start",
		says:    says{{always, "memory stays in use %s as long as at the start"}},
		when:    staysLonger,
	},
	FeatureResidenceZ: {
		Name: "residence-z", Unit: Deviations, Clock: OverTime, Direction: Up,
		Meaning: "Mann-Kendall's Z of the mean time that bytes stay in use",
	},
	FeatureDrop: {
		Name: "drop", Unit: Share, Direction: Down,
		Meaning: "deepest fall from a value to a later one, over the growth",
	},
	FeatureSinceDrop: {
		Name: "since-drop", Unit: Share, Clock: OverTime,
		Meaning: "time from the end of the deepest fall to the end, of the span",
	},
	FeatureSecured: {
		Name: "secured", Unit: Share, Direction: Up,
		Meaning: "value at the end of the deepest fall minus the first one, over the growth",
	},
	FeatureLeakOrCurve: {
		Name: "leak-or-curve", Unit: Root, Clock: OverTime, Direction: Up,
		Meaning: "lifetimes with a leak against a curve that levels off",
	},
	FeatureBeside: {
		Name: "beside", Unit: Root, Clock: OverTime, Direction: Up,
		Meaning: "a saturating curve with a line against the curve alone; negative for a line that falls",
	},
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
		Name: "work-known", Unit: Flag, Clock: OverWork,
		Meaning: "whether the work of the process is known",
		says:    says{{1, ""}, {0, "unknown: neither cumulative counts nor processor time were recorded"}},
	},
	FeatureStraighter: {
		Name: "straighter", Unit: Rest, Clock: OverWork,
		Meaning: "residuals of a line over work over those of a line over time",
	},
	FeaturePace: {
		Name: "pace", Unit: Ratio, Clock: OverWork,
		Meaning: "rate of work of the process in the last third over that in the first",
		says:    says{{always, "the process works %s as fast at the end as at the start"}},
		when:    workKnown,
	},
	FeatureUnevenPace: {
		Name: "uneven-pace", Unit: Share, Clock: OverWork,
		Meaning: "greatest distance between the shares of time and of work that have passed",
	},
	FeatureLateEvenness: {
		Name: "late-evenness", Unit: Share,
		Meaning: "evenness of the second half",
	},
	FeatureLateDirectness: {
		Name: "late-directness", Unit: Share,
		Meaning: "directness of the second half",
	},
	FeatureLateLine: {
		Name: "late-line", Unit: Rest, Clock: OverTime,
		Meaning: "residuals of a line over the second half, over its variation",
	},
	FeatureEarlyShare: {
		Name: "early-share", Unit: Share,
		Meaning: "growth in the first fifth of the points, over the growth",
	},
	FeatureStep: {
		Name: "step", Unit: Rest,
		Meaning: "residuals of the best step over the variation",
	},
	FeatureStepSlopes: {
		Name: "step-slopes", Unit: Times, Clock: OverTime,
		Meaning: "growth before and after the best step, over the step",
	},
	FeatureDominates: {
		Name: "dominates", Unit: Flag,
		Meaning: "whether the series makes up most of the growth of the heap",
	},
	FeatureInStep: {
		Name: "in-step", Unit: Share,
		Meaning: "correlation of the steps with those of the other sites that grow",
	},
	FeatureBesideLoad: {
		Name: "beside-load", Unit: Share, Clock: OverTime,
		Meaning: "slope of the line beside the rate of allocation, over the growth",
	},
	FeatureBesideLoadT: {
		Name: "beside-load-t", Unit: Errors, Clock: OverTime, Direction: Up,
		Meaning: "slope of the line beside the rate of allocation, over its standard error",
	},
	FeatureLoadFit: {
		Name: "load-fit", Unit: Rest, Clock: OverTime,
		Meaning: "residuals of a line beside the rate of allocation over those of a line alone",
	},
	FeatureWorkBesideLoad:  {of: FeatureBesideLoad},
	FeatureWorkBesideLoadT: {of: FeatureBesideLoadT},
	FeatureWorkLoadFit:     {of: FeatureLoadFit},
	FeatureGrowers: {
		Name: "growers", Unit: Log,
		Meaning: "1 plus the number of sites that grew",
	},
	FeatureShare: {
		Name: "share", Unit: Share,
		Meaning: "growth over that of the heap",
	},
	FeatureExplained: {
		Name: "explained", Unit: Share, Clock: OverTime,
		Meaning: "share of the rise that load explains: the logarithm of load over that of rise",
	},
})

// completed completes the rows of the features over the work of the process.
func completed(rows [FeatureCount]Info) [FeatureCount]Info {
	for f := range rows {
		if row := &rows[f]; row.isOverWork() {
			of := rows[row.of]
			of.Name, of.Clock, of.of = "work-"+of.Name, OverWork, row.of
			of.says, of.when = row.says, row.when
			*row = of
		}
	}
	return rows
}

// isOverWork reports whether a row is that of a feature over the work of the process which also is
// over time.
func (i *Info) isOverWork() bool { return i.of != 0 }
