package main

// behaviour is a way in which a function uses memory.
type behaviour struct {
	name  string
	about string
	leak  bool
	// pure says that its functions have no other traffic.
	pure bool
	// weight in the mixture, among those that leak or those that do not.
	weight float64
	// further is, for those that do not leak, how much the expected bytes in use may still grow in a second
	// span, as a share of the most held in the first: 0 for what is done, more for what is nearly done.
	further float64
	build   func(*draw) []blueprint
}

// behaviours is the benchmark's ground truth.
func behaviours() []behaviour {
	return append(harmless(), leaks()...)
}

// harmless behaviours. The weights of caches go with the width of the window in which they are full: no moment is
// likelier than another.
func harmless() []behaviour {
	return []behaviour{
		{name: "constant", about: "allocated at the start and kept", weight: 14, build: constant},
		{name: "noisy-constant", about: "objects of requests under a constant, noisy load", weight: 16, build: noisyConstant},
		{name: "constant-turnover", about: "a fixed number of objects that are replaced all the time", weight: 6, build: constantTurnover},
		{name: "warm-up-fast", about: "finite keys, each touched once; time constant 0.02 to 0.12 spans", weight: 4, build: warmUpFast},
		{name: "warm-up-slow", about: "the same, 0.12 to 0.35 spans", weight: 3, further: 0.04, build: warmUpSlow},
		{name: "warm-up-long", about: "the same, 0.35 to 0.7 spans: still filling at the end", weight: 2, further: 0.2, build: warmUpLong},
		{name: "cache-fill-early", about: "fills up to a cap at 20 to 42 % of the span, then evicts", weight: 2.5, build: cacheFillEarly},
		{name: "cache-fill-mid", about: "the same, at 42 to 75 %", weight: 3.8, build: cacheFillMid},
		{name: "cache-fill-late", about: "the same, at 88 to 98 %", weight: 1.2, further: 0.05, build: cacheFillLate},
		{name: "lru-churn", about: "a full cache of objects of various sizes", weight: 5, build: lruChurn},
		{name: "load-ramp", about: "short-lived objects under a load that rises", weight: 4, further: 0.04, build: loadRamp},
		{name: "load-ramp-medium", about: "the same, living 0.03 to 0.2 spans", weight: 3, further: 0.12, build: loadRampMedium},
		{name: "load-step", about: "short-lived objects under a load that jumps once", weight: 2, build: loadStep},
		{name: "cycle-short", about: "a daily cycle, 0.1 to 0.4 spans long", weight: 3, build: cycleShort},
		{name: "cycle-span", about: "a daily cycle, 0.75 to 1.2 spans long", weight: 3, build: cycleSpan},
		{name: "cycle-long", about: "a daily cycle, 1.3 to 1.8 spans long", weight: 2, build: cycleLong},
		{name: "sawtooth", about: "batches that are freed as a whole", weight: 4, build: sawtooth},
		{name: "step", about: "loaded once, within the span", weight: 3, build: oneStep},
		{name: "two-steps", about: "loaded in two parts", weight: 2, build: twoSteps},
		{name: "table-doubling", about: "a growing table that reaches its final size", weight: 3, build: tableDoubling},
		{name: "realloc-churn", about: "a few buffers that are resized within bounds", weight: 3, build: reallocChurn},
		{name: "queue-backlog", about: "a worker that falls behind and catches up", weight: 3, build: backlog},
		{name: "spikes", about: "temporary peaks at random moments", weight: 3, build: spikes},
		{name: "pool-growth", about: "chunks taken at record demand and never returned", weight: 3, further: 0.08, build: poolGrowth},
		{name: "startup", about: "allocated while the process starts, partly freed", weight: 6, build: startup},
		{name: "random-walk", about: "sessions whose number wanders around a mean", weight: 4, build: randomWalk},
		{name: "moved-within", about: "objects move from one call path of a function to another", weight: 1.5, build: movedWithin},
		{name: "moved-across", about: "objects move from one function to another", weight: 1.5, build: movedAcross},
	}
}

func leaks() []behaviour {
	return []behaviour{
		{name: "leak-steady", about: "a constant rate", leak: true, weight: 3, build: leakSteady},
		{name: "leak-request", about: "a share of the requests, under constant load", leak: true, weight: 3, build: leakRequest},
		{name: "leak-request-ramping", about: "a share of the requests, under rising load", leak: true, weight: 2, build: leakRequestRamping},
		{name: "leak-request-falling", about: "a share of the requests, under falling load", leak: true, weight: 1.5, build: leakRequestFalling},
		{name: "leak-request-cycling", about: "a share of the requests, under a daily cycle", leak: true, weight: 2, build: leakRequestCycling},
		{name: "leak-under-cycle", about: "a constant rate below an unrelated daily cycle", leak: true, weight: 2, build: leakUnderCycle},
		{name: "leak-under-cache", about: "a constant rate beside a cache that fills", leak: true, weight: 2, build: leakUnderCache},
		{name: "leak-bursty", about: "bursts at random moments, 5 to 60 a span", leak: true, weight: 2, build: leakBursty},
		{name: "leak-batch-residue", about: "a part of each batch is never freed", leak: true, weight: 2, build: leakBatchResidue},
		{name: "leak-late", about: "begins at 30 to 70 % of the span", leak: true, weight: 2, build: leakLate},
		{name: "leak-accelerating", about: "the rate rises as a power of the time", leak: true, weight: 1.5, build: leakAccelerating},
		{name: "leak-twins", about: "two functions with one caller", leak: true, weight: 1, build: leakTwins},
		{name: "leak-thin", about: "150 to 250 call paths of one function, each a little", leak: true, weight: 1.5, build: leakThin},
		{name: "leak-large-rare", about: "4 to 40 large objects a span", leak: true, weight: 1.5, build: leakLargeRare},
		{name: "leak-doubling", about: "a container that grows for ever, in jumps", leak: true, pure: true, weight: 1, build: leakDoubling},
	}
}
