// Package trend judges one time series of a heap: does it grow without bound, or
// does it only look like it?
//
// It knows numbers only: points in time with live bytes, live objects and
// cumulative bytes. What a series belongs to, and how series are grouped, is the
// caller's.
//
// Two tests carry the precision that "last minus first" lacks: a saturating curve against a straight
// line (a cache that fills is not a leak) and the growth of the heap against the rate of
// allocation (a busier process is not a leak). All others say how sure the
// growth itself is.
//
// References: P. K. Sen, Estimates of the regression coefficient based on
// Kendall's tau, JASA 63 (1968); H. B. Mann, Econometrica 13 (1945); K. H. Hamed
// and A. R. Rao, A modified Mann-Kendall trend test for autocorrelated data,
// J. Hydrology 204 (1998); J. D. C. Little, Operations Research 9 (1961).
package trend
